"""Features of tokens in several matrices side by side: embeddings beside words, say.

``(X_dense, X_sparse)`` is a tuple of matrices with one row a token and ``lengths`` beside them, or
a tuple of lists with one matrix a sequence. Columns are numbered in the order of the blocks, as if
they had been stacked, which would copy the dense ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from proxqn.estimators.input.sequences import join
from proxqn.problem import Ints


def are_blocks(X: Any, lengths: Any) -> bool:
    """Tell matrices side by side from the matrices of sequences, one after the other.

    Examples
    --------
    >>> wide, narrow = np.ones((3, 5)), np.ones((3, 2))
    >>> are_blocks((wide, narrow), None), are_blocks(([wide], [narrow]), None)
    (True, True)
    >>> are_blocks((wide, wide), None), are_blocks((wide, wide), [3])
    (False, True)
    """
    if not isinstance(X, tuple) or not X:
        return False
    if all(isinstance(block, list) and block and _is_matrix(block[0]) for block in X):
        return True
    if not all(map(_is_matrix, X)):
        return False
    rows, columns = ({block.shape[axis] for block in X} for axis in (0, 1))
    return lengths is not None or (len(rows) == 1 and len(columns) > 1)


def read_blocks(X: tuple[Any, ...], lengths: Any) -> tuple[list[Any], Ints | None, bool]:
    """Return matrices of numbers with as many rows, the lengths, and whether X is of lists."""
    listed = isinstance(X[0], list)
    if listed and lengths is not None:
        raise ValueError(
            "lengths came with blocks that are lists of sequences, whose lengths are known. Leave "
            "lengths out, or pass one matrix of all tokens a block."
        )
    if listed:
        joined = [join(block) for block in X]
        X, lengths = tuple(block for block, _ in joined), joined[0][1]
        for i, (_, own) in enumerate(joined):
            _check_lengths(i, own, lengths)
    checked = [_checked(i, block) for i, block in enumerate(X)]
    for i, block in enumerate(checked):
        if block.shape[0] != checked[0].shape[0]:
            raise ValueError(
                f"block {i} of X has {block.shape[0]} rows, but block 0 has {checked[0].shape[0]}; "
                "expected one row a token in every block."
            )
    return checked, lengths, listed


def _is_matrix(block: Any) -> bool:
    return getattr(block, "ndim", None) == 2


def _check_lengths(i: int, own: Ints, first: Ints) -> None:
    if len(own) != len(first):
        raise ValueError(f"block {i} of X has {len(own)} sequences, but block 0 has {len(first)}.")
    if (own != first).any():
        k = int(np.argmax(own != first))
        raise ValueError(
            f"sequence {k} has {own[k]} tokens in block {i} of X, but {first[k]} in block 0; "
            "expected one row a token in every block."
        )


def _checked(i: int, block: Any) -> Any:
    """Return it as scikit-learn has checked it, which names the block in what it finds."""
    try:
        return check_array(
            block,
            accept_sparse="csr",
            accept_large_sparse=True,
            ensure_min_features=0,
            input_name=f"block {i} of X",
        )
    except (TypeError, ValueError) as error:
        if getattr(getattr(block, "dtype", None), "kind", "") == "O":
            raise ValueError(
                f"block {i} of X has dtype object, and not all of it are numbers ({error}). Pass "
                "an array of float32 or float64, or a sparse matrix."
            ) from None
        raise
