from pathlib import Path

import numpy as np
import pytest
from benchmarks.data import MissingDataError, data_file
from benchmarks.generated import Shape, generate
from benchmarks.growth import repeated
from benchmarks.measure import Judge, compare_with_log
from benchmarks.peers import ours
from benchmarks.problems import Spec
from benchmarks.run import run_problem
from benchmarks.store import Store
from benchmarks.trainers import Limits

from benchmarks import problems, trainers

SHAPE = Shape(40, 8, 3, n_words=30, n_noise=10, noise_per_token=2)
LIMITS = Limits(rival_seconds=1.0, our_seconds=5.0, max_iterations={})


def spec(**changes):
    settings = {"lam": 1.5, "peer_iterations": 20, "tol": 1e-6} | changes
    return Spec("tiny", "tiny", lambda: generate(SHAPE), **settings)


@pytest.mark.parametrize("observed_only", [False, True])
@pytest.mark.parametrize("module", ["crfsuite", "sklearn_crfsuite", "chaine"])
def test_every_peer_minimises_our_objective(module, observed_only):
    pytest.importorskip({"crfsuite": "pycrfsuite"}.get(module, module))
    peer = pytest.importorskip(f"benchmarks.peers.{module}")
    problem, one = generate(SHAPE), spec(observed_only=observed_only)
    run = peer.train(problem, one.lam, max_iterations=20, observed_only=observed_only)
    assert abs(compare_with_log(run, Judge(problem, one).objective(run))) < 1e-7
    best = ours.train(problem, one.lam, tol=1e-8, observed_only=observed_only)
    assert Judge(problem, one).objective(run) >= best.bound
    assert run.history[-1].logged_objective < 1.01 * best.history[-1].logged_objective


@pytest.mark.parametrize("solver", ["prox-qn", "prox-qn-paper", "prox-gd", "owl-qn", "sgd", "bcd"])
def test_every_solver_of_ours_reports_what_its_weights_have(solver):
    problem = generate(SHAPE)
    run = ours.train(problem, 1.5, solver=solver, tol=1e-4, max_seconds=1.0)
    assert abs(compare_with_log(run, Judge(problem, spec()).objective(run))) < 1e-9
    assert run.history[-1].calls["forward"] > 0


def test_a_log_of_another_objective_is_refused():
    problem = generate(SHAPE)
    run = ours.train(problem, 1.5, tol=1e-4)
    with pytest.raises(ValueError, match="minimises another objective"):
        compare_with_log(run, 1.01 * run.history[-1].logged_objective)


def test_labels_that_do_not_occur_are_refused():
    from dataclasses import replace

    problem = replace(generate(SHAPE), n_labels=4)
    with pytest.raises(ValueError, match="1 of the 4 labels of tiny do not occur"):
        Judge(problem, spec())


def test_weights_of_another_problem_are_refused():
    problem = generate(SHAPE)
    run = ours.train(problem, 0.1, tol=1e-4)  # all pairs
    with pytest.raises(ValueError, match="expected the same problem"):
        Judge(problem, spec(observed_only=True)).objective(run)


def test_stored_runs_are_reused_until_something_changes(tmp_path):
    chosen, store = [trainers.TRAINERS["prox-qn"]], Store(tmp_path)
    (first,) = run_problem(spec(), chosen, LIMITS, store, fresh=False)
    (again,) = run_problem(spec(), chosen, LIMITS, store, fresh=False)
    assert again == first
    (other,) = run_problem(spec(lam=2.0), chosen, LIMITS, store, fresh=False)
    assert other.objective != first.objective
    assert [record.lam for record in store.records()] == [2.0]


def test_a_missing_file_is_named_with_the_way_out(monkeypatch, tmp_path):
    monkeypatch.setenv("PROXQN_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"train.txt is not in .* Set PROXQN_DATA"):
        data_file("conll2000", "train.txt")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no problem named nowhere"):
        problems.find("ocr-100,nowhere")
    with pytest.raises(ValueError, match="no trainer named nobody"):
        trainers.find("nobody")


def test_wrappers_of_crfsuite_may_make_fewer_iterations():
    flags = {
        name: trainers.TRAINERS[name].flags(spec(wrapper_iterations=7), LIMITS)
        for name in (trainers.CRFSUITE, *trainers.WRAPPERS)
    }
    assert flags[trainers.CRFSUITE][-2:] == ["--max-iterations", "20"]
    assert all(flags[name][-2:] == ["--max-iterations", "7"] for name in trainers.WRAPPERS)
    limits = Limits(rival_seconds=1.0, our_seconds=5.0, max_iterations={"tiny": 3})
    assert trainers.TRAINERS["chaine"].flags(spec(), limits)[-1] == "3"


def test_quick_problems_have_only_labels_that_occur():
    for one in problems.QUICK:
        if "conll" in one.name and not Path(problems.REPOSITORY.parent, "shared").exists():
            continue
        problem = one.load()
        assert len(np.unique(problem.y)) == problem.n_labels


def test_repeated_data_have_the_same_solution():
    problem = generate(SHAPE)
    once, thrice = (
        ours.train(problem, 1.5, tol=1e-9),
        ours.train(repeated(problem, 3), 4.5, tol=1e-9),
    )
    objective = once.history[-1].logged_objective
    assert thrice.history[-1].logged_objective == pytest.approx(3 * objective, rel=1e-7)
