"""What is proved between two λs: never less than the truth, found by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.path.segment import Segment, Solved
from proxqn.problem.sparse import Floats


class Lasso:
    """``½ wᵀHw - bᵀw + c + λ(‖w‖₁ + κ/2 ‖w‖²)``, three variables, minimised to the last digits."""

    def __init__(self, seed: int, kappa: float) -> None:
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(5, 3)) * np.exp(rng.normal(size=3))
        self.H, self.b = A.T @ A + 0.01 * np.eye(3), A.T @ rng.normal(size=5) * 3.0
        self.c, self.kappa = (
            rng.uniform(0.0, 5.0) + 0.5 * self.b @ np.linalg.solve(self.H, self.b),
            kappa,
        )
        self.rng = rng

    def size(self, w: Floats) -> float:
        return float(np.abs(w).sum() + 0.5 * self.kappa * w @ w)

    def value(self, w: Floats, lam: float) -> float:
        return float(0.5 * w @ self.H @ w - self.b @ w + self.c + lam * self.size(w))

    def solve(self, lam: float, passes: int = 3000) -> Floats:
        w = np.zeros(3)
        for _ in range(passes):
            before = w.copy()
            for j in range(3):
                g = self.H[j] @ w - self.b[j] - self.H[j, j] * w[j]
                w[j] = -np.sign(g) * max(abs(g) - lam, 0.0) / (self.H[j, j] + lam * self.kappa)
            if np.array_equal(w, before):
                break
        return w

    def solved(self, lam: float, off: float) -> tuple[Floats, Solved]:
        best = self.solve(lam)
        w = best + off * self.rng.normal(size=3)
        f = self.value(w, lam)
        return w, Solved(lam, f, self.size(w), f - self.value(best, lam))


@given(
    seed=st.integers(0, 10**6),
    kappa=st.sampled_from([0.0, 0.5]),
    off=st.sampled_from([0.0, 0.01, 0.3]),
    share=st.floats(0.0, 1.0),
    factor=st.floats(0.02, 0.98),
)
def test_the_mixture_is_never_farther_off_than_is_proved(seed, kappa, off, share, factor):
    problem = Lasso(seed, kappa)
    largest = float(np.abs(problem.b).max())
    ends = (0.9 * largest, 0.9 * factor * largest)
    (w1, above), (w2, below) = (problem.solved(lam, off) for lam in ends)
    segment = Segment(above, below)
    lam = (1.0 - share) * above.lam + share * below.lam
    w = (1.0 - share) * w1 + share * w2
    value, best = problem.value(w, lam), problem.value(problem.solve(lam), lam)
    rounding = 1e-9 * (1.0 + abs(value))
    assert value <= segment.objective(lam) + rounding
    assert value - best <= segment.gap(lam) + rounding
    assert segment.gap(lam) <= segment.worst()[0] * value + rounding


def test_the_worst_is_the_largest_share_on_a_fine_grid():
    segment = Segment(Solved(10.0, 90.0, 1.0, 0.3), Solved(4.0, 70.0, 6.0, 0.1))
    ratio, lam = segment.worst()
    lams = np.linspace(4.0, 10.0, 10_001)
    shares = [segment.gap(x) / (segment.objective(x) - segment.gap(x)) for x in lams]
    assert ratio == pytest.approx(max(shares), rel=1e-6)
    assert lam == pytest.approx(lams[int(np.argmax(shares))], abs=1e-2)


def test_at_the_ends_it_is_what_is_known_there():
    segment = Segment(Solved(10.0, 90.0, 1.0, 0.3), Solved(4.0, 70.0, 6.0, 0.1))
    assert [segment.gap(10.0), segment.gap(4.0)] == pytest.approx([0.3, 0.1])
    assert [segment.objective(10.0), segment.objective(4.0)] == pytest.approx([90.0, 70.0])


def test_objectives_below_zero_are_measured_by_their_size():
    one, other = Solved(2.0, -10.0, 1.0, 0.1), Solved(1.0, -12.0, 2.0, 0.2)
    ratio, _ = Segment(one, other).worst()
    lams = np.linspace(1.0, 2.0, 1001)
    shares = [Segment(one, other).gap(x) / -Segment(one, other).objective(x) for x in lams]
    assert max(shares) <= ratio * (1.0 + 1e-12)
    assert ratio == pytest.approx(max(shares), rel=0.01)


def test_where_the_objective_may_be_zero_no_share_is_known():
    assert Segment(Solved(2.0, 1.0, 0.0, 0.1), Solved(1.0, -1.0, 2.0, 0.1)).worst()[0] == np.inf


def test_what_the_ends_are_off_cannot_be_split_away():
    good, bad = Solved(2.0, 10.0, 1.0, 0.01), Solved(1.0, 9.0, 2.0, 3.0)
    assert Segment(good, Solved(1.0, 9.0, 2.0, 0.01)).can_be_split(0.01)
    assert not Segment(good, bad).can_be_split(0.01)
