"""All checks of an oracle, cheap ones first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.testing.abilities import (
    check_diagonal,
    check_draws,
    check_price,
    check_restricted,
    check_rounded,
    check_steps,
    made_with,
)
from proxqn.testing.case import Case
from proxqn.testing.derivatives import (
    check_gradient,
    check_parts_of_the_gradient,
    check_shape,
    check_sweep,
    check_threads,
)
from proxqn.testing.lines import check_lines, check_other_lines, check_spent_points
from proxqn.testing.metering import check_meter
from proxqn.testing.proofs import check_conjugate, check_convexity
from proxqn.testing.stochastic import check_stochastic

_OF_ALL = (check_shape, check_gradient, check_parts_of_the_gradient, check_sweep)
_OF_LINES = (check_lines, check_other_lines, check_spent_points)
_OF_PROOFS = (check_convexity, check_conjugate)
_OF_ABILITIES = (
    check_diagonal,
    check_price,
    check_steps,
    check_stochastic,
    check_rounded,
    check_restricted,
    check_draws,
    check_meter,
)


def check_oracle(
    oracle: Oracle,
    *,
    points: Sequence[SparseVector] | None = None,
    seed: int = 0,
    scale: float = 0.5,
    rounding: float = 1e-15,
    with_jobs: Callable[[int], Oracle] | None = None,
) -> None:
    """Check that an oracle keeps every promise of the seam (``proxqn.problem.oracle``).

    Give it a small problem, of tens of samples and at most some hundred coordinates: it goes to
    thousands of points, and holds whole gradients.

    Parameters
    ----------
    oracle : Oracle
        With all that it offers beside the seam (``proxqn.problem.abilities``).
    points : sequence of SparseVector, optional
        Where to look; by default zero and two random points.
    seed : int
        Of all that is random.
    scale : float
        Standard deviation of random weights.
    rounding : float
        Relative error of a value: 1e-7 where the oracle works in single precision.
    with_jobs : callable, optional
        ``with_jobs(n)`` makes the same oracle with n threads; then bits are compared.

    Raises
    ------
    AssertionError
        Says which promise is broken, where, what was expected, what came, and what to do.

    Examples
    --------
    A loss of one's own, with a mistake in its gradient:

    >>> import numpy as np
    >>> from proxqn.losses.function import FunctionOracle
    >>> right = FunctionOracle(lambda w: (float(w @ w) / 2, w), 2, lower_bound=0.0)
    >>> check_oracle(right)
    >>> check_oracle(FunctionOracle(lambda w: (float(w @ w), w), 2))
    Traceback (most recent call last):
        ...
    AssertionError: gradient() is the derivative of value (point 1, along coordinate 1): ...
    """
    case = Case.of(oracle, points, seed, rounding, scale)
    for check in _OF_ALL + _OF_LINES:
        check(case)
    if with_jobs is not None:
        check_threads(case, *made_with(with_jobs, oracle))
    for check in _OF_PROOFS + _OF_ABILITIES:
        check(case)
