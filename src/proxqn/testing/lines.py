"""Lines lead to points, and points that are spent say so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from proxqn.problem.oracle import Point, SpentPointError
from proxqn.problem.sparse import SparseVector
from proxqn.testing.case import Case
from proxqn.testing.promise import agree, broken

_SPENT = object()
_DO_SPEND = (
    "Points whose oracle holds one at a time ask a Lease before they answer "
    "(proxqn.problem.oracle.Lease)."
)


def check_lines(case: Case) -> None:
    """Check that a line's values are those of points, and that it accepts such a point."""
    for i, w in enumerate(case.points):
        d, last = case.random_weights(), 0.25
        given = np.concatenate([w.values, d.values])
        line = case.oracle.at(w).along(d)
        values = {alpha: line.value(alpha) for alpha in (1.0, 0.5, last)}
        accepted = line.accept(last)
        g, value = accepted.gradient(case.everywhere), accepted.value
        agree(
            "at(w) and along(d) leave their arguments alone",
            where=f"point {i}, values of w and d after accept()",
            expected=given,
            got=np.concatenate([w.values, d.values]),
            tolerance=0.0,
            do="Copy what you change: the caller's arrays may be an iterate of its own.",
        )
        for alpha, found in values.items():
            there = case.oracle.at(w.plus(d, alpha))
            if found == math.inf:
                continue  # out of range; at() may be more exact than a trial
            agree(
                "line.value(α) is the value of at(w + αd)",
                where=f"point {i}, α = {alpha:g}",
                expected=there.value,
                got=found,
                tolerance=case.exact * max(1.0, abs(there.value)),
                do="Move by α from the point where the line began, not from the last trial.",
            )
        expected = there.gradient(case.everywhere)
        agree(
            "line.accept(α) is the point at(w + αd)",
            where=f"point {i}, α = {last:g}, value and gradient",
            expected=np.append(there.value, expected),
            got=np.append(value, g),
            tolerance=case.exact * max(1.0, abs(value), case.unit(value, expected)),
            do="It must be the point of the last trial.",
        )


def check_other_lines(case: Case) -> None:
    """Check that other lines may begin at a point, whatever was tried."""
    for i, w in enumerate(case.points):
        one, other = case.random_weights(), case.random_weights()
        point = case.oracle.at(w)
        point.along(one).value(1.0)
        try:
            found = point.along(other).value(1.0)
        except SpentPointError as error:
            raise broken(
                "after a trial another line may begin at the point",
                where=f"point {i}",
                expected="a line",
                got="SpentPointError",
                do="A trial overwrites derivatives at most; along() asks Lease.check_place().",
            ) from error
        expected = case.oracle.at(w.plus(other)).value
        agree(
            "after a trial another line begins at the point, not at the trial",
            where=f"point {i}",
            expected=expected,
            got=expected if found == math.inf else found,
            tolerance=case.exact * max(1.0, abs(expected)),
            do="along() must start from the weights of its point.",
        )


def check_spent_points(case: Case) -> None:
    """Check that a point is right or refuses, and that it always refuses after accept()."""
    for i, w in enumerate(case.points):
        d, elsewhere = case.random_weights(), case.random_weights()
        for spend in ("a trial", "line.accept()", "oracle.at() elsewhere"):
            point = case.oracle.at(w)
            before = _answers(case, point)
            if spend == "oracle.at() elsewhere":
                case.oracle.at(elsewhere)
            else:
                line = point.along(d)
                line.value(1.0)
                if spend == "line.accept()":
                    line.accept(1.0)
            _check_answers(case, point, before, f"point {i}, after {spend}")
            if spend == "line.accept()":
                _check_raises(case, point, d, f"point {i}, after {spend}")
        _check_old_line(case, w, d, elsewhere, i)


def _questions(case: Case, point: Point) -> dict[str, Callable[[], Any]]:
    return {
        "gradient(A)": lambda: point.gradient(case.everywhere),
        "sweep(0.0)": lambda: point.sweep(0.0).gradient.dense(case.oracle.n_coordinates),
        "conjugate(0.5)": lambda: point.conjugate(0.5),
    }


def _asked(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except SpentPointError:
        return _SPENT


def _answers(case: Case, point: Point) -> dict[str, Any]:
    found = {name: _asked(ask) for name, ask in _questions(case, point).items()}
    return {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in found.items()}


def _check_answers(case: Case, point: Point, before: dict[str, Any], where: str) -> None:
    for name, answer in _answers(case, point).items():
        if answer is _SPENT or answer is None:
            continue
        unit = max(1.0, abs(point.value), float(np.abs(before[name]).max(initial=0.0)))
        agree(
            "a point answers as before, or says that it is spent",
            where=f"{where}, {name}",
            expected=before[name],
            got=answer,
            tolerance=case.exact * unit,
            do=_DO_SPEND,
        )


def _check_raises(case: Case, point: Point, d: SparseVector, where: str) -> None:
    asks = _questions(case, point)
    asks["along(d)"] = lambda: point.along(d)
    for name, ask in asks.items():
        answer = _asked(ask)
        if answer is not _SPENT and answer is not None:
            raise broken(
                "a point is spent once a trial from it is accepted",
                where=f"{where}, {name}",
                expected="SpentPointError",
                got="an answer",
                do=_DO_SPEND,
            )


def _check_old_line(
    case: Case, w: SparseVector, d: SparseVector, elsewhere: SparseVector, i: int
) -> None:
    """Check that a line of before is right or refuses, and spoils no answer of the new point."""
    line = case.oracle.at(w).along(d)
    now = case.oracle.at(elsewhere)
    before = _answers(case, now)
    found = _asked(lambda: line.value(1.0))
    _check_answers(case, now, before, f"point {i}, after a trial of a line from another point")
    if found is _SPENT or found == math.inf:
        return
    expected = case.oracle.at(w.plus(d)).value
    agree(
        "a line from a point of before is right, or says that the point is spent",
        where=f"point {i}, after oracle.at() elsewhere",
        expected=expected,
        got=found,
        tolerance=case.exact * max(1.0, abs(expected)),
        do=_DO_SPEND,
    )
