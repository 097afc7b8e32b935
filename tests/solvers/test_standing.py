"""How a run stands: its iterate, what is proved of it, and whether that is enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.points import Logistic, full_gradient, kkt_residual, objective, random_weights

from proxqn import minimize
from proxqn.losses.function import FunctionOracle
from proxqn.penalties import ElasticNet
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.run.status import Status
from proxqn.solvers.certificate import bound, box
from proxqn.solvers.standing import Goal, Iterate, Standing
from proxqn.solvers.working_set import gather

LOSS, PENALTY = Logistic(0), ElasticNet(4.0)
ZERO = SparseVector.empty()


def standing(oracle: Oracle | None = None, *, tol=1e-4, max_iter=9, callback=None) -> Standing:
    return Standing(oracle or LOSS.oracle(), PENALTY, Goal(tol, max_iter, callback))


def weights_of(seed: int) -> SparseVector:
    return random_weights(LOSS.d, seed, scale=0.1, share=0.3)


def optimum():
    return minimize(LOSS.oracle(), PENALTY.lam, tol=1e-12)


# --- beginning and going on ------------------------------------------------------------------


def test_the_start_is_evaluated_and_recorded():
    here, w = standing(), weights_of(0)
    point = here.begin(w)
    assert here.iterate.objective == objective(LOSS.oracle(), w, PENALTY)
    assert here.iterate.loss == point.value
    row = here.record.trace[-1]
    assert (row.iteration, row.objective, row.nnz) == (0, here.iterate.objective, len(w.values))
    assert (row.gap, row.certified) == (math.inf, False)
    assert row.calls["forward"] == row.calls["backward"] == 1.0


def test_zeros_given_as_weights_are_none():
    here = standing()
    here.begin(SparseVector(np.array([1, 3]), np.array([0.0, 0.5])))
    assert here.iterate.weights.coordinates.tolist() == [3]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_start_out_of_range_is_no_point(bad):
    here = standing(FunctionOracle(lambda w: (bad, w), 3))
    assert here.begin(ZERO) is None
    assert len(here.record.trace) == 0


def test_an_accepted_iterate_is_the_next_row():
    here = standing()
    here.begin(ZERO)
    w = weights_of(1)
    here.advance(Iterate(w, 1.0, 2.5), step=0.5, trials=2)
    row = here.record.trace[-1]
    assert (row.iteration, row.objective, row.nnz) == (1, 2.5, len(w.values))
    assert (row.step, row.trials) == (0.5, 2)


# --- proving ---------------------------------------------------------------------------------


def test_a_look_certifies_with_all_variables():
    here, w = standing(), weights_of(2)
    point = here.begin(w)
    at, status = here.look(point, w)
    assert status is None
    row = here.record.trace[-1]
    assert row.certified
    assert row.kkt == pytest.approx(kkt_residual(LOSS.oracle(), w, PENALTY))
    assert row.working_set == len(at)
    assert row.gap == here.gap == here.iterate.objective - here.certificate.bound
    assert here.certificate.bound <= optimum().fun
    assert row.calls["sweep"] == 1.0


def test_a_margin_takes_in_what_is_not_yet_violated():
    here = standing()
    point = here.begin(ZERO)
    g = np.abs(full_gradient(LOSS.oracle(), LOSS.oracle().at(ZERO)))
    for margin in (0.0, 3.0, np.inf):
        at, _ = here.look(point, ZERO, margin)
        assert len(at) == (g > 4.0 - margin).sum()


def test_the_best_bound_is_kept():
    best = optimum()
    here = standing(tol=1e-12)
    here.begin(best.weights)
    here.admit_bound(best.fun * (1 - 1e-6))
    good = here.certificate.bound
    w = weights_of(3)
    point = here.begin(w)
    here.look(point, w)
    assert here.certificate.bound == good  # the one found here is worse
    assert here.certificate.kkt == pytest.approx(kkt_residual(LOSS.oracle(), w, PENALTY))
    assert here.admit_bound(good - 1.0) is None
    assert here.certificate.bound == good


def test_a_bound_found_elsewhere_may_end_the_run():
    best = optimum()
    here = standing(tol=1e-6)
    here.begin(best.weights)
    assert here.admit_bound(best.fun * (1 - 1e-5)) is None
    assert here.record.trace[-1].gap == pytest.approx(1e-5 * best.fun, rel=1e-3)
    assert here.admit_bound(best.fun * (1 - 1e-7)) is Status.GAP
    assert here.certificate.bound >= here.enough


def test_with_a_ridge_the_best_scale_counts():
    """Where it lies between the two that are tried first."""
    penalty, w = ElasticNet(4.0, 1.0), weights_of(2)
    here = Standing(LOSS.oracle(), penalty, Goal(1e-4, 9))
    point = here.begin(w)
    at, _ = here.look(point, w)
    ends = bound.certify(point, at, convex=True).bound
    assert here.certificate.bound == box.best_bound(point, at) > ends


def test_an_estimate_just_as_small_as_asked_ends_the_run():
    here = Standing(LOSS.oracle(), PENALTY, Goal(0.25, 9, stop="estimate"))
    here.begin(ZERO)
    here.advance(Iterate(ZERO, 8.0, 8.0))
    assert here.estimate == math.inf  # nobody told it
    assert here.admit_estimate(2.0 + 1e-9) is None
    assert here.admit_estimate(2.0) is Status.ESTIMATE  # all numbers are exact
    here.advance(Iterate(ZERO, 8.0, 8.0))
    assert here.estimate == math.inf  # it was told of the iterate before


def test_what_is_assumed_is_told_of_the_last_look():
    here, w = standing(), optimum().weights
    solution = here.solution(lambda start: here.look(here.begin(start), start)[1], w)
    point = LOSS.oracle().at(w)
    at, _ = gather(point, PENALTY, w)
    found = box.assumed(point, at)
    assert solution.status is Status.GAP
    if found.bound > here.certificate.bound:
        assert solution.gap_box == pytest.approx(solution.objective - found.bound, abs=1e-9)
        assert solution.box == found.largest
    else:
        assert (solution.box, solution.gap_box) == (math.inf, solution.gap)


def test_derivatives_that_are_not_finite_are_not_convergence():
    here = standing(FunctionOracle(lambda w: (1.0, np.full(3, math.nan)), 3))
    point = here.begin(ZERO)
    assert here.look(point, ZERO)[1] is Status.NOT_FINITE


@pytest.mark.parametrize("proved", [True, False])
def test_would_end_is_what_a_look_decides(proved):
    """On a working set of all that may move they agree, at the start and at the optimum."""
    for w, ends in ((ZERO, False), (optimum().weights, True)):
        here = standing(LOSS.oracle(proved=proved), tol=1e-6)
        point = here.begin(w)
        at, _ = gather(point, PENALTY, w)
        assert here.would_end(point, at) is ends
        assert (here.look(point, w)[1] is not None) is ends


def test_an_iterate_found_without_the_oracle_is_measured_off_the_account():
    here = standing()
    here.begin(ZERO)
    before, w = dict(here.calls.counts), weights_of(4)
    assert here.measure(w) is None
    row = here.record.trace[-1]
    assert row.objective == objective(LOSS.oracle(), w, PENALTY)
    assert row.kkt == pytest.approx(kkt_residual(LOSS.oracle(), w, PENALTY))
    assert row.certified
    assert here.calls.counts == before
    assert row.phase_seconds["evaluation"] > 0.0


def test_an_iterate_out_of_range_is_an_error():
    here = standing(FunctionOracle(lambda w: (math.inf if w.any() else 1.0, w), LOSS.d))
    here.begin(ZERO)
    with pytest.raises(FloatingPointError, match="the objective is inf"):
        here.measure(weights_of(4))


# --- ending ----------------------------------------------------------------------------------


def test_consulting_counts_iterations_and_asks_the_callback():
    answers = iter([False, True])
    here = standing(max_iter=1, callback=lambda row: next(answers))
    here.begin(ZERO)
    assert here.consult() is None
    assert here.consult() is Status.CALLBACK
    here = standing(max_iter=1)
    here.begin(ZERO)
    assert here.consult() is None
    here.advance(here.iterate)
    assert here.consult() is Status.MAX_ITER


def test_ctrl_c_ends_at_the_last_accepted_iterate():
    here, w = standing(), weights_of(5)

    def solve(start):
        here.begin(start)
        here.advance(Iterate(w, 1.0, 2.5))
        raise KeyboardInterrupt

    solution = here.solution(solve, ZERO)
    assert solution.status is Status.INTERRUPTED
    assert solution.weights is w
    assert solution.objective == 2.5


def test_ctrl_c_before_the_first_value_returns_the_start():
    here, w = standing(), weights_of(5)

    def solve(start):
        raise KeyboardInterrupt

    solution = here.solution(solve, w)
    assert solution.status is Status.INTERRUPTED
    assert solution.objective == objective(LOSS.oracle(), w, PENALTY)
    assert len(solution.trace) == 1


@pytest.mark.parametrize("status", [Status.GAP, Status.STALLED, Status.CALLBACK])
def test_every_row_is_shown_once(status):
    """What ended between two consultations has yet to be shown; the callback's own row has been."""
    seen = []
    here = standing(callback=lambda row: seen.append(row.iteration))

    def solve(start):
        here.begin(start)
        here.consult()
        here.advance(here.iterate)
        if status is Status.CALLBACK:
            here.consult()
        return status

    assert here.solution(solve, ZERO).status is status
    assert seen == [0, 1]


# --- a part of a run -------------------------------------------------------------------------


def test_a_run_on_a_sample_counts_in_the_whole_and_shows_nothing():
    seen = []
    whole = standing(callback=lambda row: seen.append(row))
    part = whole.part(whole.oracle)
    part.begin(ZERO)
    assert part.consult() is None
    assert seen == []
    assert len(whole.record.trace) == 0
    assert whole.calls.counts["forward"] == 1.0
    assert part.record.clock is whole.record.clock
    assert whole.iterate.objective == math.inf
