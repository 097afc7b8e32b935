"""``proxqn.minimize``: the functional call, in SciPy's manner."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, get_args, runtime_checkable

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult

from proxqn.losses.function import FunctionOracle, ValueAndGradient
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.run.status import distance
from proxqn.run.watch import Callback
from proxqn.solvers.curvature.memory import Memory
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.standing import Solution, Stop

_RESCALED = "columns of very different sizes were brought to one: kkt is of those"

Vector = Floats | sp.coo_array | SparseVector


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
        stop: Stop = "gap",
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point."""


def _rival(module: str, name: str) -> Callable[[], Solver]:
    def settings() -> Solver:
        found: Solver = getattr(import_module(f"proxqn.solvers.rivals.{module}"), name)()
        return found

    return settings


SOLVERS: dict[str, Callable[[], Solver]] = {
    "prox-qn": ProxQN,
    "prox-gd": _rival("prox_gd", "ProxGD"),
    "owl-qn": _rival("owl_qn", "OWLQN"),
    "sgd": _rival("sgd", "SGD"),
    "bcd": _rival("bcd", "BCD"),
}


def minimize(
    oracle: Oracle | ValueAndGradient,
    lam: float | Floats | None = None,
    *,
    l2: float | Floats = 0.0,
    bounds: tuple[Any, Any] | None = None,
    penalty: Penalty | None = None,
    x0: Vector | OptimizeResult | None = None,
    solver: str | Solver = "prox-qn",
    tol: float = 1e-4,
    stop: Stop = "estimate",
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Any:
    """Minimise ``ℓ(w) + Σ_j lam_j |w_j| + (l2_j/2) w_j²`` for an expensive smooth convex ℓ.

    Parameters
    ----------
    oracle : Oracle or callable
        The loss: an :class:`~proxqn.problem.Oracle`, or a function ``fun(w) -> (value, gradient)``
        of a dense vector; then ``x0`` gives its length.
    lam : float or array
        λ, against the sum of the losses; one for all weights or one for each. 0 leaves a weight
        unpenalised.
    l2 : float or array
        Optional ridge terms.
    bounds : pair of floats or arrays, optional
        ``(lower, upper)`` with ``lower ≤ 0 ≤ upper``; ``(0, np.inf)`` for weights that are not
        negative.
    penalty : Penalty, optional
        One of your own, in place of ``lam``, ``l2`` and ``bounds``.
    x0 : array, 1-D sparse array, SparseVector or a result, optional
        The starting point; zero by default. A result of the same loss under another penalty brings
        along what its run learned of the curvature, too.
    solver : str or settings object
        ``"prox-qn"``, ``"prox-gd"``, ``"owl-qn"``, ``"sgd"`` or ``"bcd"`` with default settings, or
        a settings object such as ``ProxQN.paper()`` or ``SGD(rate=2e-4)``. SGD and BCD need losses
        that give them single samples or blocks: chains and trees do, a function does not.
    tol : float
        How far above the optimum to stop, as a fraction of the objective.
    stop : {"estimate", "gap"}
        What is to be within ``tol``: the error as the solver estimates it, or the gap that is
        proved; where no gap is known, the largest subgradient entry, as a fraction of the smallest
        λ above 0. Solvers that make no estimates stop by the gap.
    max_iter : int
        At most this many iterations.
    callback : callable, optional
        Called with each :class:`~proxqn.run.trace.Row`; return True to stop.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` (a 1-D sparse array for an oracle, dense for a function), ``weights`` (the same as a
        :class:`~proxqn.problem.SparseVector`), ``fun``, ``success``, ``status``, ``message``,
        ``nit``, ``nfev`` (forward passes), ``njev`` (backward passes), ``kkt``, ``nnz``, ``trace``;
        ``gap``, what is left to gain at most, as proved; ``gap_box``, the same among weights up to
        ``box`` in size, which is only assumed (twice the largest found; infinite where ``gap`` is
        as good); ``estimate``, what is left as the solver estimates it, without proof;
        ``memory``, what the run learned of the curvature (``x0=result`` goes on with it);
        ``certified``: whether a gap is known; ``convex``: whether the loss is, without
        which no gap exists.

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

    Its first weight unpenalised, and no weight negative:

    >>> result = minimize(loss, lam=np.array([0.0, 1.0]), bounds=(0.0, np.inf), x0=np.zeros(2))
    >>> result.x.round(4)
    array([2., 0.])
    """
    x0, memory = _start_of(x0)
    loss = _as_oracle(oracle, x0)
    settings = _settings(solver)
    remembering = {"memory": memory} if isinstance(settings, ProxQN) else {}
    if not tol >= 0.0:
        raise ValueError(f"tol must be a number, 0 or above, got {tol!r}.")
    if stop not in get_args(Stop):
        raise ValueError(f"stop must be one of {', '.join(get_args(Stop))}, got {stop!r}.")
    if max_iter < 0:
        raise ValueError(f"max_iter must be 0 or above, got {max_iter!r}.")
    solution = settings.minimize(
        loss,
        _as_penalty(penalty, lam, l2, bounds, loss.n_coordinates),
        _as_sparse(x0, loss.n_coordinates),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        stop=stop,
        **remembering,
    )
    return _result(solution, loss)


def _as_penalty(
    penalty: Penalty | None, lam: Any, l2: Any, bounds: tuple[Any, Any] | None, n: int
) -> Penalty:
    if penalty is not None:
        if lam is not None or bounds is not None or np.any(l2):
            raise ValueError(
                "pass either penalty or lam, l2 and bounds: a penalty says all that they say."
            )
        return penalty
    if lam is None:
        raise ValueError("lam is missing: a number or an array, or a penalty in its place.")
    constant = np.ndim(lam) == 0 and np.ndim(l2) == 0 and bounds is None
    if constant and lam != 0:
        return ElasticNet(lam, l2)
    if bounds is not None and len(bounds) != 2:
        raise ValueError(
            f"bounds must be a pair, (lower, upper), of numbers or arrays, got {len(bounds)} of "
            "them; pairs for each weight are np.transpose(bounds)."
        )
    lower, upper = bounds if bounds is not None else (-math.inf, math.inf)
    chosen = Separable(lam, l2, lower, upper)
    chosen.check_size(n)
    return chosen


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


def _start_of(x0: Any) -> tuple[Vector | None, Memory | None]:
    """Return a starting point, and what a former run learned of the curvature."""
    memory: Memory | None = None
    if isinstance(x0, OptimizeResult):
        x0, memory = x0["x"], x0.get("memory")
    as_it_is = x0 is None or isinstance(x0, SparseVector) or sp.issparse(x0)
    start: Vector | None = x0 if as_it_is else np.asarray(x0, dtype=np.float64)
    return start, memory


def _as_oracle(loss: Oracle | ValueAndGradient, x0: Vector | None) -> Oracle:
    if isinstance(loss, Oracle):
        return loss
    if not callable(loss):
        raise TypeError(
            f"expected an Oracle or a function w -> (value, gradient), got {type(loss).__name__}."
        )
    if x0 is None or isinstance(x0, SparseVector):
        raise ValueError("x0 is needed with a function: its length is the number of variables.")
    return FunctionOracle(loss, x0.shape[0])


def _as_sparse(x0: Vector | None, n: int) -> SparseVector:
    if x0 is None:
        return SparseVector.empty()
    if isinstance(x0, SparseVector):
        return x0
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
    known = distance(solution.objective, solution)
    units = _RESCALED if solution.rescaled else ""
    x: Any = sp.coo_array((weights.values, (weights.coordinates,)), shape=(oracle.n_coordinates,))
    result: Any = OptimizeResult()
    result.update(
        x=x.toarray() if isinstance(oracle, FunctionOracle) else x,
        weights=weights,
        fun=solution.objective,
        success=solution.status.success,
        status=solution.status,
        message="; ".join(part for part in (solution.status.value, known, units) if part),
        nit=solution.trace[-1].iteration if len(solution.trace) else 0,
        nfev=math.ceil(calls.get("forward", 0)),
        njev=math.ceil(calls.get("backward", 0)),
        gap=solution.gap,
        estimate=solution.estimate,
        box=solution.box,
        gap_box=solution.gap_box,
        kkt=solution.kkt,
        certified=math.isfinite(solution.gap),
        convex=solution.convex,
        nnz=len(weights.values),
        trace=solution.trace,
        memory=solution.memory,
    )
    return result
