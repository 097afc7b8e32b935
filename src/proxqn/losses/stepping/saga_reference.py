"""Proximal SAGA on blocks of samples in plain NumPy: the truth of ``cpp/stochastic/saga.hpp``.

Whole gradients of dense weights are remembered, one a block; no thought of memory or speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats

_ALARM, _RELIEF = (
    1.1,
    0.95,
)  # what a failed test of the rates, and a passed one, make of the caution

Evaluation = Callable[[int, Floats], tuple[float, Floats]]


@final
class ReferenceSaga:
    """Weights from zero on.

    Parameters
    ----------
    evaluate : callable
        From a block and weights to the block's loss and gradient.
    touched : array of shape (n_blocks, n_weights)
        Whether a block has a weight, and the model too.
    tested : array of shape (n_weights,)
        Weights along which rates are tested.
    rate, share : arrays of shape (n_weights,)
        s_c and 1/n_c.
    """

    def __init__(
        self,
        evaluate: Evaluation,
        penalty: Penalty,
        touched: NDArray[np.bool_],
        tested: NDArray[np.bool_],
        rate: Floats,
        share: Floats,
    ) -> None:
        self._evaluate, self._penalty = evaluate, penalty
        self._touched, self._tested, self._rate, self._share = touched, tested, rate, share
        self.weights, self._sum = np.zeros(len(rate)), np.zeros(len(rate))
        self._remembered = np.zeros(touched.shape)
        self.caution = 1.0

    def visit(self, order: Iterable[int], test_every: int) -> float:
        """Visit blocks in order; return the sum of the losses met."""
        total = 0.0
        for number, block in enumerate(order):
            loss, gradient = self._evaluate(block, self.weights)
            total += loss
            if test_every and number % test_every == 0:
                self._test(block, loss, gradient)
            self._step(block, gradient)
        return total

    def _step(self, block: int, gradient: Floats) -> None:
        change = np.where(self._touched[block], gradient, 0.0) - self._remembered[block]
        on = np.flatnonzero(self._touched[block] & (self._rate > 0.0))
        step, share = self._rate[on] / self.caution, self._share[on]
        v = self.weights[on] - step * (change[on] + share * self._sum[on])
        self.weights[on] = self._penalty.on(on).prox(v, 1.0 / (step * share))
        self._sum += change
        self._remembered[block] += change

    def _test(self, block: int, loss: float, gradient: Floats) -> None:
        on = self._touched[block] & self._tested
        g = np.where(on, gradient, 0.0)
        step = self._rate * (3.0 - 2.0 * self._share) / self.caution
        then, _ = self._evaluate(block, self.weights - step * g)
        kept = loss - then >= 0.5 * float((step * g * g).sum()) - 1e-9 * abs(loss)
        self.caution = max(1.0, self.caution * _RELIEF) if kept else self.caution * _ALARM
