"""What every estimator knows of its fit beside the weights: parameters, objective, certificate."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from proxqn.io.container import ModelFileError
from proxqn.io.pieces import pack_number, unpack_count, unpack_number
from proxqn.run.status import Status
from proxqn.run.trace import Trace

_SHARED = ("lam", "l2", "tol", "max_iter")


def pack_parameters(
    model: Any, more: tuple[str, ...] = (), given: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the constructor's parameters that say what was minimised, and how far.

    Of those that models share, the ones that this one has. Not ``n_jobs``, ``verbose`` and
    ``warm_start``, which change nothing about the model, nor a settings object as ``solver``: a
    loaded model has the defaults there.
    """
    shared = tuple(name for name in _SHARED if hasattr(model, name))
    found = {name: _packed(getattr(model, name)) for name in (*shared, *more)}
    solver = getattr(model, "solver", None)
    found |= {"solver": solver} if isinstance(solver, str) else {}
    return found | {
        name: _packed(getattr(model, name)) for name in given if getattr(model, name) is not None
    }


def unpack_parameters(packed: Any, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the parameters of a file: only those that files have, and values of their kinds.

    What they mean is for the estimator to check, as in ``fit``.
    """
    if not isinstance(packed, dict):
        raise ModelFileError("the model's parameters are no object.")
    known = {*_SHARED, "solver", *more}
    for name, value in packed.items():
        if name not in known:
            raise ModelFileError(f"{name!r:.60} is no parameter of a model file.")
        values = value if isinstance(value, list) else [value]
        if not all(_is_plain(one) for one in values):
            raise ModelFileError(f"the parameter {name!r} is no text, number or list of numbers.")
    return packed


def _is_plain(value: Any) -> bool:
    if value is None or isinstance(value, str | bool):
        return True
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def _packed(value: Any) -> Any:
    """Return a parameter for JSON."""
    if value is None or isinstance(value, str | bool):
        return value
    return pack_number(value) if np.ndim(value) == 0 else np.asarray(value).tolist()


def pack_fit(model: Any) -> dict[str, Any]:
    """Return how the fit went: JSON numbers, None for an unknown bound."""
    return {
        "objective": pack_number(model.objective_),
        "gap": pack_number(model.gap_),
        "estimate": pack_number(model.estimate_),
        "gap_box": pack_number(model.gap_box_),
        "box": pack_number(model.box_),
        "kkt": pack_number(model.result_.kkt),
        "n_iter": int(model.n_iter_),
        "status": model.status_.name,
        "n_parameters": int(model.n_parameters_),
    }


def restore_fit(model: Any, packed: Any, nnz: int) -> None:
    """Set the attributes that ``fit`` sets; the trace is empty, as it is not stored."""
    try:
        status = Status[packed["status"]]
        gap = unpack_number("gap", packed["gap"])
        model.objective_ = unpack_number("objective", packed["objective"], unknown=math.nan)
        model.gap_ = gap
        model.estimate_ = unpack_number("estimate", packed.get("estimate", packed["gap"]))
        model.gap_box_ = unpack_number("gap_box", packed.get("gap_box", packed["gap"]))
        model.box_ = unpack_number("box", packed.get("box"))  # 0.1 made neither box nor estimate
        model.n_iter_ = unpack_count("n_iter", packed["n_iter"])
        model.n_parameters_ = unpack_count("n_parameters", packed["n_parameters"])
        kkt = unpack_number("kkt", packed["kkt"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ModelFileError(f"the record of the fit cannot be read ({error}).") from None
    if min(gap, model.estimate_, model.gap_box_, model.box_, kkt) < 0.0:
        raise ModelFileError("the record of the fit cannot be read (a distance below 0).")
    model.status_, model.trace_, model.validation_ = status, Trace(), None
    result: Any = OptimizeResult()
    result.update(
        fun=model.objective_,
        gap=model.gap_,
        estimate=model.estimate_,
        gap_box=model.gap_box_,
        box=model.box_,
        kkt=kkt,
        certified=math.isfinite(model.gap_),
        convex=status is not Status.STATIONARY,
        nit=model.n_iter_,
        nnz=nnz,
        status=status,
        message=status.value,
        success=status.success,
        trace=model.trace_,
    )
    model.result_ = result
