"""What every estimator does around a call of ``minimize``: settings, progress, warnings."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol, TypeVar, cast, get_args

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from proxqn.estimators.callbacks import combined
from proxqn.estimators.early_stopping import EarlyStopping
from proxqn.minimization import SOLVERS, Solver, minimize
from proxqn.penalties.bounded import Bounded
from proxqn.problem import Oracle, SparseVector
from proxqn.problem.penalty import Penalty
from proxqn.run.status import Status, distance
from proxqn.run.watch import Callback
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.rivals.sgd import SGD
from proxqn.solvers.standing import Stop

Coefficients = TypeVar("Coefficients")
Fit = TypeVar("Fit", bound=Callable[..., Any])

_MOST_JOBS = (
    1024  # the result does not depend on it, and threads beyond the processors gain nothing
)
_LARGE = {"x", "weights", "memory"}  # parts of a result
_IF_STALLED = (
    "Close to the optimum, 64-bit arithmetic allows no better: raise tol. Elsewhere, look for "
    "outliers in the features: values millions of times as large as others."
)
_NOT_CONVEX = "with labels missing the loss is not convex, and no duality gap exists"


class PenalisedEstimator(Protocol):
    """The constructor parameters that all estimators share."""

    solver: str | ProxQN
    tol: float
    stop: Stop
    max_weight: float | None
    max_iter: int
    n_jobs: int | None
    verbose: int
    random_state: Any
    warm_start: bool


def check_settings(estimator: PenalisedEstimator) -> None:
    """Refuse bad parameters before any work on the data."""
    tol: Any = estimator.tol
    max_iter: Any = estimator.max_iter
    if not (isinstance(tol, int | float | np.number) and 0.0 <= tol < math.inf):
        raise ValueError(
            f"tol must be a finite number, 0 or above, got {tol!r}. It is how far above the "
            "optimum to stop, as a fraction of the objective; 1e-4 is a good start."
        )
    if estimator.stop not in get_args(Stop):
        raise ValueError(
            f"stop must be one of {', '.join(map(repr, get_args(Stop)))}, got {estimator.stop!r}."
        )
    if not isinstance(max_iter, int | np.integer) or max_iter < 0:
        raise ValueError(f"max_iter must be an integer, 0 or above, got {max_iter!r}.")
    resolve_n_jobs(estimator.n_jobs)
    if isinstance(estimator.solver, str) and estimator.solver not in SOLVERS:
        raise ValueError(
            f"solver must be one of {', '.join(map(repr, SOLVERS))} or a settings object such as "
            f"ProxQN.paper(), got {estimator.solver!r}."
        )


def own_lam(parameter: str, value: Any) -> float:
    """Return the λ that a group of weights has of its own."""
    if not (isinstance(value, int | float | np.number) and 0.0 <= value < math.inf):
        raise ValueError(
            f"{parameter} must be a finite number, 0 or above, or None, got {value!r}. 0 leaves "
            "these weights unpenalised; None gives them the lam of the others."
        )
    return float(value)


def coefficients_of(initial: Any, kind: type[Coefficients], estimator: type[Any]) -> Coefficients:
    """Return the coefficients to start from: those given, or those of a fitted model."""
    if isinstance(initial, kind):
        return initial
    if not isinstance(initial, estimator):
        raise TypeError(
            f"initial must be a fitted {estimator.__name__}, its coefficients(), or None; got a "
            f"{type(initial).__name__}."
        )
    return cast("Coefficients", cast("Any", initial).coefficients())


def with_defaults(estimator: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Return a pickled estimator's state with the parameters that came later, as they default."""
    parameters = inspect.signature(type(estimator).__init__).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    return defaults | state


def pickled(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state to pickle: the result without the point, which the coefficients hold.

    The point alone is as large as all the rest: it has a number of its own for every weight. What
    was learned of the curvature is larger still.
    """
    result = state.get("result_")
    if not isinstance(result, OptimizeResult):
        return state
    kept: Any = {name: value for name, value in result.items() if name not in _LARGE}
    return state | {"result_": OptimizeResult(**kept)}


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads: None is 1, -1 is all processors, as in scikit-learn."""
    wanted: Any = n_jobs
    if wanted is not None and (not isinstance(wanted, int | np.integer) or wanted == 0):
        raise ValueError(
            f"n_jobs must be an integer other than 0, or None, got {n_jobs!r}. It is the number of "
            "threads; -1 is all processors."
        )
    return min(int(effective_n_jobs(n_jobs)), _MOST_JOBS)


def all_or_nothing(fit: Fit) -> Fit:
    """Make a fit that fails, for want of memory say, leave its estimator as it was."""

    @wraps(fit)
    def whole(estimator: Any, *args: Any, **options: Any) -> Any:
        before = vars(estimator).copy()
        try:
            return fit(estimator, *args, **options)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return cast(Fit, whole)


def solve(
    estimator: PenalisedEstimator,
    oracle: Oracle,
    penalty: Penalty,
    start: SparseVector,
    model_at: Callable[[SparseVector], Any],
    callback: Callback | None,
    early: EarlyStopping | None = None,
) -> Any:
    """Minimise the penalised loss as the estimator's parameters say; warn if it did not converge.

    ``model_at`` makes an estimator of weights, for callbacks that look at it, and for a development
    set that chooses among the iterates. Ctrl-C ends the run at the last accepted iterate: this
    returns as usual, with a warning.
    """
    if early is not None:
        early.begin(model_at, oracle.n_coordinates)
    if estimator.max_weight is not None:
        penalty = Bounded(penalty, estimator.max_weight)
    local = penalty.on(start.coordinates)
    with _progress(estimator, scored=early is not None) as progress:
        result = minimize(
            oracle,
            penalty=penalty,
            x0=SparseVector(start.coordinates, np.clip(start.values, local.lower, local.upper)),
            solver=_seeded(estimator.solver, estimator.random_state),
            tol=estimator.tol,
            stop=estimator.stop,
            max_iter=estimator.max_iter,
            callback=combined([progress, early, callback], model_at),
        )
        if early is not None:
            result = early.conclude(result)
        if progress is not None:
            progress.finish(result)
    warn_unless_converged(type(estimator).__name__, result, estimator.tol, above=3)
    return result


def keep_result(estimator: Any, result: Any, n_parameters: int) -> None:
    """Set the fitted attributes that all estimators share."""
    estimator.objective_ = result.fun
    estimator.gap_ = result.gap
    estimator.estimate_ = result.estimate
    estimator.gap_box_, estimator.box_ = result.gap_box, result.box
    estimator.n_iter_ = result.nit
    estimator.trace_ = result.trace
    estimator.status_ = result.status
    estimator.validation_ = result.get("validation")
    estimator.n_parameters_ = n_parameters
    result.pop("memory", None)  # as large as a hundred models, and a refit's data may be others
    estimator.result_ = result


def _seeded(solver: str | Solver, random_state: Any) -> str | Solver:
    """Put the seed into the solver's settings; without one, the settings' own (repeatable) seed."""
    if random_state is None:
        return solver
    settings: Any = SOLVERS[solver]() if isinstance(solver, str) else solver
    if not isinstance(settings, ProxQN | SGD):
        return solver
    return replace(settings, seed=int(check_random_state(random_state).randint(2**31 - 1)))


def _progress(estimator: PenalisedEstimator, *, scored: bool) -> Any:
    if not estimator.verbose:
        return nullcontext(None)
    # Here, because only who asks for progress pays for it.
    from proxqn.ui.progress import Progress

    return Progress(
        every_iteration=estimator.verbose > 1,
        tol=estimator.tol,
        stop=estimator.stop,
        score_name="score" if scored else None,
    )


def warn_unless_converged(name: str, result: Any, tol: float, *, above: int = 1) -> None:
    """Warn with what was reached and what to do; raise where the loss is not finite.

    Parameters
    ----------
    name : str
        Of the estimator.
    result : OptimizeResult
        Of ``minimize``.
    tol : float
        What was asked for.
    above : int
        Calls between the user's, which the warning names, and this one.
    """
    if result.success or result.status is Status.DEVELOPMENT:  # as was asked for
        return
    if result.status is Status.NOT_FINITE:
        raise ValueError(
            f"{name}: {result.message}. Refit with warm_start=False, or scale the features down."
        )
    advice = {
        Status.MAX_ITER: "Raise max_iter, raise tol, or continue with warm_start=True.",
        Status.INTERRUPTED: "Continue with warm_start=True.",
        Status.STALLED: _IF_STALLED,
        Status.NOISE: "Compute the loss more closely, or raise tol.",
    }.get(result.status, "")
    chosen = result.get("validation")  # by a development set, among the iterates
    said = f" {result.status.value}" if chosen is None else f": {chosen.reason}"
    warnings.warn(
        f"{name}{said}. {_distance(result, tol)} {advice}".rstrip(),
        ConvergenceWarning,
        stacklevel=above + 2,
    )


def _distance(result: Any, tol: float) -> str:
    """Say how far from the optimum the weights may be."""
    if math.isfinite(result.gap) and result.fun:
        return (
            f"After {result.nit} iterations the duality gap is {result.gap:.3g}, "
            f"{result.gap / abs(result.fun):.1e} of the objective (tol={tol:g}); "
            f"{distance(result.fun, result)}."
        )
    if math.isfinite(result.kkt):
        why = "no duality gap is known yet" if result.convex else _NOT_CONVEX
        return (
            f"After {result.nit} iterations the largest subgradient entry is {result.kkt:.3g} "
            f"({why})."
        )
    return (
        "No certificate was computed yet." if result.convex else f"No certificate: {_NOT_CONVEX}."
    )
