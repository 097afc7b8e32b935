"""How far a stochastic step may go: one rate for each column.

For weights ``u > 0`` of the columns, a row's ``x xᵀ ≼ diag(|x_c| Σ_c' |x_c'| u_c' / u_c)`` (the
matrix on the right less that on the left is diagonally dominant once scaled by u), so that the loss
of block B is no more curved than the diagonal with

    h_Bc = κ Σ_{t ∈ B} |x_tc| Σ_c' |x_tc'| u_c' / u_c,

κ the curvature of the loss in the scores of a row. SAGA's theory allows steps of ``1/(3h)``
(Defazio, Bach and Lacoste-Julien 2014). A column that only one block has is remembered exactly: its
step is one of a plain proximal gradient method, ``1/h``; in between, ``1/((3 - 2/n_c) h)``.
``u_c = n_c^(-q)`` favours rare columns, which have few steps an epoch, and h is the mean over the
n_c blocks that have the column, each as often as it has of h.

What is only assumed here, the κ of a sequence and the mean in place of the largest, the kernel
tests on sampled losses (``cpp/stochastic/saga.hpp``).
"""

from __future__ import annotations

import numpy as np

from proxqn.losses.stepping.blocks import SampleBlocks
from proxqn.problem.sparse import Floats

KAPPA = 0.25  # of two labels between which a row is undecided
_FAVOUR = 0.15  # q: 0.1 to 0.3 do as well


def column_rates(blocks: SampleBlocks, kappa: float) -> Floats:
    """Return the rate of each column; 0 where nothing is curved."""
    n_c = np.maximum(blocks.kernel.occurrences(), 1.0)
    u = n_c**-_FAVOUR
    return rates(kappa * blocks.kernel.typical_curvatures(u) / u, n_c)


def rates(curvature: Floats, n_c: Floats) -> Floats:
    """Return the steps that SAGA's theory allows.

    Parameters
    ----------
    curvature : array
        Of the blocks that have a column, on average.
    n_c : array
        How many these are.

    Examples
    --------
    >>> rates(np.array([2.0, 2.0, 0.0]), np.array([1.0, 1000.0, 5.0])).round(3)
    array([0.5  , 0.167, 0.   ])
    """
    allowed = (3.0 - 2.0 / n_c) * curvature
    return np.divide(1.0, allowed, out=np.zeros_like(allowed), where=allowed > 0.0)
