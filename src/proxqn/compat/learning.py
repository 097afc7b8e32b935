"""From appended sequences to a model, as CRFsuite would have it.

CRFsuite minimises ``Σ_i -log P(y_i|x_i) + c1 ‖w‖₁ + c2 ‖w‖²``; that is ``lam = c1`` and
``l2 = 2 c2`` here, over the same weights, and both have the same optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.compat.attributes import AttributeTable
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.vocabulary import Vocabulary
from proxqn.features.weight_pairs import WeightPairs
from proxqn.io.crfsuite import CRFsuiteModel
from proxqn.io.crfsuite.chain import to_model

__all__ = ["LearningSettings", "TrainingSet"]

# CRFsuite's default is c1 = 0, a ridge alone; this method needs λ > 0. With a ridge the optimum is
# then within 1e-6 ‖w‖₁ of CRFsuite's; without any penalty there need not be an optimum.
_C1_FOR_ZERO = 1e-6
_C1_WITHOUT_RIDGE = 1e-3


@final
@dataclass(frozen=True)
class LearningSettings:
    """CRFsuite's parameters that have a meaning here, and ours."""

    c1: float = 0.0
    c2: float = 1.0
    min_freq: float = 0.0
    possible_states: bool = False
    possible_transitions: bool = False
    max_iterations: int | None = None  # None: no limit that a user has asked for
    tol: float | None = None  # None: the estimator's
    stop: str | None = None  # the same
    n_jobs: int | None = None
    verbose: int = 0

    @property
    def lam(self) -> float:
        """λ."""
        return self.c1 or (_C1_FOR_ZERO if self.c2 else _C1_WITHOUT_RIDGE)

    def estimator(self) -> ChainCRF:
        """Return the estimator; it refuses what is out of range."""
        given: dict[str, Any] = {"max_iter": self.max_iterations}
        given |= {"tol": self.tol, "stop": self.stop}
        return ChainCRF(
            self.lam,
            l2=2.0 * self.c2,
            pairs="all" if self.possible_states else "observed",
            transition_pairs="all" if self.possible_transitions else "observed",
            end_weights=False,  # CRFsuite has none
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            **{name: value for name, value in given.items() if value is not None},
        )


@final
class TrainingSet:
    """Those of the appended sequences that are to be learned from.

    Attributes
    ----------
    labels : list of str
        As they first occur.
    n_attributes, n_weights : int
        How many attributes were seen, and how many weights CRFsuite would make.
    """

    def __init__(self, table: AttributeTable, holdout: int, settings: LearningSettings) -> None:
        self.settings = settings
        self._names = table.attributes
        self.n_attributes = len(self._names)
        if (self._names.to_arrays()[0] == 0).any():
            name = next(name for name in self._names if "\0" in name)
            raise ValueError(f"attribute {name!r} holds a zero byte, which no model file can hold.")
        groups, lengths = table.groups, table.lengths.astype(np.int64)
        names = np.array(table.labels, dtype=str)[table.token_labels]
        rows = table.rows()
        encoder = SequenceEncoder(vocabulary=self._names, edge_vocabulary=Vocabulary.from_names([]))

        def part(chosen: NDArray[np.bool_]) -> _Part:
            tokens = np.repeat(chosen, lengths)
            X = rows if tokens.all() else rows[tokens]
            return _Part(X, names[tokens], lengths[chosen], table.weights[chosen], encoder)

        self._training = part((groups != holdout) & (lengths > 0))
        self._held_out = part((groups == holdout) & (lengths > 0)) if holdout >= 0 else None
        used = frozenset(self._training.names.tolist())
        self.labels = [label for label in table.labels if label in used]
        self._pairs, self.n_weights = self._training.weight_pairs(settings)

    def fit(self, callback: Any = None, initial: Any = None) -> ChainCRF | None:
        """Return the model; None where there is nothing to choose: fewer than two labels."""
        estimator = self.settings.estimator()
        if len(self.labels) < 2 or not self.n_weights:
            return None
        data = self._training
        return estimator.fit(data.encoded(self._pairs), data.y, callback=callback, initial=initial)

    @property
    def held_out(self) -> tuple[EncodedSequences, list[list[str]]] | None:
        """The sequences held out, if there are such, and their labels."""
        part = self._held_out
        if part is None or not len(part.lengths):
            return None
        return part.encoded(None), [y.tolist() for y in part.y]

    def model(self, crf: ChainCRF | None) -> CRFsuiteModel:
        """Return what CRFsuite's file holds, labels in the order in which they occur."""
        if crf is not None:
            return to_model(crf, self.labels)
        n = len(self.labels)
        nothing = Vocabulary.from_names([])
        return CRFsuiteModel(
            tuple(self.labels), nothing, sp.csr_array((0, n)), sp.csr_array((n, n))
        )


@final
@dataclass(frozen=True)
class _Part:
    """Some of the sequences."""

    X: sp.csr_array  # with stored zeros
    names: NDArray[Any]  # [n_tokens] the labels
    lengths: NDArray[np.int64]
    weights: NDArray[np.float64]  # [n_sequences]
    encoder: SequenceEncoder

    @property
    def y(self) -> list[NDArray[Any]]:
        """The labels of each sequence."""
        return np.split(self.names, np.cumsum(self.lengths)[:-1])

    def encoded(self, pairs: WeightPairs | None) -> EncodedSequences:
        """Return the sequences as the estimator takes them."""
        X = self.X
        if not X.data.all():
            X = sp.csr_array(X, copy=True)
            X.eliminate_zeros()
        weighted = self.weights if (self.weights != 1.0).any() else None
        return EncodedSequences(X, self.lengths, None, None, weighted, 0, self.encoder, pairs)

    def weight_pairs(self, settings: LearningSettings) -> tuple[WeightPairs, int]:
        """Return the weights that CRFsuite would make, and how many.

        A pair is there if it occurs, be it with values that are zero, or that sum to zero.
        """
        classes, labels = np.unique(self.names, return_inverse=True)
        n_labels, n_attributes = len(classes), self.X.shape[1]
        everything = settings.possible_states and settings.min_freq <= 0.0
        states = None if everything else self._states(labels, n_labels, settings.min_freq)
        n_states = n_labels * n_attributes if states is None else states.nnz
        transitions = self._transitions(labels, n_labels, settings)
        return WeightPairs(classes, states, transitions), n_states + int(transitions.sum())

    def _states(self, labels: NDArray[Any], n_labels: int, min_freq: float) -> sp.csr_array:
        of_token = np.repeat(self.weights, self.lengths)
        sizes = np.diff(self.X.indptr)
        values = self.X.data * np.repeat(of_token, sizes)
        shape = (self.X.shape[1], n_labels)
        pairs: Any = sp.coo_array((values, (self.X.indices, np.repeat(labels, sizes))), shape=shape)
        return _at_least(sp.csr_array(pairs), min_freq)

    def _transitions(
        self, labels: NDArray[Any], n_labels: int, settings: LearningSettings
    ) -> NDArray[np.bool_]:
        steps = np.ones(max(len(labels) - 1, 0), dtype=bool)
        steps[np.cumsum(self.lengths)[:-1] - 1] = False  # from one sequence to the next
        before, after = labels[:-1][steps], labels[1:][steps]
        frequency = np.zeros((n_labels, n_labels))
        np.add.at(frequency, (before, after), np.repeat(self.weights, self.lengths)[1:][steps])
        seen = np.full((n_labels, n_labels), settings.possible_transitions)
        seen[before, after] = True
        return seen & (frequency >= settings.min_freq)


def _at_least(states: sp.csr_array, frequency: float) -> sp.csr_array:
    """Return the pairs whose values sum to a frequency."""
    kept = states.data >= frequency
    if kept.all():
        return states
    rows = np.repeat(np.arange(states.shape[0]), np.diff(states.indptr))[kept]
    starts = np.searchsorted(rows, np.arange(states.shape[0] + 1))
    return sp.csr_array((states.data[kept], states.indices[kept], starts), shape=states.shape)
