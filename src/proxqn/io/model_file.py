"""``save`` and ``load``: fitted models to files and back."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.features.encoding import SequenceEncoder
from proxqn.io import chain_file as chain
from proxqn.io import container
from proxqn.io import tree_file as tree
from proxqn.io.chain_file import SavedChain
from proxqn.io.container import Contents, ModelFileError
from proxqn.io.tree_file import SavedTree

Model = ChainCRF | HierarchicalClassifier


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
    if not isinstance(model, ChainCRF | HierarchicalClassifier):
        raise TypeError(
            f"expected a fitted ChainCRF or HierarchicalClassifier, got {type(model).__name__}."
        )
    check_is_fitted(model)
    if isinstance(model, ChainCRF):
        write(SavedChain(model, encoder or getattr(model, "encoder_", None)), path)
    elif encoder is not None:
        raise TypeError("an encoder goes with a ChainCRF; a HierarchicalClassifier has none.")
    else:
        write(SavedTree(model), path)


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
        If a single bit of the file has changed, or it is no model.
    """
    return read(path).model


def load_with_encoder(path: str | os.PathLike[str]) -> SavedChain:
    """Read a chain and the encoder stored with it.

    Returns
    -------
    SavedChain
        With attributes ``model`` and ``encoder``.
    """
    saved = read(path)
    if not isinstance(saved, SavedChain) or saved.encoder is None:
        raise ModelFileError(
            f"{os.fspath(path)}: no encoder is stored with this model. Use load, or save it again "
            "with save(model, path, encoder=encoder)."
        )
    return saved


def write(saved: SavedChain | SavedTree, path: str | os.PathLike[str]) -> None:
    """Write a model with what the command line adds to it."""
    container.write(_pack(saved), path)


def to_bytes(saved: SavedChain | SavedTree) -> bytes:
    """Return the bytes of the file."""
    return container.to_bytes(_pack(saved))


def read(path: str | os.PathLike[str]) -> SavedChain | SavedTree:
    """Read a model of either kind with all that is stored beside it."""
    contents = container.read(path)
    try:
        match contents.kind:
            case chain.KIND:
                return chain.unpack(contents)
            case tree.KIND:
                return tree.unpack(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    raise ModelFileError(
        f"{os.fspath(path)}: holds a {contents.kind!r}, expected a chain or a tree model."
    )


def _pack(saved: SavedChain | SavedTree) -> Contents:
    return chain.pack(saved) if isinstance(saved, SavedChain) else tree.pack(saved)
