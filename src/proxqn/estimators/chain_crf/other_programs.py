"""Chains in other programs' model files.

The formats stand in ``proxqn.io``, above this room, and are found by name when they are called
for, as :data:`proxqn.estimators.model.HOMES` finds the command line's side of a model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, Final, Self, cast

from sklearn.utils.validation import check_is_fitted

_FORMATS: Final = {
    "crfsuite": "proxqn.io.crfsuite.chain",
    "wapiti": "proxqn.io.wapiti.chain",
    "crfpp": "proxqn.io.crfpp.chain",
}
_WITH_TEXT: Final = ("crfsuite", "crfpp")


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

    @classmethod
    def from_wapiti(cls, path: str | os.PathLike[str]) -> Self:
        """Read a CRF that Wapiti has trained (``wapiti train``).

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        ChainCRF
            It labels rows of columns, of which the file's patterns make features, as Wapiti does.

        Raises
        ------
        ForeignFileError
            If the file is no such model, or is damaged in any part.
        """
        return cast("Self", _format("wapiti").read_chain(path))

    def to_wapiti(self, path: str | os.PathLike[str], *, compact: bool = True) -> None:
        """Write the model as Wapiti's, for ``wapiti label -m``.

        It must have been trained with templates. Weights for which Wapiti has no place (intercepts,
        ends of sequences) are refused.

        Parameters
        ----------
        path : path
            The file.
        compact : bool, default=True
            Leave out observations without a weight, as ``wapiti train --compact`` does.

        Examples
        --------
        >>> import os, tempfile
        >>> from proxqn import ChainCRF
        >>> X = [[["dogs"], ["bark"]], [["cats"], ["purr"]]] * 3
        >>> crf = ChainCRF(lam=0.1, templates="U:%x[0,0]").fit(X, [["N", "V"]] * 6)
        >>> path = os.path.join(tempfile.mkdtemp(), "animals.wapiti")
        >>> crf.to_wapiti(path)
        >>> ChainCRF.from_wapiti(path).predict([[["cats"], ["bark"]]])
        [array(['N', 'V'], dtype='<U1')]
        """
        check_is_fitted(self)
        _format("wapiti").write_chain(self, path, compact=compact)

    @classmethod
    def from_crfpp(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that CRF++ has trained, binary or text (``crf_learn``, ``crf_learn -t``).

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        ChainCRF
            It labels rows of columns, of which the file's templates make features, as CRF++ does.

        Raises
        ------
        ForeignFileError
            If the file is no such model, or is damaged in any part.
        """
        return cast("Self", _format("crfpp").read_chain(path))

    def to_crfpp(
        self, path: str | os.PathLike[str], *, text: bool = False, compact: bool = True
    ) -> None:
        """Write the model as CRF++'s, for ``crf_test -m``; its weights have single precision.

        It must have been trained with templates. Weights for which CRF++ has no place (intercepts,
        ends of sequences, features of ``%t`` and ``%m``) are refused.

        Parameters
        ----------
        path : path
            The file.
        text : bool, default=False
            Write the text that ``crf_learn -t`` leaves beside a model, in double precision;
            ``crf_learn -C`` makes a model of it.
        compact : bool, default=True
            Leave out features without a weight.

        Examples
        --------
        >>> import os, tempfile
        >>> from proxqn import ChainCRF
        >>> X = [[["dogs"], ["bark"]], [["cats"], ["purr"]]] * 3
        >>> crf = ChainCRF(lam=0.1, templates="U:%x[0,0]").fit(X, [["N", "V"]] * 6)
        >>> path = os.path.join(tempfile.mkdtemp(), "animals.crfpp")
        >>> crf.to_crfpp(path)
        >>> ChainCRF.from_crfpp(path).predict([[["cats"], ["bark"]]])
        [array(['N', 'V'], dtype='<U1')]
        """
        check_is_fitted(self)
        _format("crfpp").write_chain(self, path, text=text, compact=compact)

    def exports(self) -> dict[str, Callable[[], Iterator[str]]]:
        """Return the lines of the texts of CRFsuite and CRF++, by program."""
        return {name: partial(_lines, name, self) for name in _WITH_TEXT}


def _lines(name: str, model: Any) -> Iterator[str]:
    return cast("Iterator[str]", _format(name).lines(model))


def _format(name: str) -> Any:
    return import_module(_FORMATS[name])
