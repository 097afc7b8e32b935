"""Sequences of numbers as users hold them, checked and brought into one form.

Three forms come in: a matrix whose rows are tokens plus ``lengths``; a list with one matrix per
sequence; a matrix alone, whose rows are then sequences of length one (scikit-learn's usual X). In
place of a matrix there may be a tuple of some, side by side: ``(X_dense, X_sparse)`` with
``lengths``, or lists with one matrix a sequence. Their columns are numbered in the order of these
blocks, as if they had been stacked, which would copy the dense ones. One goes out: :class:`Tokens`.
Every refusal says what was expected, what came, and what to do. Features
with names are read by ``named.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from proxqn.estimators.input.sequences import is_list_of_sequences, join
from proxqn.features.dense import DenseColumns, joined, split
from proxqn.problem import Ints

_KERNEL_DTYPES = "?bhilqBHILQfd"  # what scipy.sparse multiplies


@final
@dataclass(frozen=True)
class Tokens:
    """All tokens, one row each, sequence after sequence."""

    X: sp.csr_array  # [n_tokens, n_features] canonical, finite, without stored zeros
    lengths: Ints  # [n_sequences], all at least 1
    listed: bool  # whether the user gave a list of sequences
    edges: sp.csr_array | None = None  # [n_tokens, n_edge_features] of the steps into the tokens
    dense: DenseColumns | None = None  # columns that are empty in X
    given: Ints | None = None  # [n_given] of a list with empty sequences: all lengths, with zeros

    @property
    def given_lengths(self) -> Ints:
        """The lengths of the sequences as the user gave them, of empty ones too."""
        return self.lengths if self.given is None else self.given

    @property
    def alone(self) -> bool:
        """Whether every token is a sequence of its own."""
        return len(self.lengths) == self.X.shape[0]

    def in_form_of_input(self, values: NDArray[Any]) -> NDArray[Any] | list[NDArray[Any]]:
        """Return one value (or row) a token as the user gave the tokens: flat, or a list."""
        if not self.listed:
            return values
        return cut(values, self.given_lengths.tolist())

    def take(self, keep: NDArray[np.bool_]) -> Tokens:
        """Return only the sequences where the mask is true."""
        tokens = np.repeat(keep, self.lengths)
        edges = None if self.edges is None else self.edges[tokens]
        dense = None if self.dense is None else self.dense.take(tokens)
        return Tokens(self.X[tokens], self.lengths[keep], self.listed, edges, dense)

    def blocks(self, n_tokens: int) -> Iterator[tuple[slice, Ints]]:
        """Cut into blocks of whole sequences, about ``n_tokens`` tokens each: rows and lengths."""
        ends = np.cumsum(self.lengths)
        first = 0
        while first < len(ends):
            start = int(ends[first] - self.lengths[first])
            last = max(int(np.searchsorted(ends, start + n_tokens, side="right")), first + 1)
            yield slice(start, int(ends[last - 1])), self.lengths[first:last]
            first = last


def cut(values: NDArray[Any], lengths: list[int]) -> list[NDArray[Any]]:
    """Cut one value (or row) a token into the sequences."""
    return [values[a:b] for a, b in pairwise(accumulate(lengths, initial=0))]


def without_empty(lengths: Ints) -> tuple[Ints, Ints | None]:
    """Return the lengths above 0; and all of them, if that is not the same."""
    above = lengths[lengths > 0]
    return above, lengths if len(above) < len(lengths) else None


def read_tokens(
    estimator: Any, X: Any, lengths: Any, *, reset: bool, to_fit: bool, empty: bool = False
) -> Tokens:
    """Check X and lengths; with ``reset`` the estimator learns its number of features.

    Dense columns of an array are kept apart, and to fit a model those of a sparse matrix as well:
    to look for them takes longer than to label a few sentences. Sequences of a list may be empty
    where ``empty`` says so.
    """
    sparse: Any
    if are_blocks(X, lengths):
        blocks, lengths, listed = read_blocks(X, lengths)
        sparse, dense = joined(blocks)
        validate_data(estimator, sparse, accept_sparse="csr", reset=reset)
    else:
        listed = is_list_of_sequences(X)
        if listed:
            if lengths is not None:
                raise ValueError(
                    "lengths came with a list of sequences, whose lengths are known. Leave lengths "
                    "out, or pass one matrix of all tokens."
                )
            X, lengths = join(X)
        if reset or not _passes_as_it_is(estimator, X):
            X = validate_data(estimator, X, accept_sparse="csr", reset=reset)
        X = _readable(X)
        sparse, dense = split(X) if to_fit or not sp.issparse(X) else (X, None)
    n_tokens = sparse.shape[0]
    given = None
    if lengths is None:
        checked = np.ones(n_tokens, dtype=np.int64)
    else:
        checked, given = without_empty(check_lengths(lengths, n_tokens, empty=empty and listed))
    return Tokens(canonical(sparse), checked, listed, dense=dense, given=given)


def _passes_as_it_is(estimator: Any, X: Any) -> bool:
    """Whether scikit-learn's checks would find nothing: they take longer than to label a sentence.

    Whatever is refused or converted goes to them.
    """
    return (
        isinstance(X, sp.csr_array | sp.csr_matrix)
        and X.dtype == np.float64
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and bool(np.isfinite(X.data).all())
    )


def as_list(values: Any) -> Any:
    """Return a pandas Series as a list, anything else as it is; who holds one has pandas."""
    pandas = sys.modules.get("pandas")
    return values.tolist() if pandas and isinstance(values, pandas.Series) else values


def check_lengths(given: Any, n_tokens: int, *, empty: bool = False) -> Ints:
    """Return the sequences' lengths; refuse those that X cannot have."""
    lengths: NDArray[Any] = np.asarray(given)
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise TypeError(
            f"lengths must be integers, the number of tokens of each sequence; got an array of "
            f"{lengths.dtype}."
        )
    if lengths.ndim != 1 or not lengths.size:
        raise ValueError(
            f"lengths must be a list with one number a sequence, got shape {lengths.shape}."
        )
    if lengths.min() < 1 and not empty:
        i = int(np.argmax(lengths < 1))
        raise ValueError(
            f"sequence {i} has length {lengths[i]}; expected at least one token. Leave empty "
            "sequences out."
        )
    if int(lengths.sum()) != n_tokens:
        raise ValueError(
            f"lengths sum to {int(lengths.sum())}, but X has {n_tokens} rows. Pass the number of "
            "tokens of each sequence, in the order of the rows; in a search over folds, pass X as "
            "a list of sequences and no lengths."
        )
    return lengths.astype(np.int64)


def canonical(X: Any) -> sp.csr_array:
    """Return a CSR array with sorted, distinct indices and no stored zeros; a copy only if needed.

    A large matrix in order already is shared with the caller and never changed.
    """
    given = sp.issparse(X)
    X = _readable(X)
    matrix = X if isinstance(X, sp.csr_array) else sp.csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if given else matrix
        matrix.sum_duplicates()
    if np.count_nonzero(matrix.data) < matrix.nnz:
        matrix = matrix.copy() if given else matrix
        matrix.eliminate_zeros()
    return matrix


def _readable(X: Any) -> Any:
    """Return numbers of a type that scipy.sparse and the kernels take."""
    if X.dtype.char in _KERNEL_DTYPES:
        return X
    return X.astype(np.float32 if X.dtype == np.float16 else np.float64)


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
            _check_same_lengths(i, own, lengths)
    checked = [_checked_block(i, block) for i, block in enumerate(X)]
    for i, block in enumerate(checked):
        if block.shape[0] != checked[0].shape[0]:
            raise ValueError(
                f"block {i} of X has {block.shape[0]} rows, but block 0 has {checked[0].shape[0]}; "
                "expected one row a token in every block."
            )
    return checked, lengths, listed


def _is_matrix(block: Any) -> bool:
    return getattr(block, "ndim", None) == 2


def _check_same_lengths(i: int, own: Ints, first: Ints) -> None:
    if len(own) != len(first):
        raise ValueError(f"block {i} of X has {len(own)} sequences, but block 0 has {len(first)}.")
    if (own != first).any():
        k = int(np.argmax(own != first))
        raise ValueError(
            f"sequence {k} has {own[k]} tokens in block {i} of X, but {first[k]} in block 0; "
            "expected one row a token in every block."
        )


def _checked_block(i: int, block: Any) -> Any:
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
