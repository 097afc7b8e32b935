"""Where the next λ is placed."""

from __future__ import annotations

import pytest

from proxqn.path.placement import next_lam
from proxqn.path.segment import Segment, Solved


def power_path(lam: float, p: float = 0.8) -> Solved:
    """Return the point of a path with R = λ^-p, of which f* is the integral."""
    return Solved(lam, 50.0 + lam ** (1.0 - p) / (1.0 - p), lam**-p, 0.0)


@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("p", [0.2, 0.8])
def test_steps_are_as_long_as_the_bound_allows(eps, p):
    before, now = power_path(1.1, p), power_path(1.0, p)
    lam = next_lam([before, now], eps, 1e-9)
    ratio, _ = Segment(now, power_path(lam, p)).worst()
    assert ratio <= eps
    if lam > 0.11:  # no step is longer than to a tenth
        assert ratio >= 0.4 * eps


def test_the_first_step_is_a_guess():
    assert next_lam([Solved(8.0, 1.0, 0.0, 0.0)], 1e-2, 0.1) == 6.4
    assert next_lam([Solved(9.0, 1.0, 0.0, 0.0), Solved(8.0, 1.0, 1.0, 0.0)], 1e-2, 0.1) == 6.4


def test_it_ends_at_the_smallest():
    before, now = power_path(1.1), power_path(1.0)
    far = next_lam([before, now], 1e-2, 1e-9)
    for least in (far, 0.99 * far, 0.999):
        assert next_lam([before, now], 1e-2, least) == least


def test_a_lambda_whose_own_error_is_too_large_is_left_by_a_short_step():
    before, now = power_path(1.1), Solved(1.0, 55.0, 1.0, 10.0)
    assert next_lam([before, now], 1e-2, 1e-9) == pytest.approx(0.995)
