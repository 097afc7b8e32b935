"""The meter stands in for an oracle, whatever that offers."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxqn.problem.abilities import ABILITIES
from proxqn.problem.meter import Calls, metered
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.testing.case import Case
from proxqn.testing.promise import agree, broken

_DO = "Whatever is public must pass the meter unchanged: see proxqn.problem.meter."
_ASKED = {"move": 2, "forward": 3, "backward": 2, "gradient": 1, "sweep": 1, "draw": 0}


def check_meter(case: Case) -> None:
    """Check that all that is public passes the meter, abilities and answers unchanged."""
    w, d, calls = case.points[-1], case.random_weights(), Calls()
    through = metered(case.oracle, calls)
    expected = _answers(case.oracle, w, d)
    agree(
        "the meter changes no answer",
        where="the last point: its value, a line's, gradient and sweep",
        expected=expected,
        got=_answers(through, w, d),
        tolerance=0.0,
        do=_DO,
    )
    if calls.counts != _ASKED:
        raise broken(
            "the meter counts what is asked",
            where="at, sweep, along, two trials, accept, gradient",
            expected=_ASKED,
            got=calls.counts,
            do=_DO,
        )
    plain, counted = case.oracle.at(w), through.at(w)
    check_forwarding(case.oracle, through)
    check_forwarding(plain, counted)
    check_forwarding(case.oracle.at(w).along(d), through.at(w).along(d))


def _answers(oracle: Oracle, w: SparseVector, d: SparseVector) -> Floats:
    point = oracle.at(w)
    swept = point.sweep(0.0).gradient.dense(oracle.n_coordinates)
    line = point.along(d)
    trials = [line.value(1.0), line.value(0.5)]
    accepted = line.accept(0.5)
    g = accepted.gradient(np.arange(oracle.n_coordinates))
    return np.concatenate([[point.value, accepted.value], trials, swept, g])


def check_forwarding(inside: Any, counted: Any) -> None:
    """Raise unless what stands in has every public name and every ability of what is inside."""
    kind = type(inside).__name__
    for name in dir(inside):
        if name.startswith("_"):
            continue
        missing = not hasattr(type(counted), name) and not hasattr(counted, name)
        if missing or callable(getattr(counted, name)) != callable(getattr(inside, name)):
            raise broken(
                "the meter forwards every public name",
                where=f"{kind}.{name}",
                expected="the same attribute or method",
                got="nothing" if missing else "something else",
                do=_DO,
            )
    for ability in ABILITIES:
        if isinstance(inside, ability) != isinstance(counted, ability):
            raise broken(
                "what is metered has the same abilities",
                where=f"{kind}, {ability.__name__}",
                expected=isinstance(inside, ability),
                got=isinstance(counted, ability),
                do=_DO,
            )
