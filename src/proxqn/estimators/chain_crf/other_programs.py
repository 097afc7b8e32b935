"""Chains in other programs' model files.

The formats stand in ``proxqn.io``, above this room, and are found by name when they are called
for, as :data:`proxqn.estimators.model.HOMES` finds the command line's side of a model.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final, Self, cast

from sklearn.utils.validation import check_is_fitted

_FORMATS: Final = {"crfsuite": "proxqn.io.crfsuite.chain"}


class OtherPrograms:
    """What goes to and comes from the model files of other programs."""

    @classmethod
    def from_crfsuite(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that CRFsuite, or a program built on it, has written (``.crfsuite``).

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        ChainCRF
            It labels dicts, lists of strings and strings as the file's own program does.
            ``status_`` is ``IMPORTED`` and ``gap_`` infinite: how well it was fitted is not known.

        Raises
        ------
        ForeignFileError
            If the file is no such model, or is damaged in any part.
        """
        return cast("Self", _format("crfsuite").read_chain(path))

    def to_crfsuite(self, path: str | os.PathLike[str]) -> None:
        """Write the model as CRFsuite's binary file, which all that is built on it opens.

        Weights for which CRFsuite has no place (intercepts, ends of sequences, edge features) are
        refused.

        Parameters
        ----------
        path : path
            The file; ``.crfsuite`` is the usual ending.

        Examples
        --------
        >>> import os, tempfile
        >>> from proxqn import ChainCRF
        >>> X, y = [["dogs", "bark"], ["cats", "purr"]] * 3, [["N", "V"]] * 6
        >>> path = os.path.join(tempfile.mkdtemp(), "animals.crfsuite")
        >>> ChainCRF(lam=0.1).fit(X, y).to_crfsuite(path)
        >>> ChainCRF.from_crfsuite(path).predict([["cats", "bark"]])
        [array(['N', 'V'], dtype='<U1')]
        """
        check_is_fitted(self)
        _format("crfsuite").write_chain(self, path)


def _format(name: str) -> Any:
    return import_module(_FORMATS[name])
