"""Where a cold run begins: by stochastic steps, where these pay, else from a sample's solution.

From w = 0 with a small λ nearly every derivative exceeds λ: all the data's variables enter at once,
and each later iteration pays for them. Stochastic steps (SAGA: ``losses/stepping/saga.py``) fit the
rare features one by one meanwhile, at about the price of a pass an epoch, and end where curvature
may be drawn at once.

Elsewhere a rough solution on a sample comes first, which may warm up on a smaller one in turn:
early iterates are dense and far off, and a sample tells enough about them at its share of the cost.
"""

from __future__ import annotations

import math

import numpy as np

from proxqn.problem.abilities import Priced, Stochastic, Subsamples
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.problem.stepwise import StochasticOffer, StochasticSteps
from proxqn.solvers.standing import Standing

EPOCHS = 2  # on a sample
_DEPTH = 2  # a sample, and a sample of it
_ALIKE = 1.02  # of a sample's objective: what the data's may be, where the sample speaks for them

_LEAST_SAMPLES = 200  # for either start
# Features that λ hardly holds back, for each row: of fewer, a sample tells enough. It tells it
# cheaply where an epoch is all inference, in less than so many passes.
_FEW, _MANY, _INFERENCE = 0.01, 0.1, 1.5
_CHEAP = 2.1  # passes an epoch: for each one more, another feature a row must be there to fit
_LEAST_EPOCHS, _MOST_EPOCHS = 3, 30
# Of the objective, as met on the way: what an epoch must bring to be followed by another, where a
# step of Prox-QN costs as much as one.
_LEAST_FALL = 0.03
_SETTLED = 0.9  # of the weights off zero, that an epoch leaves: those that still go make steps dear
_EPOCHS_A_STEP = 50.0  # for each weight off zero that an entry has; more if they are many:
_CACHED = 1e5  # weights


def by_stochastic_steps(standing: Standing, seed: int) -> SparseVector | None:
    """Return the weights that epochs of stochastic steps lead to; None where they do not pay."""
    oracle = standing.oracle
    offer = oracle.stochastic(standing.penalty) if isinstance(oracle, Stochastic) else None
    if offer is None or not pays(offer, oracle):
        return None
    with standing.record.clock.timed("start"):
        return _epochs(offer.begin(), offer.n_entries, standing, seed)


def _epochs(steps: StochasticSteps, n_entries: int, standing: Standing, seed: int) -> SparseVector:
    """Make epochs until they gain little.

    The first ones gain most; what they level off to is a matter of the step, not of the problem,
    and a quasi-Newton method goes on faster from well before that.
    """
    before, n_before = math.inf, 0
    for epoch in range(_MOST_EPOCHS):
        for operation in ("forward", "backward"):
            standing.calls.counts[operation] += 1
        loss = steps.epoch(seed + epoch)
        weights = steps.weights()
        objective = loss + standing.penalty.value(weights)
        size = len(weights.values)
        least = _LEAST_FALL / max(_epochs_a_step(size, n_entries), 1.0)
        settled = objective > (1.0 - least) * before and size > _SETTLED * n_before
        if epoch + 1 >= _LEAST_EPOCHS and settled:
            break
        before, n_before = objective, size
    return weights


def _epochs_a_step(nnz: int, n_entries: int) -> float:
    """Return what a step of Prox-QN costs, in epochs: its inner problem visits every weight."""
    return _EPOCHS_A_STEP * nnz / n_entries * (1.0 + nnz / _CACHED)


def pays(offer: StochasticOffer, oracle: Oracle) -> bool:
    """Whether a start by these steps is worth it."""
    if oracle.n_samples < _LEAST_SAMPLES or not isinstance(oracle, Priced):
        return False
    passes = offer.cost / oracle.pass_cost()
    least = _MANY if passes < _INFERENCE else _FEW
    return offer.n_free >= max(least, passes - _CHEAP) * offer.n_rows


def sample_of(oracle: Oracle, share: float, seed: int, depth: int) -> Oracle | None:
    """Return the loss on a share of the samples, scaled to the whole; None if not worth it.

    Parameters
    ----------
    depth : int
        How deep in the warm-up the oracle is: 0 for all the data.
    """
    if depth == _DEPTH or share * oracle.n_samples < _LEAST_SAMPLES:
        return None
    if not isinstance(oracle, Subsamples):
        return None
    n = oracle.n_samples
    chosen = np.random.default_rng(seed).choice(n, max(1, round(share * n)), replace=False)
    chosen.sort()
    return oracle.restrict(chosen, n / len(chosen))


def speaks_for(told: float, objective: float) -> bool:
    """Whether the sample's objective foretold that of the data: then curvature may be drawn."""
    return objective <= _ALIKE * told
