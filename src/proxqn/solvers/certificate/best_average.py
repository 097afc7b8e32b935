"""Which average of iterates proves most: a linear program over a few numbers.

Near the solution the derivatives at an average ``Σ_k c_k w_k`` are nearly ``Σ_k c_k g_k``, and its
entropy is nearly ``Σ_k c_k H_k``. The bound there (``stopping``) lies below the entropy by λ‖w‖₁
for each unit of v, the largest excess of a derivative over λ as a share of λ. So the best one has

    min_{c ≥ 0, v ≥ 0}  λ‖w‖₁ v - Σ_k c_k H_k   with   Σ_k c_k = 1,   |Σ_k c_k g_kj| ≤ λ_j (1 + v).

Few of these constraints matter: those that the best average so far violates most join the program
until none is violated by much.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from proxqn.problem.sparse import Floats

_JOINING = 40  # constraints at a time
_CLOSE = 0.05  # of v


def best_average(
    g: Floats, entropies: Floats, price: float, worth: float
) -> tuple[Floats | None, float]:
    """Return the shares c, and what their bound will be at most.

    Parameters
    ----------
    g : array of shape (n_iterates, n_coordinates)
        Derivatives, each divided by its λ.
    entropies : array of shape (n_iterates,)
        H.
    price : float
        Σ_j λ_j |w_j|.
    worth : float
        A bound below this is not worth having: no shares are returned as soon as that is certain.

    Examples
    --------
    Two iterates on either side of λ = 1, the second farther away:

    >>> shares, bound = best_average(np.array([[1.1], [0.8]]), np.array([5.0, 5.0]), 2.0, 4.0)
    >>> bool(shares @ [1.1, 0.8] <= 1.0 + 1e-9), float(bound)
    (True, 5.0)
    """
    n = len(g)
    newest = float(entropies[-1])
    cost = np.append(newest - entropies, price)  # H itself would leave few digits to the program
    constraints, v = np.zeros((0, n + 1)), 0.0
    shares, bound = np.full(n, 1.0 / n), np.inf
    held = np.zeros(g.shape[1], dtype=bool)  # what it leaves of these is the program's rounding
    while True:
        mixed = np.einsum("k,kj->j", shares, g)  # a matrix product would wake BLAS's threads
        excess = np.where(held, -np.inf, np.abs(mixed) - 1.0)
        joining = np.argsort(excess)[-_JOINING:]
        joining = joining[excess[joining] > v * (1.0 + _CLOSE)]
        if math.isfinite(bound) and len(joining) == 0:
            return shares, bound
        held[joining] = True
        both_sides = np.vstack([g[:, joining].T, -g[:, joining].T])
        rows = np.hstack([both_sides, np.full((len(both_sides), 1), -1.0)])
        constraints = np.vstack([constraints, rows])
        program = linprog(
            cost,
            A_ub=constraints,
            b_ub=np.ones(len(constraints)),
            A_eq=np.append(np.ones(n), 0.0)[None],
            b_eq=[1.0],
        )
        if program.x is None:  # for its rounding
            return None, bound
        bound = newest - float(cost @ program.x)  # a constraint more can only lower it
        if bound < worth:
            return None, bound
        shares, v = program.x[:n], max(float(program.x[n]), 0.0)  # below 0 by its rounding
