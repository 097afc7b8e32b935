"""Values, derivatives and sweeps of points."""

from __future__ import annotations

import math

import numpy as np

from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.testing.case import Case, derivative
from proxqn.testing.promise import agree, broken

_DIRECTIONS = 3
_COORDINATES = 8


def check_shape(case: Case) -> None:
    """Check that an oracle says how large it is, and has a finite value at zero."""
    oracle = case.oracle
    for name in ("n_coordinates", "n_parameters", "n_samples"):
        n = getattr(oracle, name)
        if not isinstance(n, int | np.integer) or n < 1:
            raise broken(
                f"oracle.{name} is a number of things",
                where="before any point",
                expected="an integer from 1",
                got=repr(n),
                do=f"Return an int from the property {name}.",
            )
    point = oracle.at(SparseVector.empty())
    if not isinstance(point, Point):
        raise broken(
            "at(w) returns a Point",
            where="at w = 0",
            expected="a Point",
            got=f"a {type(point).__name__}",
            do="From a value and a gradient, return DensePoint(self, w, value, gradient).",
        )
    value = point.value
    if not isinstance(value, float) or not math.isfinite(value):
        raise broken(
            "point.value is a finite number",
            where="at w = 0",
            expected="a finite float",
            got=repr(value),
            do="Solvers start at zero: the loss must be defined there. float() makes it one.",
        )


def check_gradient(case: Case) -> None:
    """Check the gradient by values, along coordinates and random directions."""
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        g = np.array(point.gradient(case.everywhere))
        agree(
            "gradient(A) has one derivative for each coordinate",
            where=f"point {i}",
            expected=np.zeros(len(case.everywhere)),
            got=0.0 * g,
            tolerance=0.0,
            do="Return a finite array as long as A.",
        )
        unit = case.unit(point.value, g)
        for name, d in _directions(case, g):
            inner = float(g[d.coordinates] @ d.values)
            slope, error, noise = _slope(case, w, d)
            agree(
                "gradient() is the derivative of value",
                where=f"point {i}, along {name}",
                expected=slope,
                got=inner,
                tolerance=1e-5 * unit + error + noise,
                do="Expected are finite differences of oracle.at(w + t d).value: check the formula "
                "of the gradient, its sign and factors, and that value and gradient are of the "
                "same w.",
            )


def _directions(case: Case, g: Floats) -> list[tuple[str, SparseVector]]:
    count = min(_COORDINATES, len(g))
    chosen = np.sort(case.rng.choice(len(g), count, replace=False))
    found = [(f"coordinate {j}", SparseVector(np.array([j]), np.ones(1))) for j in chosen]
    for _ in range(_DIRECTIONS):
        d = case.rng.normal(size=len(g)) / math.sqrt(len(g))
        found.append(("a random direction", SparseVector.of_dense(d)))
    return found


def _slope(case: Case, w: SparseVector, d: SparseVector) -> tuple[float, float, float]:
    """Return the derivative along d, and its errors by truncation and by rounding."""
    step = case.rounding**0.2
    values = []

    def value(t: float) -> float:
        values.append(case.oracle.at(w.plus(d, t)).value)
        return values[-1]

    slope, error = derivative(value, step)
    return slope, error, 10.0 * case.rounding * float(np.abs(values).max()) / step


def check_parts_of_the_gradient(case: Case) -> None:
    """Check that gradient(A) is part of the whole, and that ``at`` forgets where it was."""
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        g = point.gradient(case.everywhere)
        tolerance = case.exact * case.unit(point.value, g)
        for chosen in (_some(case, 0.3), case.everywhere[:0], w.coordinates):
            agree(
                "gradient(A) is the gradient on the coordinates A",
                where=f"point {i}, {len(chosen)} coordinates",
                expected=g[chosen],
                got=point.gradient(chosen),
                tolerance=tolerance,
                do="Return the entries in the order of A, and none for an empty A.",
            )
        value, swept = point.value, point.sweep(0.0).gradient.values
        kept = g.copy(), swept.copy()
        elsewhere = case.oracle.at(case.random_weights())
        elsewhere.gradient(case.everywhere)
        elsewhere.sweep(0.0)
        for name, before, after in zip(("gradient", "sweep"), kept, (g, swept), strict=True):
            agree(
                "gradient() and sweep() return arrays of their own",
                where=f"point {i}, {name}(), asked elsewhere",
                expected=before,
                got=after,
                tolerance=0.0,
                do="Solvers keep them while they go on: return a copy of what is written again.",
            )
        again = case.oracle.at(w)
        agree(
            "at(w) depends on w alone",
            where=f"point {i}, once more after another",
            expected=np.append(g, value),
            got=np.append(again.gradient(case.everywhere), again.value),
            tolerance=tolerance + case.exact * abs(value),
            do="Something of the point before is left in memory: at() must start anew.",
        )


def _some(case: Case, share: float) -> Ints:
    return np.flatnonzero(case.rng.random(case.oracle.n_coordinates) < share)


def check_sweep(case: Case) -> None:
    """Check that a sweep names all above its level, those that are kept, and no others."""
    unnamed: set[int] = set()
    named: set[int] = set()
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        g = point.gradient(case.everywhere)
        sizes = np.sort(np.abs(g))
        for level in (0.0, float(sizes[len(g) // 2]), 2.0 * float(sizes[-1]), math.inf):
            for keep in (case.everywhere[:0], _some(case, 0.1), w.coordinates):
                where = f"point {i}, level {level:g}, {len(keep)} kept"
                found = _swept(case, point, g, level, keep, where)
                tolerance = case.exact * case.unit(point.value, g)
                above = np.flatnonzero(np.abs(g) > level + tolerance)
                unnamed.update(np.setdiff1d(above, found).tolist())
                named.update(np.setdiff1d(found, keep).tolist())
                if len(unnamed) > case.n_outside or unnamed & named:
                    missing = sorted(unnamed & named or unnamed)[0]
                    raise broken(
                        "sweep(level) names every derivative above the level",
                        where=where,
                        expected=f"coordinate {missing} with derivative {g[missing]:g}",
                        got="a sweep without it",
                        do="Only coordinates without a weight in the model may be left out, as "
                        "many as n_coordinates exceeds n_parameters, and then always.",
                    )
        _check_largest(case, point, g, unnamed, i)


def _swept(case: Case, point: Point, g: Floats, level: float, keep: Ints, where: str) -> Ints:
    """Check all that a sweep did return; return its coordinates."""
    found = point.sweep(level, keep).gradient
    at, tolerance = found.coordinates, case.exact * case.unit(point.value, g)
    if (np.diff(at) <= 0).any():
        raise broken(
            "the coordinates of a sweep ascend",
            where=where,
            expected="each once, ascending",
            got=at.tolist(),
            do="Sort them; SparseVector.including() merges those that are kept.",
        )
    agree(
        "sweep() has the derivatives that gradient() has",
        where=where,
        expected=g[at],
        got=found.values,
        tolerance=tolerance,
        do="Both must be of the same point.",
    )
    needless = at[(np.abs(g[at]) <= level - tolerance) & ~np.isin(at, keep)]
    lacking = keep[~np.isin(keep, at)]
    for wrong, what in ((needless, "left out"), (lacking, "named, as it is kept")):
        if len(wrong):
            raise broken(
                "sweep(level, keep) names what exceeds the level and what is kept",
                where=where,
                expected=f"coordinate {wrong[0]} with derivative {g[wrong[0]]:g} {what}",
                got="the contrary",
                do="Compare |g_j| > level, and add the coordinates of keep whatever their size.",
            )
    return at


def _check_largest(case: Case, point: Point, g: Floats, unnamed: set[int], i: int) -> None:
    inside = np.setdiff1d(case.everywhere, np.array(sorted(unnamed), dtype=np.int64))
    for level in (0.0, math.inf):
        agree(
            "sweep(level).largest is the largest absolute derivative of all",
            where=f"point {i}, level {level:g}",
            expected=np.abs(g[inside]).max(initial=0.0),
            got=point.sweep(level).largest,
            tolerance=case.exact * case.unit(point.value, g),
            do="It counts those below the level, too: certificates scale by it.",
        )


def check_threads(case: Case, one: Oracle, many: Oracle) -> None:
    """Check that bits are the same for any number of threads."""
    for i, w in enumerate(case.points):
        d = case.random_weights()
        for what, first, second in zip(
            ("value", "gradient", "sweep", "values of a line"),
            _bits(one, w, d),
            _bits(many, w, d),
            strict=True,
        ):
            agree(
                "results do not depend on the number of threads, bit for bit",
                where=f"point {i}, {what}, {one.n_jobs} and {many.n_jobs} threads",
                expected=first,
                got=second,
                tolerance=0.0,
                do="Sum in an order that the data fix, such as chunks of a fixed size.",
            )


def _bits(oracle: Oracle, w: SparseVector, d: SparseVector) -> list[Floats]:
    point = oracle.at(w)
    found = [np.array(point.value), point.gradient(np.arange(oracle.n_coordinates))]
    found.append(point.sweep(0.0).gradient.values)
    line = point.along(d)
    found.append(np.array([line.value(0.5), line.value(1.0), line.accept(1.0).value]))
    return found
