"""``save`` and ``load``: fitted models to files and back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, final

from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.homes import GROUP, OURS, home_of, kinds
from proxqn.estimators.model import Encoded, Model
from proxqn.features.encoding import SequenceEncoder
from proxqn.io import container
from proxqn.io.container import Contents, ModelFileError
from proxqn.io.fit_record import pack_fit, restore_fit
from proxqn.io.model_contents import ContentsReader, ContentsWriter


@final
@dataclass(frozen=True)
class SavedModel:
    """A model, and how the command line read its training file."""

    model: Any
    reading: dict[str, Any] | None = None

    @property
    def encoder(self) -> SequenceEncoder | None:
        """What goes from text to the model's features; None where it was fitted to numbers."""
        return getattr(self.model, "encoder_", None)


def save(
    model: Model, path: str | os.PathLike[str], *, encoder: SequenceEncoder | None = None
) -> None:
    """Write a fitted model to a file.

    The file holds the nonzero weights, the labels or the tree, and the certificate; see
    ``docs/model-format.md``. It is written beside its target and renamed, so that the target is
    the old file or the new one, never half of one. Identical models give identical bytes.

    Parameters
    ----------
    model : ChainCRF or HierarchicalClassifier
        A fitted model.
    path : path
        The file; ``.proxqn`` is the usual ending.
    encoder : SequenceEncoder, optional
        What made the features of a chain from named ones or from columns; by default the model's
        own ``encoder_``. Stored with it, the file goes from text to labels on its own, and
        features without a weight are left out.

    Examples
    --------
    >>> import os, tempfile
    >>> from proxqn import ChainCRF
    >>> crf = ChainCRF(lam=0.1).fit([["dogs", "bark"], ["cats", "purr"]] * 3, [["N", "V"]] * 6)
    >>> path = os.path.join(tempfile.mkdtemp(), "animals.proxqn")
    >>> save(crf, path)
    >>> load(path).predict([["cats", "bark"]])
    [array(['N', 'V'], dtype='<U1')]
    """
    kind = getattr(type(model), "kind", None)
    home = home_of(kind) if isinstance(kind, str) else None
    if home is None or not isinstance(model, home.find_estimator()):
        names = ", ".join(home.name for home in OURS.values())
        raise TypeError(
            f"expected a fitted {names}, or an estimator whose `kind` an installed package names "
            f"among its entry points {GROUP!r}; got {type(model).__name__}."
        )
    check_is_fitted(model)
    write(SavedModel(model if encoder is None else _with_encoder(model, encoder)), path)


def _with_encoder(model: Any, encoder: SequenceEncoder) -> Any:
    if not isinstance(model, Encoded):
        raise TypeError(
            f"an encoder goes with a model of named features; a {type(model).__name__} has none."
        )
    return model.with_encoder(encoder)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` or the command line wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ChainCRF or HierarchicalClassifier
        Fitted; its ``trace_`` is empty. A chain stored with its encoder reads what the encoder
        reads: named features, or rows of columns for its templates.

    Raises
    ------
    ModelFileError
        If a single bit of the file has changed, it is no model, or it was made to mislead; with
        its ``path`` and ``reason``. What loading may cost: ``docs/threat-model.md``.
    """
    return read(path).model


def load_with_encoder(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model and the encoder stored with it.

    Returns
    -------
    SavedModel
        With attributes ``model`` and ``encoder``.
    """
    saved = read(path)
    if saved.encoder is None:
        raise ModelFileError(
            "no encoder is stored with this model. Use load, or save it again with "
            "save(model, path, encoder=encoder).",
            path,
        )
    return saved


def write(saved: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model with what the command line adds to it."""
    container.write(pack(saved), path)


def to_bytes(saved: SavedModel) -> bytes:
    """Return the bytes of the file."""
    return container.to_bytes(pack(saved))


def read(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model of any kind with all that is stored beside it."""
    contents = container.read(path)
    try:
        return unpack(contents)
    except ModelFileError as error:
        raise ModelFileError(error.reason, path) from None


def pack(saved: SavedModel) -> Contents:
    """Turn a fitted model into the contents of a file."""
    writer = ContentsWriter()
    saved.model.to_file(writer)
    writer.value("fit", pack_fit(saved.model))
    if saved.reading is not None:
        writer.value("reading", saved.reading)
    return writer.contents(saved.model.kind)


def unpack(contents: Contents) -> SavedModel:
    """Build the model from a file's contents."""
    home, reader = home_of(contents.kind), ContentsReader(contents)
    if home is None:
        raise ModelFileError(
            f"holds a {contents.kind!r}, expected a model: {' or '.join(kinds())}. Other kinds "
            "come with the packages that wrote them."
        )
    try:
        model = home.find_estimator().from_file(reader)
    except ModelFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"the model's description cannot be read ({error}).") from None
    restore_fit(model, reader.value("fit"), model.coefficients().n_nonzero)
    return SavedModel(model, reader.value("reading", None))
