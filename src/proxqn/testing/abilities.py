"""What an oracle or a point may offer beside the seam, where it does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proxqn.problem.abilities import (
    Blocks,
    Diagonal,
    Draws,
    Precisions,
    Priced,
    Steps,
    Subsamples,
)
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector
from proxqn.testing.case import Case, derivative
from proxqn.testing.promise import agree, broken

_PARTS = 3  # of the samples
_SUBSAMPLES = 25
_DRAWN = 6  # coordinates
_DRAWS = 30
_ROWS = 500  # of a draw
_SIGMAS = 8.0  # with so few, chance exceeds this once in a hundred million times


def check_diagonal(case: Case) -> None:
    """Check that curvatures are positive numbers."""
    if not isinstance(case.oracle, Diagonal):
        return
    chosen = case.inside()
    found = np.asarray(case.oracle.curvatures(chosen))
    if found.shape != chosen.shape or not (np.isfinite(found) & (found >= 0.0)).all():
        raise broken(
            "curvatures(A) is a rough diagonal of the Hessian",
            where=f"{len(chosen)} coordinates",
            expected="one finite number from 0 for each",
            got=found,
            do="Ones say that nothing is known; so does an oracle without this method.",
        )


def check_price(case: Case) -> None:
    """Check that a pass costs something."""
    if not isinstance(case.oracle, Priced):
        return
    cost = case.oracle.pass_cost()
    if not cost > 0.0:
        raise broken(
            "pass_cost() is the multiply-adds of a forward and a backward pass",
            where="before any point",
            expected="a number above 0",
            got=repr(cost),
            do="An oracle that does not know leaves the method out.",
        )


def check_restricted(case: Case) -> None:
    """Check that parts of the samples add up to the whole, and that random ones estimate it."""
    oracle = case.oracle
    if not isinstance(oracle, Subsamples) or oracle.n_samples < 2:
        return
    for i, w in enumerate(case.points):
        point = oracle.at(w)
        whole = np.append(point.gradient(case.everywhere), point.value)
        tolerance = case.exact * case.unit(point.value, whole)
        shuffled = case.rng.permutation(oracle.n_samples)
        parts = [np.sort(part) for part in np.array_split(shuffled, _PARTS) if len(part)]
        found = [_restricted(case, part, 1.0, w) for part in parts]
        agree(
            "restrict(): the losses of a partition of the samples add up to the whole",
            where=f"point {i}, gradient and value",
            expected=whole,
            got=np.sum(found, axis=0),
            tolerance=tolerance,
            do="The restricted loss is the sum over exactly these samples, with their weights.",
        )
        agree(
            "restrict(samples, factor) multiplies each loss by the factor",
            where=f"point {i}, factor 2.5, gradient and value",
            expected=2.5 * found[0],
            got=_restricted(case, parts[0], 2.5, w),
            tolerance=tolerance,
            do="Multiply the weights of the samples.",
        )
    _check_unbiased(case, w, whole, i)


def _restricted(case: Case, samples: Ints, factor: float, w: SparseVector) -> Floats:
    """Return gradient and value of a part, of which the promises on numbers are checked."""
    assert isinstance(case.oracle, Subsamples)
    part = case.oracle.restrict(samples, factor)
    expected = len(samples), case.oracle.n_coordinates
    if (part.n_samples, part.n_coordinates) != expected:
        raise broken(
            "restrict() keeps the numbers of coordinates, and has as many samples as asked for",
            where="n_samples and n_coordinates",
            expected=expected,
            got=(part.n_samples, part.n_coordinates),
            do="Coordinates that do not occur in the part keep their numbers.",
        )
    point = part.at(w)
    return np.append(point.gradient(case.everywhere), point.value)


def _check_unbiased(case: Case, w: SparseVector, whole: Floats, i: int) -> None:
    n = case.oracle.n_samples
    size = max(1, n // 3)
    estimates = []
    for _ in range(_SUBSAMPLES):
        samples = np.sort(case.rng.choice(n, size, replace=False))
        estimates.append(_restricted(case, samples, n / size, w))
    spread = np.std(estimates, axis=0, ddof=1) / math.sqrt(_SUBSAMPLES)
    agree(
        "restrict(): random subsamples, scaled to the whole, estimate it without bias",
        where=f"point {i}, mean of {_SUBSAMPLES} gradients and values",
        expected=whole,
        got=np.mean(estimates, axis=0),
        tolerance=_SIGMAS * spread + 1e-9 * float(np.abs(whole).max()),
        do="Each sample must count as often as it is asked for, with the factor given.",
    )


def check_rounded(case: Case) -> None:
    """Check that the loss in single precision is the same to a few digits."""
    if not isinstance(case.oracle, Precisions):
        return
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        value, g = point.value, point.gradient(case.everywhere)
        single = case.oracle.rounded()
        if single is None:
            return
        near = single.at(w)
        agree(
            "rounded() is the same loss in single precision",
            where=f"point {i}, value",
            expected=value,
            got=near.value,
            tolerance=1e-4 * max(1.0, abs(value)),
            do="It may differ by rounding to about six digits.",
        )
        agree(
            "rounded() is the same loss in single precision",
            where=f"point {i}, gradient",
            expected=g,
            got=near.gradient(case.everywhere),
            tolerance=1e-3 * case.unit(value, g),
            do="It may differ by rounding to about six digits.",
        )


def check_draws(case: Case) -> None:
    """Check that ``E[JᵀJ]`` is the Hessian, and J that of its point and seed, after trials too."""
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        g = point.gradient(case.everywhere)
        inside = case.inside()
        moving = inside[g[inside] != 0.0]
        count = min(_DRAWN, len(moving))
        chosen = np.sort(case.rng.choice(moving, count, replace=False))
        point = case.oracle.at(w)
        if not isinstance(point, Draws) or point.draw(chosen, _ROWS, 0) is None:
            return
        _check_expectation(case, point, w, chosen, i)
        _check_same_seed(case, w, chosen, i)


def _check_expectation(case: Case, point: Draws, w: SparseVector, at: Ints, i: int) -> None:
    drawn = []
    for seed in range(_DRAWS):
        columns = point.draw(at, _ROWS, seed)
        assert columns is not None
        j = _dense(columns)
        drawn.append(j.T @ j)
    hessian, error = _hessian(case, w, at)
    spread = _at_least(np.std(drawn, axis=0, ddof=1) / math.sqrt(_DRAWS), hessian)
    agree(
        "draw(): E[JᵀJ] is the Hessian",
        where=f"point {i}, coordinates {at.tolist()}, mean of {_DRAWS} draws",
        expected=hessian,
        got=np.mean(drawn, axis=0),
        tolerance=_SIGMAS * spread + error + 1e-4 * float(np.abs(hessian).max()),
        do="Expected are finite differences of the gradient. Rows are scaled by what each counts "
        "for: the weight of its sample, the share drawn, and a half for a pair of draws.",
    )


def _at_least(spread: Floats, hessian: Floats) -> Floats:
    """Return the errors of means, also of entries whose events are so rare that none was drawn.

    A diagonal entry is a sum of events; its variance is its mean times the size of one, taken to be
    at most that of the noisiest. Others follow by the inequality of Cauchy and Schwarz.
    """
    mean, variance = np.abs(np.diag(hessian)), np.diag(spread) ** 2
    size = np.divide(variance, mean, out=np.zeros_like(mean), where=mean > 0.0).max(initial=0.0)
    diagonal = np.sqrt(np.maximum(variance, size * mean))
    return np.maximum(spread, np.sqrt(np.outer(diagonal, diagonal)))


def _hessian(case: Case, w: SparseVector, at: Ints) -> tuple[Floats, Floats]:
    def gradient(direction: SparseVector, t: float) -> Floats:
        return case.oracle.at(w.plus(direction, t)).gradient(at)

    step = case.rounding**0.2
    rows = []
    for j in at:
        e = SparseVector(np.array([j]), np.ones(1))
        rows.append(derivative(lambda t, e=e: gradient(e, t), step))  # type: ignore[misc]
    return np.array([row for row, _ in rows]), np.array([error for _, error in rows])


def _check_same_seed(case: Case, w: SparseVector, at: Ints, i: int) -> None:
    direction = case.random_weights()  # may go to another point
    point: Any = case.oracle.at(w)
    first = _dense(point.draw(at, _ROWS, 1))
    point.along(direction).value(1.0)
    for where, again in (
        ("after a trial", _dense(point.draw(at, _ROWS, 1))),
        ("at the same point once more", _dense(_drawing(case, w).draw(at, _ROWS, 1))),
    ):
        agree(
            "draw() depends on its point and its seed alone",
            where=f"point {i}, {where}",
            expected=first,
            got=again,
            tolerance=1e-4 * max(1.0, float(np.abs(first).max(initial=0.0))),
            do="A trial overwrites the scores: draw() brings those of its point back.",
        )


def _drawing(case: Case, w: SparseVector) -> Any:
    return case.oracle.at(w)


def _dense(columns: SparseColumns) -> Floats:
    n = len(columns.start) - 1
    found = np.zeros((columns.n_rows, n))
    column = np.repeat(np.arange(n), np.diff(columns.start))
    np.add.at(found, (columns.row[: len(column)], column), columns.value[: len(column)])
    return found


def check_steps(case: Case) -> None:
    """Check that steppers over samples and blocks begin at the weights that they are given."""
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        if isinstance(case.oracle, Steps):
            samples = case.oracle.samples()
            samples.restart(w)
            held = samples.weights()
            loss = samples.loss(np.arange(case.oracle.n_samples))
            _check_stepper(case, "samples()", point, w, held, loss, i)
        if isinstance(case.oracle, Blocks):
            blocks = case.oracle.blocks()
            blocks.restart(w)
            _check_stepper(case, "blocks()", point, w, blocks.weights(), blocks.loss(), i)


def _check_stepper(
    case: Case, name: str, point: Point, w: SparseVector, held: SparseVector, loss: float, i: int
) -> None:
    n = case.oracle.n_coordinates
    agree(
        f"{name} holds the weights it was given",
        where=f"point {i}, after restart(w)",
        expected=w.dense(n),
        got=held.dense(n),
        tolerance=0.0,
        do="weights() returns those that are not zero, ascending.",
    )
    agree(
        f"{name} has the loss of the oracle",
        where=f"point {i}, all samples",
        expected=point.value,
        got=loss,
        tolerance=case.exact * max(1.0, abs(point.value)),
        do="loss() is the sum of the samples' losses, with their weights.",
    )


def made_with(jobs: Any, oracle: Oracle) -> tuple[Oracle, Oracle]:
    """Return the oracles of one thread and of three, which must be alike."""
    one, many = jobs(1), jobs(3)
    if one.n_coordinates != oracle.n_coordinates:
        raise ValueError(
            f"with_jobs must make the oracle that is checked, with {oracle.n_coordinates} "
            f"coordinates; it made one with {one.n_coordinates}."
        )
    return one, many
