"""Stochastic gradient descent with a cumulative ℓ1 penalty (Tsuruoka, Tsujii and Ananiadou 2009).

Step k takes the gradient of one sample and moves by ``η_k = η₀ / (1 + k/N)``. Penalising every
weight by ``η_k λ/N`` in every step would be slow, and would leave few weights at exactly zero,
since single gradients are noisy. Instead each weight remembers the penalty it has received, and is
drawn towards zero, not past it, until it has received all that is due (``cpp/rivals/sgd.hpp``).
Only weights of the current sample's features are touched. A ridge term is part of the loss: what it
asks of a weight is spread over the samples that use the weight. All weights have one λ and one
ridge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Ints, SparseVector
from proxqn.problem.stepwise import SampleSteps
from proxqn.run.status import Status
from proxqn.run.watch import Callback
from proxqn.solvers.rivals.needs import OneForAll, one_for_all, samples_of
from proxqn.solvers.standing import Goal, Solution, Standing, Stop

_FIRST_RATE = 0.1
_MAX_HALVINGS = 40


@final
@dataclass(frozen=True)
class SGD:
    """Settings of stochastic gradient descent.

    An iteration is a pass over all samples in a new random order, counted as one forward and one
    backward pass. Objective and certificate after each pass come from the oracle; that evaluation
    is neither counted nor timed (``seconds`` is time spent descending; the evaluation's own stands
    under ``phase_seconds["evaluation"]``). The objective may rise from one pass to the next, and
    the last iterate is returned. Every coordinate has two dense numbers. Steps follow one another,
    so they are made on one thread whatever the oracle's ``n_jobs``, which only the evaluation uses.

    Parameters
    ----------
    rate : float or None
        η₀; None chooses it by one pass over a subsample with several rates, as Bottou (2012)
        advises; the choice is timed.
    subsample : int
        Samples for that choice.
    seed : int
        Of the order of the samples.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from proxqn.minimization import minimize
    >>> from proxqn.losses.chain.oracle import ChainOracle
    >>> X = sp.csr_array(np.tile(np.eye(2), (10, 1)))
    >>> oracle = ChainOracle(X, np.tile([0, 1], 10), np.full(10, 2), n_labels=2)
    >>> minimize(oracle, 1.0, solver=SGD(), tol=1e-3).success
    True
    """

    rate: float | None = None
    subsample: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rate is not None and not 0.0 < self.rate < math.inf:
            raise ValueError(
                f"rate must be a finite number above 0 or None to choose it, got {self.rate!r}."
            )
        if self.subsample < 1:
            raise ValueError(f"subsample must be 1 or above, got {self.subsample!r}.")

    def minimize(
        self,
        oracle: Oracle,
        penalty: Penalty,
        start: SparseVector,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
        stop: Stop = "gap",
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point until the gap is at most ``tol·f``."""
        samples = samples_of(oracle, "sgd")
        numbers = one_for_all(penalty, "sgd")
        standing = Standing(oracle, penalty, Goal(tol, max_iter, callback, stop))
        run = _Run(self, standing, samples, numbers)
        return standing.solution(run.solve, start)


@final
class _Run:
    """One minimisation and its state."""

    def __init__(
        self, settings: SGD, standing: Standing, samples: SampleSteps, numbers: OneForAll
    ) -> None:
        self.settings, self.standing, self.samples = settings, standing, samples
        self.clock = standing.record.clock
        self.n = standing.oracle.n_samples
        self.lam, self.l2 = numbers.lam, numbers.l2
        self.random = np.random.default_rng(settings.seed)

    def solve(self, start: SparseVector) -> Status:
        standing = self.standing
        with self.clock.evaluation():
            point = standing.begin(start)
        if point is None:
            return Status.NOT_FINITE
        with self.clock.evaluation():
            _, status = standing.look(point, standing.iterate.weights)
        rate = self.settings.rate
        if rate is None and status is None:
            with self.clock.timed("rate"):
                rate = self._choose_rate(start)
        self.samples.restart(start)
        while status is None and (status := standing.consult()) is None:
            status = self._pass(rate or _FIRST_RATE)
        return status

    def _pass(self, rate: float) -> Status | None:
        standing = self.standing
        step = rate / (1.0 + standing.record.iteration)
        with self.clock.timed("samples"):
            order = self.random.permutation(self.n)
            self.samples.descend(order, rate=rate, lam=self.lam, l2=self.l2)
        with self.clock.evaluation():
            # Penalties due are as good paid later: only the reader needs them now.
            weights = self.samples.weights()
        for operation in ("forward", "backward"):
            standing.calls.counts[operation] += 1
        try:
            return standing.measure(weights, step=step)
        except FloatingPointError as error:
            raise FloatingPointError(
                f"SGD diverged: {error} Lower rate={rate:g}, or leave it None to have it chosen."
            ) from None

    def _choose_rate(self, start: SparseVector) -> float:
        """Halve, then double, from a first guess as long as the subsample's objective falls."""
        chosen = self.random.permutation(self.n)[: self.settings.subsample]
        at_rest = self._cost(start, chosen, 0.0)
        best, cost = _FIRST_RATE, self._cost(start, chosen, _FIRST_RATE)
        for factor in (0.5, 2.0):
            for _ in range(_MAX_HALVINGS):
                trial = self._cost(start, chosen, best * factor)
                # Rates far too large are all bad, in no order: first find one that is any good.
                if trial >= cost and cost < at_rest:
                    break
                best, cost = best * factor, trial
        return best

    def _cost(self, start: SparseVector, chosen: Ints, rate: float) -> float:
        """Return the objective on the subsample after one pass over it."""
        self.samples.restart(start)
        self.samples.descend(chosen, rate=rate, lam=self.lam, l2=self.l2)
        weights = self.samples.weights()
        penalty = self.standing.penalty.value(weights) * len(chosen) / self.n
        cost = self.samples.loss(chosen) + penalty
        return cost if math.isfinite(cost) else math.inf
