"""When an epoch ends, and how many variables the first ones take in."""

from __future__ import annotations

import numpy as np
import pytest
from tests.points import Logistic, plain

from proxqn import ProxQN, minimize
from proxqn.problem.oracle import Oracle
from proxqn.solvers.prox_qn.epochs import Epochs, most_at_first
from proxqn.solvers.working_set import WorkingSet

# --- when an epoch ends ----------------------------------------------------------------------


def test_it_ends_at_a_fraction_of_the_violation_it_began_with():
    here = Epochs(0.1)
    here.begin(10.0, 3, drawing=False)
    assert not here.over(1.01, 5)
    assert here.over(1.0, 4)
    assert here.reached(0.99)


def test_tolerances_only_fall():
    """A violation that a look finds larger than before does not make an epoch shorter."""
    here = Epochs(0.1)
    here.begin(10.0, 0, drawing=False)  # to 1
    here.begin(50.0, 9, drawing=False)  # to a tenth of that, not to 5
    assert not here.reached(0.11)
    assert here.reached(0.1)


def test_with_drawn_curvature_it_lasts_a_few_steps():
    here = Epochs(0.1)
    here.begin(10.0, 20, drawing=True)
    assert not here.over(5.0, 21)
    last = next(i for i in range(21, 60) if here.over(5.0, i))
    assert 22 <= last <= 35


def test_short_epochs_do_not_tighten_what_comes_after_the_draws():
    here = Epochs(0.1)
    for i in range(5):
        here.begin(10.0, 8 * i, drawing=True)
    here.begin(10.0, 40, drawing=False)
    assert here.reached(1.0)
    assert not here.over(1.01, 49)  # no last iteration so soon either


@pytest.mark.parametrize("begun", [0, 100, 700, 20_000])
def test_a_look_always_comes(begun):
    """However little the violation falls, and never much later than a tenth of all so far."""
    here = Epochs(0.1)
    here.begin(10.0, begun, drawing=False)
    last = next(i for i in range(begun + 1, 2 * begun + 100) if here.over(5.0, i))
    assert begun + 10 <= last <= begun + max(20, 0.1 * begun)


def test_an_epoch_that_did_not_get_to_its_tolerance_does_not_tighten_the_next():
    here = Epochs(0.1)
    here.begin(10.0, 0, drawing=False)
    assert here.over(5.0, 1000)
    here.begin(8.0, 1000, drawing=False)
    assert here.reached(0.8)


def test_it_may_be_told_to_end():
    here = Epochs(0.1)
    here.begin(10.0, 0, drawing=False)
    here.end_after(7)
    assert not here.over(5.0, 6)
    assert here.over(5.0, 7)


def test_before_the_first_nothing_is_asked_of_the_violation():
    assert Epochs(0.1).reached(1e300)


# --- how many variables take part at first ---------------------------------------------------


class Sized(Oracle):
    def __init__(self, n_coordinates: int, n_samples: int) -> None:
        self.sizes = n_coordinates, n_samples

    @property
    def n_coordinates(self) -> int:
        return self.sizes[0]

    @property
    def n_samples(self) -> int:
        return self.sizes[1]

    def at(self, w):
        raise AssertionError("nothing is to be evaluated")


def violating(n: int, n_weights: int = 0) -> WorkingSet:
    rng = np.random.default_rng(0)
    w = np.where(np.arange(n) < n_weights, 1.0, 0.0)
    return WorkingSet(np.arange(n), w, rng.normal(size=n), plain(0.1))


@pytest.mark.parametrize(
    ("n_samples", "n_weights", "share", "expected"),
    [
        (500, 0, 1.0, 8 * 500),  # a sample tells of eight variables
        (10**6, 0, 0.05, 5000),  # never more than the share of all
        (1, 0, 0.05, 1000),  # and always a thousand
        (1, 1200, 0.05, 2400),  # twice as many as have a weight
    ],
)
def test_few_samples_do_not_tell_of_many_variables(n_samples, n_weights, share, expected):
    at = violating(20_000, n_weights)
    chosen = most_at_first(at, Sized(100_000, n_samples), share)
    assert expected <= len(chosen) <= expected + n_weights
    left_out = np.setdiff1d(at.coordinates, chosen.coordinates)
    at_rest = np.abs(at.g)[at.w == 0.0]
    assert np.abs(at.g[left_out]).max() <= np.sort(at_rest)[-(expected - n_weights)]
    assert np.isin(np.flatnonzero(at.w), chosen.coordinates).all()


def test_a_small_working_set_is_taken_whole():
    at = violating(900)
    assert len(most_at_first(at, Sized(10**6, 1), 0.05)) == 900


def test_large_weights_under_a_ridge_keep_no_others_out():
    """Where they are at rest their loss's derivative is ``-ρ w``, and as large as they are."""
    w = np.array([50.0, -80.0, 90.0, 0.0, 0.0, 0.0])
    g = np.array([-5.0, 8.0, -9.0, 1.0, 3.0, 2.0])
    at = WorkingSet(np.arange(6), w, g, plain(0.1, l2=0.1))
    np.testing.assert_array_equal(at.most_violating(2), [0, 1, 2, 4, 5])


def test_a_start_from_zero_takes_in_few_and_all_it_needs_in_the_end():
    loss = Logistic(3, n=200, d=2000)
    runs = [
        minimize(loss.oracle(), 0.5, solver=ProxQN(first_share=share), tol=1e-8, max_iter=3000)
        for share in (0.05, 1.0)
    ]
    few, many = runs
    assert few.success
    assert few.trace[0].working_set > 1500  # what a look finds, before it is cut
    assert few.trace[1].nnz <= 1000 < many.trace[1].nnz
    assert few.fun == pytest.approx(many.fun, rel=1e-7)
