"""The start by stochastic steps, where a loss offers them and they pay.

From w = 0 with a small λ nearly every derivative exceeds λ: all the data's variables enter at once,
and each later iteration pays for them. Stochastic steps (SAGA: ``losses/stepping/saga.py``) fit the
rare features one by one meanwhile, at about the price of a pass an epoch, and end where curvature
may be drawn at once.
"""

from __future__ import annotations

import math
from typing import final

from proxqn.problem.abilities import Priced, Stochastic
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.problem.stepwise import StochasticOffer, StochasticSteps
from proxqn.solvers.standing import Standing

_LEAST_SAMPLES = 200
_MANY = 0.1  # features that λ hardly holds back, for each row: of fewer, a sample tells enough
_CHEAP = 1.75  # passes an epoch: for each one more, another feature a row must be there to fit
_LEAST_EPOCHS, _MOST_EPOCHS = 3, 12
# Of the objective, as met on the way: what an epoch must bring to be followed by another.
_LEAST_FALL = 0.03
_FALL_IF_DENSE = 0.015  # where a step of Prox-QN costs as much as an epoch
_DENSE = 0.5  # weights that are not zero, for each row


@final
class StochasticStart:
    """Epochs of stochastic steps until they gain little.

    The first ones gain most; what they level off to is a matter of the step, not of the problem,
    and a quasi-Newton method goes on faster from well before that.
    """

    def __init__(self, standing: Standing, seed: int) -> None:
        self._standing, self._seed = standing, seed

    def weights(self) -> SparseVector | None:
        """Return the weights that the epochs led to; None where they do not pay."""
        oracle = self._standing.oracle
        offer = _offer_of(self._standing)
        if offer is None or not pays(offer, oracle):
            return None
        with self._standing.record.clock.timed("start"):
            return self._run(offer.begin(), offer.n_rows)

    def _run(self, steps: StochasticSteps, n_rows: int) -> SparseVector:
        before = math.inf
        for epoch in range(_MOST_EPOCHS):
            for operation in ("forward", "backward"):
                self._standing.calls.counts[operation] += 1
            loss = steps.epoch(self._seed + epoch)
            weights = steps.weights()
            objective = loss + self._standing.penalty.value(weights)
            dense = len(weights.values) > _DENSE * n_rows
            least = _FALL_IF_DENSE if dense else _LEAST_FALL
            if epoch + 1 >= _LEAST_EPOCHS and objective > (1.0 - least) * before:
                break
            before = objective
        return weights


def pays(offer: StochasticOffer, oracle: Oracle) -> bool:
    """Whether a start by these steps is worth it."""
    if oracle.n_samples < _LEAST_SAMPLES or not isinstance(oracle, Priced):
        return False
    passes = offer.cost / oracle.pass_cost()
    return offer.n_free >= max(_MANY, passes - _CHEAP) * offer.n_rows


def _offer_of(standing: Standing) -> StochasticOffer | None:
    oracle = standing.oracle
    return oracle.stochastic(standing.penalty) if isinstance(oracle, Stochastic) else None
