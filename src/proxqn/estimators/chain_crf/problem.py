"""From checked data to the loss and the penalty that a chain minimises, and back to its weights.

Groups of weights may have a λ of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast, final

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.base import own_lam
from proxqn.estimators.chain_crf.training import Meaning, TrainingData
from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.input.tokens import Tokens
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.penalties import ElasticNet
from proxqn.penalties.blocks import Blocks
from proxqn.penalties.cyclic import Cyclic
from proxqn.problem import Oracle, SparseVector
from proxqn.problem.penalty import Penalty


@final
@dataclass(frozen=True)
class Structure:
    """Which weights a chain has."""

    pairs: Pairs
    transition_pairs: Pairs | None
    end_weights: bool | None
    fit_intercept: bool

    def constants(self, tokens: Tokens) -> Constants:
        """Return the features that every sequence has, beside those of the data."""
        ends = self.end_weights
        if ends is None:  # the weight for beginning is the intercept of sequences of one token
            ends = tokens.alone and not self.fit_intercept
        return Constants(ends, self.fit_intercept)


@final
@dataclass(frozen=True)
class Constants:
    """Columns behind the features: 1 at the first token, 1 at the last, 1 at every token."""

    ends: bool
    intercept: bool

    def behind(self, tokens: Tokens) -> sp.csr_array:
        """Return the tokens' features with these columns behind them.

        If all sequences have one token, the column of last tokens stays empty: it would only repeat
        that of the first, which is then the constant feature of an intercept.
        """
        if not (self.ends or self.intercept):
            return tokens.X
        return sp.csr_array(sp.hstack([tokens.X, *self._columns(tokens)], format="csr"))

    def _columns(self, tokens: Tokens) -> list[sp.csr_array]:
        n_tokens, dtype = tokens.X.shape[0], tokens.X.dtype
        found = []
        if self.ends:
            ends = np.cumsum(tokens.lengths)
            rows = ends - tokens.lengths
            columns = np.zeros(len(ends), dtype=np.int64)
            if not tokens.alone:
                rows = np.concatenate([rows, ends - 1])
                columns = np.repeat([0, 1], len(ends))
            ones = np.ones(len(rows), dtype=dtype)
            found.append(sp.csr_array((ones, (rows, columns)), shape=(n_tokens, 2)))
        if self.intercept:
            found.append(sp.csr_array(np.ones((n_tokens, 1), dtype=dtype)))
        return found

    def weights_behind(self, weights: ChainWeights) -> sp.csr_array:
        """Return coefficients with these columns behind them."""
        more = [weights.start, weights.end] if self.ends else []
        if self.intercept:
            nothing = np.zeros(len(weights.start))
            more.append(nothing if weights.intercept is None else weights.intercept)
        if not more:
            return weights.coef
        return sp.csr_array(sp.hstack([weights.coef, sp.csr_array(np.column_stack(more))]))


@final
@dataclass(frozen=True)
class ChainProblem:
    """A chain's loss, and what its coordinates mean."""

    oracle: Oracle
    arrays: int  # how many the oracle packs: coefficients, transitions, with edge features theirs
    constants: Constants
    meaning: Meaning

    @classmethod
    def of(cls, data: TrainingData, structure: Structure, n_jobs: int) -> ChainProblem:
        """Return the fastest loss that has what the data need."""
        constants, edges = structure.constants(data.tokens), data.tokens.edges
        more: dict[str, Any] = {
            "n_labels": len(data.meaning.classes),
            "pairs": data.pairs or structure.pairs,
            "transition_pairs": structure.transition_pairs,
            "sample_weight": data.sample_weight,
            "dense": data.tokens.dense,
            "n_jobs": n_jobs,
        }
        X, labels, lengths = constants.behind(data.tokens), data.labels, data.tokens.lengths
        plain = edges is None or not edges.shape[1]
        if plain and labels.complete:
            return cls(ChainOracle(X, labels.labels, lengths, **more), 2, constants, data.meaning)
        if data.pairs is not None:
            raise ValueError(
                "edge features and unknown labels do not go with pairs of one's own choice."
            )
        oracle = LatticeOracle(X, labels, lengths, edges=None if plain else edges, **more)
        return cls(oracle, 3, constants, data.meaning)

    def weights(self, w: SparseVector) -> ChainWeights:
        """Return the weights at a point."""
        return ChainWeights.from_oracle(self.oracle, w, self.meaning.columns.number)

    def start(self, weights: ChainWeights) -> SparseVector:
        """Return the point of some weights; those that have no place here go."""
        coef = self.constants.weights_behind(weights)
        oracle = cast("Any", self.oracle)
        arrays = coef, weights.transitions, weights.edges
        return cast("SparseVector", oracle.pack(*arrays[: self.arrays]))

    def groups(self) -> dict[str, int]:
        """Return how many coordinates each group of weights has, in their order."""
        oracle, n_labels = cast("Any", self.oracle), len(self.meaning.classes)
        intercept = n_labels if self.constants.intercept else 0
        sizes = {"features": oracle.data.n_columns * n_labels - intercept}
        if intercept:
            sizes["intercept"] = intercept
        sizes["transitions"] = n_labels**2
        edges = self.oracle.n_coordinates - sum(sizes.values())
        return sizes | ({"edges": edges} if edges else {})


@final
@dataclass(frozen=True)
class ChainPenalty:
    """λ of all weights, and of groups that have one of their own; made before the data are read.

    Examples
    --------
    >>> penalty = ChainPenalty.of(1.0, 0.0, lam_transitions=0.0, lam_intercept=None)
    >>> penalty.on_groups(lambda: {"features": 10, "transitions": 4}).unpenalised
    array([10, 11, 12, 13])
    """

    rest: ElasticNet
    own: dict[str, Callable[[int], Penalty]] = field(default_factory=dict)

    @classmethod
    def of(cls, lam: float, l2: float, *, lam_transitions: Any, lam_intercept: Any) -> ChainPenalty:
        """Make it of an estimator's parameters; refuse bad ones."""
        rest, own = ElasticNet(lam, l2), {}
        given = {"transitions": lam_transitions, "intercept": lam_intercept}
        for group, value in given.items():
            if value is not None:
                own[group] = _constant(own_lam(f"lam_{group}", value), l2)
        return cls(rest, own)

    def on_groups(self, groups: Callable[[], dict[str, int]]) -> Penalty:
        """Return the penalty of coordinates that come group by group, so many each."""
        if not self.own:
            return self.rest
        sizes = groups()
        boundaries = np.cumsum(list(sizes.values()))[:-1]
        parts = [self.own[name](n) if name in self.own else self.rest for name, n in sizes.items()]
        return Blocks(boundaries.tolist(), parts)


def _constant(lam: float, l2: float) -> Callable[[int], Penalty]:
    """Return what makes a penalty of so many coordinates; with λ = 0 they have no ridge either."""
    return lambda size: Cyclic([lam], l2 if lam > 0.0 else 0.0, size=size)
