"""Stochastic steps, where an oracle offers them."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from proxqn.problem.abilities import Stochastic
from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.stepwise import StochasticOffer
from proxqn.testing.case import Case
from proxqn.testing.promise import agree, broken

_EPOCHS = 5
_SHARE = 0.1  # of the largest derivative at zero: λ


def check_stochastic(case: Case) -> None:
    """Check that stochastic steps lead from zero to better weights, the same ones each time."""
    oracle = case.oracle
    if not isinstance(oracle, Stochastic):
        return
    start = oracle.at(SparseVector.empty())
    before, penalty = start.value, _Lasso(_SHARE * start.sweep(math.inf).largest)
    offer = oracle.stochastic(penalty)
    if offer is None:
        return
    weights, once = _epochs(case, offer)
    _, again = _epochs(case, offer)
    agree(
        "stochastic steps are the same each time",
        where=f"losses met and weights, {_EPOCHS} epochs with seeds from 0",
        expected=once,
        got=again,
        tolerance=0.0,
        do="Let nothing but the seed choose the order, and begin() begin at zero.",
    )
    after = oracle.at(weights).value + penalty.value(weights)
    if not after < before:
        raise broken(
            "stochastic steps lead to a smaller objective",
            where=f"after {_EPOCHS} epochs from zero",
            expected=f"less than {before:g}",
            got=f"{after:g}",
            do="Shorten the steps: these do not converge.",
        )


def _epochs(case: Case, offer: StochasticOffer) -> tuple[SparseVector, Floats]:
    steps = offer.begin()
    met = [steps.epoch(seed) for seed in range(_EPOCHS)]
    weights = steps.weights()
    return weights, np.append(weights.dense(case.oracle.n_coordinates), met)


@final
class _Lasso(Penalty):
    """One λ for all."""

    def __init__(self, lam: float) -> None:
        self._lam = lam

    @property
    def least(self) -> float:
        return self._lam

    def on(self, coordinates: Ints) -> Local:
        one = np.ones(1)
        return Local(self._lam * one, 0.0 * one, -math.inf * one, math.inf * one)
