import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from proxqn.datasets.ocr import load_ocr

pycrfsuite = pytest.importorskip("pycrfsuite", reason="the peer python-crfsuite is not installed")

from benchmarks.peers import crfsuite  # noqa: E402
from benchmarks.peers.isolated import run_isolated  # noqa: E402
from benchmarks.peers.problem import Problem  # noqa: E402

LAM = 2.0


@pytest.fixture(scope="module")
def ocr():
    return load_ocr(degree=1)


def first_words(ocr, n_words, labels):
    lengths = ocr.lengths_test[:n_words]
    n = lengths.sum()
    return Problem.from_labels(ocr.X_test[:n], ocr.y_test[:n], lengths, labels)


@pytest.fixture(scope="module")
def problem(ocr):
    return first_words(ocr, 200, ocr.target_names)


def objective(problem, run):
    """λ‖w‖₁ + Σ (log Z − score of the given labels), one sequence at a time, in logarithms."""
    scores, T = (problem.X @ run.coef.T).toarray(), run.transitions
    value = run.lam * (abs(run.coef).sum() + abs(T).sum())
    ends = np.cumsum(problem.lengths)
    for first, last in zip(ends - problem.lengths, ends, strict=True):
        y = problem.y[first:last]
        forward = scores[first]
        for row in scores[first + 1 : last]:
            forward = row + logsumexp(forward[:, None] + T, axis=0)
        given = scores[np.arange(first, last), y].sum() + T[y[:-1], y[1:]].sum()
        value += logsumexp(forward) - given
    return value


@pytest.mark.parametrize("observed_only", [False, True])
@pytest.mark.parametrize("max_iterations", [1, 20, None])
def test_weights_have_the_logged_objective(problem, observed_only, max_iterations):
    run = crfsuite.train(problem, LAM, max_iterations=max_iterations, observed_only=observed_only)
    last = run.history[-1]
    assert objective(problem, run) == pytest.approx(last.logged_objective, abs=2e-6)
    assert run.coef.nnz + np.count_nonzero(run.transitions) == last.nonzeros
    assert max_iterations in (None, last.number)
    assert run.stop.startswith("L-BFGS terminated with the")


def test_real_values_are_passed_on(problem):
    rng = np.random.default_rng(3)
    X = problem.X.astype(np.float64)
    X.data = rng.normal(size=X.nnz)
    real = Problem(X, problem.y, problem.lengths, problem.n_labels)
    run = crfsuite.train(real, LAM, max_iterations=10)
    assert objective(real, run) == pytest.approx(run.history[-1].logged_objective, abs=2e-6)


def test_history_is_in_order(problem):
    run = crfsuite.train(problem, LAM, max_iterations=15)
    assert [row.number for row in run.history] == list(range(1, 16))
    seconds = [run.setup_seconds, *(row.seconds for row in run.history), run.train_seconds]
    assert seconds == sorted(seconds)
    assert all(row.evaluations >= 1 for row in run.history)


def test_target_stops_early_and_still_gives_weights(problem):
    full = crfsuite.train(problem, LAM)
    target = 1.1 * full.history[-1].logged_objective
    run = crfsuite.train(problem, LAM, target=target)
    logged = [row.logged_objective for row in run.history]
    assert logged[-1] <= target < min(logged[:-1])
    assert len(logged) < len(full.history)
    assert objective(problem, run) == pytest.approx(logged[-1], abs=2e-6)
    assert "stopped by us" in run.stop


def test_callers_label_order_decides_the_rows(ocr, problem):
    shuffled = np.random.default_rng(0).permutation(26)
    other = first_words(ocr, 200, ocr.target_names[shuffled])
    run = crfsuite.train(problem, LAM, max_iterations=10)
    permuted = crfsuite.train(other, LAM, max_iterations=10)
    np.testing.assert_array_equal(permuted.coef.toarray(), run.coef.toarray()[shuffled])
    expected = run.transitions[np.ix_(shuffled, shuffled)]
    np.testing.assert_array_equal(permuted.transitions, expected)


def test_labels_absent_from_training_get_zero_rows(ocr):
    few = first_words(ocr, 3, ocr.target_names)
    absent = np.setdiff1d(np.arange(26), few.y)
    run = crfsuite.train(few, 0.1, max_iterations=5)
    assert run.coef.shape == (26, 129)
    assert run.coef[absent].nnz == 0
    assert not run.transitions[absent].any()


def test_no_weight_survives_a_large_penalty(problem):
    run = crfsuite.train(problem, 1e6)
    assert run.coef.nnz == 0
    assert run.history == []


def test_as_a_process_of_its_own(problem):
    flags = ["--lam", str(LAM), "--max-iterations", "10", "--param", "num_memories=4"]
    run = run_isolated("crfsuite", problem, flags)
    here = crfsuite.train(problem, LAM, max_iterations=10, params={"num_memories": 4})
    np.testing.assert_array_equal(run.coef.toarray(), here.coef.toarray())
    np.testing.assert_array_equal(run.transitions, here.transitions)
    assert [row.logged_objective for row in run.history] == [
        row.logged_objective for row in here.history
    ]
    assert 2e7 < run.prepare_peak_bytes <= run.train_peak_bytes < 1e9
    assert run.peer.startswith("python-crfsuite ")


def test_problem_file_keeps_real_values_and_drops_stored_zeros(tmp_path):
    X = sparse.csr_array(([1.0, 0.0, 2.5], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    problem = Problem.from_labels(X, ["b", "a"], [2], ["b", "a"])
    problem.save(tmp_path / "problem.npz")
    back = Problem.load(tmp_path / "problem.npz")
    np.testing.assert_array_equal(back.X.toarray(), X.toarray())
    assert back.X.nnz == 2
    assert back.y.tolist() == [0, 1]


def test_unlisted_label_is_refused(problem):
    with pytest.raises(ValueError, match="not in `labels`: \\['c'\\]"):
        Problem.from_labels(sparse.csr_array(np.eye(2)), ["a", "c"], [2], ["a", "b"])
