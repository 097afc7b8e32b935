"""The ablation in small: ideas go and come back, and figures say what they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.ablation.ideas import BY_NAME, FULL, IDEAS
from benchmarks.ablation.page import page
from benchmarks.ablation.ratios import TARGETS, Runs, Summary
from benchmarks.generated import Shape, generate

from proxqn import ChainOracle, ProxQN, minimize

LAM, TOL = 2.0, 1e-8  # so close that the rounding of floats matters
WITHIN, ROUGH, FINE = TARGETS


@pytest.fixture(scope="module")
def oracle():
    problem = generate(Shape(2000, 10, 8, n_words=200, n_noise=100, noise_per_token=9))
    return ChainOracle(problem.X, problem.y, problem.lengths, n_labels=problem.n_labels)


@pytest.fixture(scope="module")
def usual(oracle):
    return minimize(oracle, LAM, tol=TOL)


@pytest.mark.parametrize("name", [idea.name for idea in IDEAS])
def test_without_any_idea_the_solution_is_the_same(oracle, usual, name):
    with BY_NAME[name].switched_off(0) as settings:
        found = minimize(oracle, LAM, solver=settings, tol=TOL, max_iter=400)
    assert abs(found.fun / usual.fun - 1.0) < 2e-4


@pytest.mark.parametrize("name", ["near", "draws", "old-pairs", "float-search", "early-look"])
def test_ideas_come_back(oracle, usual, name):
    with BY_NAME[name].switched_off(0) as settings:
        found = minimize(oracle, LAM, solver=settings, tol=TOL, max_iter=400)
    again = minimize(oracle, LAM, tol=TOL)
    np.testing.assert_array_equal(again.trace.column("objective"), usual.trace.column("objective"))
    different = found.nit != usual.nit or found.fun != usual.fun
    assert different or name == "early-look"


def test_with_everything_on_nothing_is_changed():
    with FULL.switched_off(0) as settings:
        assert settings == ProxQN()


def _run(objectives, gaps, status="GAP", seconds=1.0):
    passes = [float(k + 1) for k in range(len(gaps))]
    history = {"objective": objectives, "gap": gaps, "passes": passes, "cpu": passes}
    ends = {"objective": objectives[-1], "nonzeros": 3, "status": status}
    return ends | {"history": history, "pass_seconds": seconds}


def test_ratios_compare_what_both_reach():
    full = _run([20.0, 10.001, 10.0], [None, 0.05, 0.0005])
    slow = _run(
        [20.0, 15.0, 12.0, 11.0, 10.0, 10.0], [None, 8.0, 4.0, 2.0, 0.02, 0.0009], seconds=2
    )
    lost = _run([20.0] * 9, [None] * 9, "MAX_ITER")
    cut = _run([20.0], [None], "CALLBACK")
    runs = Runs(
        {"full/ocr-5/0": full, "draws/ocr-5/0": slow, "near/ocr-5/0": lost, "single/ocr-5/0": cut}
    )
    assert runs.ratio("draws", "ocr-5", WITHIN, "passes") == 5 / 2
    assert runs.ratio("draws", "ocr-5", WITHIN, "cpu") == 5 / 2 / 2  # on a machine half as fast
    assert runs.ratio("draws", "ocr-5", FINE, "passes") == 6 / 3
    assert runs.ratio("near", "ocr-5", ROUGH, "passes") == math.inf
    assert runs.ratio("single", "ocr-5", ROUGH, "passes") is None
    assert (runs.changed("draws"), runs.changed("single")) == (1, 0)


def test_what_helps_and_hurts_is_counted():
    summary = Summary([1.0, 1.04, 1.06, 0.5, math.inf])
    assert (summary.helps, summary.hurts) == (2, 1)


def test_the_page_has_a_line_for_every_idea():
    run = _run([20.0, 10.0], [None, 0.0005])
    keys = [f"{name}/ocr-5/0" for name in BY_NAME]
    text = page(
        {
            "runs": dict.fromkeys(keys, run),
            "jobs": 2,
            "seconds": 20.0,
            "machine": {"cpu": "a machine"},
        }
    )
    for idea in IDEAS:
        assert f"| {idea.title} | 0 of 1 | 1.00 (1.00 to 1.00), +0 −0 |" in text
