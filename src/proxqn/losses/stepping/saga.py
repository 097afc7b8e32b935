"""Epochs of stochastic steps with a memory of gradients: what chains and trees share of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.aligned_array import aligned_zeros
from proxqn.losses.stepping.blocks import SampleBlocks
from proxqn.losses.stepping.reach import Reach
from proxqn.losses.stepping.step_rates import KAPPA, column_rates, rates
from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem.oracle import NOTHING
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.problem.stepwise import StochasticSteps

TEST_EVERY = 16  # visits: then one tests the rates


@final
class SagaSteps(StochasticSteps):
    """Two dense numbers a weight, and a remembered residual, in floats, for each score.

    Parameters
    ----------
    reach : Reach
        The weights.
    blocks : SampleBlocks
        The data.
    admitted : array of shape (n_rows, size), optional
        Which of the weights the model has.
    penalty : Penalty
        Of all coordinates.
    kernel : callable
        From compiled blocks and memory to the steps of a model.
    own_curvature : float
        Of a block's loss in the weights that belong to no column.
    kappa : float
        Curvature of the loss in a row's scores, in units of that of two labels.

    Attributes
    ----------
    kernel : object
        The compiled steps; their truth in NumPy is ``saga_reference.py``.
    rate, share : arrays
        s_c and 1/n_c of each row of weights.
    caution : float
        By how much steps are shorter than their rates.
    """

    def __init__(
        self,
        reach: Reach,
        blocks: SampleBlocks,
        admitted: NDArray[np.bool_] | None,
        penalty: Penalty,
        kernel: Callable[[Any, Any], Any],
        *,
        own_curvature: float = 0.0,
        kappa: float = 1.0,
        n_jobs: int = 1,
    ) -> None:
        self.reach, self.blocks = reach, blocks
        self._n_jobs, self.caution = n_jobs, 1.0
        self._rows = WeightRows(len(reach.columns), reach.size)
        n_c = np.maximum(blocks.kernel.occurrences(), 1.0)
        every = np.full(reach.n_own, float(len(blocks)))
        own_rates = rates(np.full(reach.n_own, KAPPA * own_curvature), every)
        self.rate: Floats = np.concatenate([column_rates(blocks, kappa * KAPPA), own_rates])
        self.share: Floats = 1.0 / np.concatenate([n_c, every])
        lam, l2, lower, upper = _penalty_rows(penalty, reach, self._rows.width)
        memory = _kernels.SagaMemory(
            self._rows.array,
            aligned_zeros(self._rows.array.shape),
            np.zeros((blocks.n_rows, self._rows.width), dtype=np.float32),
            np.zeros((len(blocks), reach.n_own * self._rows.width), dtype=np.float32),
            None if admitted is None else _bits(admitted, self._rows.width),
            self.rate,
            self.share,
            lam,
            l2,
            lower,
            upper,
            reach.n_own,
        )
        self.kernel = kernel(blocks.kernel, memory)

    def epoch(self, seed: int) -> float:
        """Visit every block once, in random order."""
        order = np.random.default_rng(seed).permutation(len(self.blocks))
        loss, self.caution = self.kernel.visit(order, TEST_EVERY, self.caution, self._n_jobs)
        return float(loss)

    def weights(self) -> SparseVector:
        """Return the weights."""
        found = self._rows.take()
        row, label = np.divmod(found.coordinates, self.reach.size)
        return SparseVector(self.reach.columns[row] * self.reach.size + label, found.values)


def _bits(admitted: NDArray[np.bool_], width: int) -> NDArray[np.uint8]:
    padded = np.zeros((len(admitted), width), dtype=bool)
    padded[:, : admitted.shape[1]] = admitted
    return np.packbits(padded, axis=1, bitorder="little")


def _penalty_rows(penalty: Penalty, reach: Reach, width: int) -> list[Floats]:
    """Return λ, ridge and bounds, each as one row for all or as a row for each of the weights'."""
    local = penalty.on(NOTHING)
    if all(len(x) == 1 for x in local.arrays):
        return [np.full((1, width), x[0]) for x in local.arrays]
    found = []
    for x in penalty.on(reach.coordinates).arrays:
        rows = np.zeros((len(reach.columns), width))
        rows[:, : reach.size] = x if len(x) == 1 else x.reshape(-1, reach.size)
        found.append(rows)
    return found
