"""``proxqn.minimize_path``: all λs of a range, each from the solution before it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proxqn.losses.function import ValueAndGradient
from proxqn.minimization import Solver, Vector
from proxqn.path.largest_lam import as_oracle, lambda_max
from proxqn.path.placement import next_lam
from proxqn.path.result import Path, PathRow
from proxqn.path.segment import Segment
from proxqn.path.walk import Walk, Watch
from proxqn.penalties.family import Family, Scaled
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import Floats
from proxqn.solvers.standing import Stop

_AT_ENDS = 0.125  # of eps: what the λs that are solved may be off
_GRID_TOL = 1e-4
_MOST_LAMS = 1000
_SAME = 1e-9  # λs that differ by less are the same


def minimize_path(
    oracle: Oracle | ValueAndGradient,
    lams: str | int | Floats = "certified",
    *,
    eps: float = 1e-2,
    l2: Any = 0.0,
    l2_ratio: float = 0.0,
    factors: Any = 1.0,
    bounds: tuple[Any, Any] | None = None,
    penalty: Family | None = None,
    lam_min: float | None = None,
    x0: Vector | None = None,
    lower_bound: float | None = None,
    solver: str | Solver = "prox-qn",
    tol: float | None = None,
    stop: Stop | None = None,
    max_iter: int = 1000,
    callback: Watch | None = None,
    initial: Path | None = None,
    beside: Path | None = None,
) -> Path:
    """Minimise ``ℓ(w) + λ Σ_j factors_j |w_j| + ½ (l2 + λ·l2_ratio) ‖w‖²`` for all λ of a range.

    Each λ begins where the one before it ended, with what was learned of the curvature there.

    Parameters
    ----------
    oracle : Oracle or callable
        The loss, as for :func:`~proxqn.minimize`.
    lams : "certified", int or array
        ``"certified"`` places λs by itself until at every λ from ``lambda_max`` to ``lam_min`` the
        mixture of the two neighbours is proved to be within ``eps`` of its optimum. Where proofs
        lag, as on text with a small λ, it goes on by the estimate, and ``path.known`` says so of
        each λ. A number asks for so many λs in a geometric series between the same ends; an array
        names them.
    eps : float
        For ``"certified"``: how far above the optimum at most, as a share of the objective.
    l2, l2_ratio : float
        A ridge in a fixed amount, and in a fixed ratio to λ.
    factors : float or array
        λ of each weight as a multiple of the path's; 0 leaves a weight unpenalised.
    bounds : pair, optional
        As for :func:`~proxqn.minimize`.
    penalty : callable, optional
        In place of these: λ ↦ penalty, of the form ``Ω₀ + λR``.
    lam_min : float, optional
        The smallest λ; a hundredth of the largest by default.
    x0 : array, optional
        For a function: a vector of the right length, from where ``lambda_max`` is found.
    lower_bound : float, optional
        For a function: what the loss is never below, 0 for a sum of squares. Without one a function
        has no proofs.
    solver, max_iter
        Of each λ, as for :func:`~proxqn.minimize`.
    tol : float, optional
        Of each λ: an eighth of ``eps`` for ``"certified"``, else 1e-4.
    stop : {"gap", "estimate"}, optional
        What is to be within ``tol``: for ``"certified"`` what is proved, as long as proofs come in
        time, else the estimate.
    callback : callable, optional
        Called with each :class:`~proxqn.path.result.PathRow`; return True to stop. A
        :class:`~proxqn.path.walk.PathWatcher` sees the weights, too.
    initial : Path, optional
        Of the same problem, ended early: what it has is not solved again.
    beside : Path, optional
        Of nearly the same problem, such as all data where this is a fold: what it gained between
        two λs is taken along to start from.

    Returns
    -------
    Path
        Ctrl-C ends it at the last λ that was solved.

    Examples
    --------
    >>> import proxqn
    >>> X = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    >>> oracle = proxqn.ChainOracle(X, np.array([0, 1, 1, 0, 0, 1]), np.array([3, 3]), n_labels=2)
    >>> path = minimize_path(oracle, eps=0.05)
    >>> path.certified, bool(path.at(0.1).gap <= 0.05 * path.at(0.1).fun)
    (True, True)
    >>> minimize_path(oracle, [0.3, 0.2]).nnz
    array([6, 6])
    """
    loss = as_oracle(oracle, x0, lower_bound)
    if penalty is None:
        penalty = Scaled(factors, l2, l2_ratio, bounds)
    certified = isinstance(lams, str)
    if certified and lams != "certified":
        raise ValueError(f"lams must be 'certified', a number of them, or an array; got {lams!r}.")
    if not (isinstance(eps, int | float) and 0.0 < eps < math.inf):
        raise ValueError(f"eps must be a number above 0, got {eps!r}.")
    if tol is None:
        tol = _AT_ENDS * eps if certified else _GRID_TOL
    wanted = eps if certified else math.inf
    walk = Walk(loss, penalty, solver, tol, stop, max_iter, callback, initial, wanted, beside)
    if certified:
        return walk.run(lambda: _certify(walk, _ends(loss, penalty, lam_min), eps))
    return walk.run(lambda: _visit(walk, _given(lams, loss, penalty, lam_min)))


def _ends(loss: Oracle, family: Family, lam_min: float | None) -> tuple[float, float]:
    largest = lambda_max(loss, penalty=family)
    if not largest > 0.0:
        raise ValueError("every λ gives the same weights: the loss is flat at zero.")
    least = 0.01 * largest if lam_min is None else float(lam_min)
    if not 0.0 < least < largest:
        raise ValueError(f"lam_min must lie between 0 and lambda_max = {largest:g}, got {least!r}.")
    return largest, least


def _given(lams: Any, loss: Oracle, family: Family, lam_min: float | None) -> list[float]:
    if np.ndim(lams) == 0:
        if not (isinstance(lams, int | np.integer) and lams >= 2):
            raise ValueError(f"a number of λs must be an integer, 2 or above, got {lams!r}.")
        largest, least = _ends(loss, family, lam_min)
        found: list[float] = np.geomspace(largest, least, int(lams)).tolist()
        return found
    given = np.unique(np.asarray(lams, dtype=np.float64))[::-1]
    if given.ndim != 1 or not len(given) or not (np.isfinite(given) & (given > 0.0)).all():
        raise ValueError(f"lams must be finite numbers above 0, got {lams!r}.")
    return [float(lam) for lam in given]


def _visit(walk: Walk, lams: list[float]) -> None:
    """Solve λs that are given, descending."""
    above: PathRow | None = None
    for lam in lams:
        above = walk.solve(lam, "asked for", above)


def _certify(walk: Walk, ends: tuple[float, float], eps: float) -> None:
    """Solve λs until every one between the ends is proved, or estimated where proofs lag."""
    largest, least = ends
    now = walk.solve(largest, "the largest", None)
    while now.lam > least and len(walk) < _MOST_LAMS:
        lam = next_lam([row.solved(proved=False) for row in walk.descending], eps, least)
        above, now = now, walk.solve(lam, "next", now)
        _split(walk, above, now, eps)


def _split(walk: Walk, above: PathRow, below: PathRow, eps: float) -> None:
    """Solve the λ with the largest bound in between, as long as that exceeds eps."""
    segment = Segment(above.solved(proved=False), below.solved(proved=False))
    ratio, lam = segment.worst()
    wide = above.lam - below.lam > _SAME * above.lam
    if ratio <= eps or not wide or not segment.can_be_split(eps) or len(walk) >= _MOST_LAMS:
        return
    middle = walk.solve(lam, f"the bound was {100 * ratio:.2g} %", above)
    _split(walk, above, middle, eps)
    _split(walk, middle, below, eps)
