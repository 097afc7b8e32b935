"""``proxqn.minimize``: the functional call, in SciPy's manner."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult

from proxqn.losses.function import FunctionOracle, ValueAndGradient
from proxqn.penalties import ElasticNet
from proxqn.problem import Floats, Oracle, Penalty, SparseVector
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.recording import Callback, Solution

Vector = Floats | sp.coo_array


@runtime_checkable
class Solver(Protocol):
    """The settings of a method; each is a frozen dataclass in a file of ``proxqn.solvers``."""

    def minimize(
        self,
        oracle: Oracle,
        penalty: Penalty,
        start: SparseVector,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point."""


def _prox_gd() -> Solver:
    from proxqn.solvers.rivals.prox_gd import ProxGD

    return ProxGD()


def _owl_qn() -> Solver:
    from proxqn.solvers.rivals.owl_qn import OWLQN

    return OWLQN()


def _sgd() -> Solver:
    from proxqn.solvers.rivals.sgd import SGD

    return SGD()


def _bcd() -> Solver:
    from proxqn.solvers.rivals.bcd import BCD

    return BCD()


SOLVERS: dict[str, Callable[[], Solver]] = {
    "prox-qn": ProxQN,
    "prox-gd": _prox_gd,
    "owl-qn": _owl_qn,
    "sgd": _sgd,
    "bcd": _bcd,
}


def minimize(
    oracle: Oracle | ValueAndGradient,
    lam: float,
    *,
    l2: float = 0.0,
    x0: Vector | None = None,
    solver: str | Solver = "prox-qn",
    tol: float = 1e-4,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Any:
    """Minimise ``ℓ(w) + lam ‖w‖₁ + (l2/2) ‖w‖²`` for an expensive smooth convex ℓ.

    Parameters
    ----------
    oracle : Oracle or callable
        The loss: an :class:`~proxqn.problem.Oracle`, or a function ``fun(w) -> (value, gradient)``
        of a dense vector; then ``x0`` gives its length.
    lam : float
        λ, against the sum of the losses.
    l2 : float
        An optional ridge term.
    x0 : array or 1-D sparse array, optional
        The starting point; zero by default.
    solver : str or settings object
        ``"prox-qn"``, ``"prox-gd"``, ``"owl-qn"``, ``"sgd"`` or ``"bcd"`` with default settings, or
        a settings object such as ``ProxQN.paper()`` or ``SGD(rate=2e-4)``. SGD and BCD need losses
        that give them single samples or blocks: chains and trees do, a function does not.
    tol : float
        Stop when the duality gap is at most ``tol`` times the objective; where no gap is known,
        when the largest subgradient entry is at most ``tol·lam``.
    max_iter : int
        At most this many iterations.
    callback : callable, optional
        Called with each :class:`~proxqn.run.trace.Row`; return True to stop.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` (a 1-D sparse array for an oracle, dense for a function), ``fun``, ``success``,
        ``status``, ``message``, ``nit``, ``nfev`` (forward passes), ``njev`` (backward passes),
        ``gap``, ``kkt``, ``nnz``, ``trace``; ``certified``: whether a gap is known; ``convex``:
        whether the loss is, without which no gap exists.

    Examples
    --------
    The lasso, as a function of one's own:

    >>> A = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> b = np.array([4.0, 0.1, 2.0])
    >>> def loss(w):
    ...     r = A @ w - b
    ...     return 0.5 * r @ r, A.T @ r
    >>> result = minimize(loss, lam=1.0, x0=np.zeros(2), tol=1e-8)
    >>> result.x.round(4), result.nnz
    (array([1.8, 0. ]), 1)
    """
    if x0 is not None and not sp.issparse(x0):
        x0 = np.asarray(x0, dtype=np.float64)
    loss = _as_oracle(oracle, x0)
    settings = _settings(solver)
    if not tol >= 0.0:
        raise ValueError(f"tol must be a number, 0 or above, got {tol!r}.")
    if max_iter < 0:
        raise ValueError(f"max_iter must be 0 or above, got {max_iter!r}.")
    solution = settings.minimize(
        loss,
        ElasticNet(lam, l2),
        _as_sparse(x0, loss.n_coordinates),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
    return _result(solution, loss)


def lambda_max(oracle: Oracle) -> float:
    """Return the smallest λ for which w = 0 is optimal: ``‖∇ℓ(0)‖_∞``."""
    oracle.reset()
    oracle.value_at(0.0)
    oracle.accept(0.0)
    return oracle.sweep(np.inf).largest


def _settings(solver: str | Solver) -> Solver:
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r}.")
        return SOLVERS[solver]()
    if not isinstance(solver, Solver):
        raise TypeError(
            f"solver must be a name or a settings object such as ProxQN(), got {solver!r}."
        )
    return solver


def _as_oracle(loss: Oracle | ValueAndGradient, x0: Vector | None) -> Oracle:
    if isinstance(loss, Oracle):
        return loss
    if not callable(loss):
        raise TypeError(
            f"expected an Oracle or a function w -> (value, gradient), got {type(loss).__name__}."
        )
    if x0 is None:
        raise ValueError("x0 is needed with a function: its length is the number of variables.")
    return FunctionOracle(loss, x0.shape[0])


def _as_sparse(x0: Vector | None, n: int) -> SparseVector:
    if x0 is None:
        return SparseVector.empty()
    if x0.shape != (n,):
        raise ValueError(f"x0 must have shape ({n},), got {x0.shape}.")
    if sp.issparse(x0):
        entries: Any = x0.tocoo(copy=True)
        entries.sum_duplicates()
        (coordinates,), values = entries.coords, entries.data
    else:
        dense = np.asarray(x0, dtype=np.float64)
        coordinates = np.flatnonzero(dense)
        values = dense[coordinates]
    if not np.isfinite(values).all():
        raise ValueError("x0 contains NaN or infinite values.")
    order = np.argsort(coordinates)
    return SparseVector(coordinates[order].astype(np.int64), values[order].astype(np.float64))


def _result(solution: Solution, oracle: Oracle) -> Any:
    weights, calls = solution.weights, solution.trace[-1].calls if len(solution.trace) else {}
    x: Any = sp.coo_array((weights.values, (weights.coordinates,)), shape=(oracle.n_coordinates,))
    result: Any = OptimizeResult()
    result.update(
        x=x.toarray() if isinstance(oracle, FunctionOracle) else x,
        fun=solution.objective,
        success=solution.status.success,
        status=solution.status,
        message=solution.status.value,
        nit=solution.trace[-1].iteration if len(solution.trace) else 0,
        nfev=math.ceil(calls.get("forward", 0)),
        njev=math.ceil(calls.get("backward", 0)),
        gap=solution.gap,
        kkt=solution.kkt,
        certified=math.isfinite(solution.gap),
        convex=oracle.convex,
        nnz=len(weights.values),
        trace=solution.trace,
    )
    return result
