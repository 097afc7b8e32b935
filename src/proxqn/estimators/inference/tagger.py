"""A chain's weights as the prediction kernels take them, made once a model."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.aligned_array import aligned_zeros
from proxqn.estimators.chain_weights import ChainWeights
from proxqn.features.layout import SequenceLayout
from proxqn.features.named_entries import FoundEntries
from proxqn.problem import Floats, Ints

_MOST_IN_A_TABLE = 1 << 26  # features; 256 MB
Entries = tuple[Ints, NDArray[np.int32], Floats]  # indptr, indices and data of a CSR matrix


@final
class Tagger:
    """Scores and best labels of new tokens; only features with a weight are touched.

    Parameters
    ----------
    weights : ChainWeights
        Edge features are not used here.
    kernels : module
        ``proxqn._kernels``, or ``proxqn.losses.chain.tagging_reference`` for the NumPy truth.
    most_in_a_table : int
        With more features than this, those with a weight are searched, not looked up.

    Attributes
    ----------
    used : int32 array
        The features with a weight, ascending.

    Examples
    --------
    >>> coef = sp.csr_array(np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    >>> ends = np.zeros(2)
    >>> tagger = Tagger(ChainWeights(coef, np.zeros((2, 2)), ends, ends, sp.csr_array((4, 0))))
    >>> X = sp.csr_array(np.array([[1.0, 1.0, 5.0], [0.0, 3.0, 0.0]]))
    >>> tagger.best_labels(X, np.array([2]), n_jobs=1)
    array([0, 1], dtype=int32)
    """

    def __init__(
        self,
        weights: ChainWeights,
        kernels: ModuleType = _kernels,
        most_in_a_table: int = _MOST_IN_A_TABLE,
    ) -> None:
        self._made_of = [part.copy() for part in _parts(weights)]
        coef = weights.coef
        used, place = np.unique(coef.indices, return_inverse=True)
        self.used: NDArray[np.int32] = used.astype(np.int32)
        self._searches = coef.shape[1] > most_in_a_table
        if self._searches:
            row = np.arange(len(used) + 1, dtype=np.int32)  # features come as rows already
        else:
            row = np.zeros(coef.shape[1], dtype=np.int32)
            row[used] = np.arange(1, len(used) + 1)
        small: Any = sp.csr_array(
            (coef.data, place + 1, coef.indptr), shape=(coef.shape[0], len(used) + 1)
        ).tocsc()
        small.sum_duplicates()
        self._kernel = kernels.Tagger(
            row,
            small.indptr.astype(np.int64),
            small.indices.astype(np.int32),
            small.data.astype(np.float64),
            np.ascontiguousarray(weights.transitions, dtype=np.float64),
            np.ascontiguousarray(weights.start, dtype=np.float64),
            np.ascontiguousarray(weights.end, dtype=np.float64),
        )
        self._n_labels = coef.shape[0]

    def is_made_of(self, weights: ChainWeights) -> bool:
        """Whether these are still the weights, to the last bit; users may change them in place."""
        return bool(_kernels.same_bytes(self._made_of, _parts(weights)))

    def best_labels(self, X: sp.csr_array, lengths: Ints, n_jobs: int) -> NDArray[np.int32]:
        """Return the best labels of plain sequences, one a token (Viterbi)."""
        return self.tag(self.entries(X), lengths, n_jobs)

    def tag(self, entries: Entries, lengths: Ints, n_jobs: int) -> NDArray[np.int32]:
        """Do the same for the entries of a matrix."""
        path = np.empty(len(entries[0]) - 1, dtype=np.int32)
        self._kernel.tag(*entries, lengths, path, n_jobs)
        return path

    def tag_used(
        self,
        indptr: Ints,
        places: NDArray[np.int32],
        data: Floats | None,
        lengths: Ints,
        n_jobs: int,
    ) -> NDArray[np.int32]:
        """Do the same for entries of features with a weight alone, by their place in ``used``.

        All values are 1 where there is no data.
        """
        path = np.empty(len(indptr) - 1, dtype=np.int32)
        self._kernel.tag_used(indptr, places, data, lengths, path, n_jobs)
        return path

    def marginals(self, entries: Entries, lengths: Ints, n_jobs: int) -> Floats:
        """Return ``P(y_t = y | x)`` of plain sequences, shape (n_tokens, L)."""
        found = np.empty((len(entries[0]) - 1, self._n_labels))
        self._kernel.marginals(*entries, lengths, found, n_jobs)
        return found

    def marginals_used(
        self,
        indptr: Ints,
        places: NDArray[np.int32],
        data: Floats | None,
        lengths: Ints,
        n_jobs: int,
    ) -> Floats:
        """Do the same for entries as of :meth:`tag_used`."""
        found = np.empty((len(indptr) - 1, self._n_labels))
        self._kernel.marginals_used(indptr, places, data, lengths, found, n_jobs)
        return found

    def slot_scores(self, entries: Entries, token_of_slot: Ints, n_jobs: int) -> Floats:
        """Return the scores of some tokens in the layout of the chain kernels, (labels, slots)."""
        scores: Floats = aligned_zeros((self._n_labels, len(token_of_slot)))
        self._kernel.slot_scores(*entries, token_of_slot, scores, n_jobs)
        return scores

    def entries(self, X: sp.csr_array) -> Entries:
        """Return the arrays of a canonical CSR matrix as the kernels take them."""
        return self.as_entries(X.indptr, X.indices, X.data)

    def as_entries(
        self, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]
    ) -> Entries:
        """Do the same for the arrays alone."""
        if self._searches:
            place = np.searchsorted(self.used, indices)
            known = place < len(self.used)
            known[known] = self.used[place[known]] == indices[known]
            indices = np.where(known, place + 1, 0)
        return (
            indptr.astype(np.int64, copy=False),
            indices.astype(np.int32, copy=False),
            data.astype(np.float64, copy=False),
        )


@final
@dataclass(frozen=True)
class NamedTokens:
    """Sequences of named features, of which only those with a weight have been read."""

    tagger: Tagger
    found: FoundEntries  # columns are places in the tagger's ``used``
    lengths: list[int]
    n_jobs: int

    def best_labels(self) -> NDArray[np.int32]:
        """Return the best labels, one a token (Viterbi)."""
        return self.tagger.tag_used(*self._entries(), self.n_jobs)

    def marginals(self) -> Floats:
        """Return ``P(y_t = y | x)``, shape (n_tokens, L)."""
        return self.tagger.marginals_used(*self._entries(), self.n_jobs)

    def _entries(self) -> tuple[Ints, NDArray[np.int32], Floats | None, Ints]:
        found = self.found
        return found.start, found.columns, found.values, np.array(self.lengths)


def token_of_slot(layout: SequenceLayout, first_token: int) -> Ints:
    """Return the token in each slot, -1 in those that pad; the layout's first has a number."""
    tokens = np.full(layout.stride, -1, dtype=np.int64)
    tokens[layout.token_slot] = np.arange(first_token, first_token + layout.n_tokens)
    return tokens


# Not an attribute of the estimator: scikit-learn asks that predict leave those alone.
_taggers: WeakKeyDictionary[Any, Tagger] = WeakKeyDictionary()


def tagger_of(estimator: Any, weights: ChainWeights) -> Tagger:
    """Return the estimator's tagger, made at its first prediction and after changes of weights."""
    tagger = _taggers.get(estimator)
    if tagger is None or not tagger.is_made_of(weights):
        tagger = _taggers[estimator] = Tagger(weights)
    return tagger


def _parts(weights: ChainWeights) -> list[NDArray[Any]]:
    coef = weights.coef
    return [
        coef.data,
        coef.indices,
        coef.indptr,
        weights.transitions,
        weights.start,
        weights.end,
    ]
