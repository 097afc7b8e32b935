"""The functional call: SciPy's manner, a function of one's own, and what it says when misused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import OptimizeResult
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso
from tests.problems import random_chain

import proxqn
from proxqn import ProxQN, lambda_max, minimize
from proxqn.losses.function import FunctionOracle
from proxqn.penalties import ElasticNet
from proxqn.run.status import Status
from proxqn.run.trace import Trace


def least_squares(seed: int, n: int = 80, d: int = 30):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    b = A[:, :5] @ rng.normal(size=5) + 0.1 * rng.normal(size=n)

    def loss(w):
        r = A @ w - b
        return 0.5 * float(r @ r), A.T @ r

    return A, b, loss


@pytest.mark.parametrize("solver", ["prox-qn", ProxQN.paper()], ids=["default", "paper"])
@pytest.mark.parametrize("lam", [0.5, 5.0, 50.0])
def test_lasso_equals_scikit_learn(lam, solver):
    A, b, loss = least_squares(0)
    result = minimize(
        loss, lam, x0=np.zeros(30), stop="gap", tol=1e-9, max_iter=5000, solver=solver
    )
    theirs = Lasso(alpha=lam / len(b), fit_intercept=False, tol=1e-13, max_iter=100_000).fit(A, b)
    assert result.status is Status.KKT
    np.testing.assert_allclose(result.x, theirs.coef_, atol=1e-6)
    np.testing.assert_array_equal(result.x != 0, theirs.coef_ != 0)
    assert result.nnz == np.count_nonzero(theirs.coef_)


def test_elastic_net_equals_scikit_learn():
    A, b, loss = least_squares(1)
    lam, l2 = 4.0, 7.0
    result = minimize(loss, lam, l2=l2, x0=np.zeros(30), tol=1e-9)
    alpha = (lam + l2) / len(b)
    theirs = SklearnElasticNet(
        alpha=alpha, l1_ratio=lam / (lam + l2), fit_intercept=False, tol=1e-13, max_iter=100_000
    ).fit(A, b)
    np.testing.assert_allclose(result.x, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("lam", [0.0, 0, np.zeros(30)])
def test_lam_may_be_0_for_all(lam):
    """Ridge regression, or nothing at all."""
    A, b, loss = least_squares(1)
    ridge = minimize(loss, lam, l2=7.0, x0=np.zeros(30), stop="gap", tol=1e-10)
    np.testing.assert_allclose(
        ridge.x, np.linalg.solve(A.T @ A + 7.0 * np.eye(30), A.T @ b), atol=1e-6
    )
    free = minimize(loss, lam, x0=np.zeros(30), stop="gap", tol=1e-9)
    np.testing.assert_allclose(free.x, np.linalg.lstsq(A, b)[0], atol=1e-6)
    assert free.status is Status.UNPENALISED


def test_the_result_has_scipys_fields_and_ours():
    problem = random_chain(0)
    result = minimize(problem.oracle(), 0.5, stop="gap")
    assert isinstance(result, OptimizeResult)
    assert isinstance(result.x, sp.coo_array)
    assert result.x.shape == (problem.oracle().n_coordinates,)
    assert result.success is True
    assert result.status is Status.GAP
    assert result.message.startswith(f"{Status.GAP.value}; proved within ")
    assert isinstance(result.trace, Trace)
    assert result.fun == result.trace[-1].objective
    assert result.nit == result.trace[-1].iteration
    assert result.nfev == result.trace[-1].calls["forward"]
    assert result.njev == result.trace[-1].calls["backward"]
    assert result.nit < result.nfev
    assert 0.0 <= result.estimate <= result.gap <= 1e-4 * result.fun
    assert result.nnz == result.x.nnz
    assert np.all(result.x.data != 0)


def test_a_function_gives_a_dense_result_and_no_gap():
    _, _, loss = least_squares(2)
    result = minimize(loss, 5.0, x0=np.zeros(30), stop="gap")
    assert isinstance(result.x, np.ndarray)
    assert result.gap == math.inf
    assert result.kkt <= 1e-4 * 5.0


@pytest.mark.parametrize("form", [list, np.array, sp.coo_array, sp.csr_array])
def test_a_start_in_any_form(form):
    problem = random_chain(1)
    dense = np.where(np.arange(problem.oracle().n_coordinates) % 3 == 0, 0.5, 0.0)
    result = minimize(problem.oracle(), 0.5, x0=form(dense), max_iter=0)
    np.testing.assert_array_equal(result.x.toarray(), dense)


def test_repeated_entries_of_a_sparse_start_are_summed():
    problem = random_chain(1)
    n = problem.oracle().n_coordinates
    x0 = sp.coo_array(([1.0, 2.0, 0.5, 0.25], ([4, 4, n - 1, n - 1],)), shape=(n,))
    result = minimize(problem.oracle(), 0.5, x0=x0, max_iter=0)
    np.testing.assert_array_equal(result.x.toarray(), x0.toarray())
    assert len(x0.data) == 4  # the caller's array is left alone
    same = minimize(problem.oracle(), 0.5, x0=x0.toarray(), max_iter=0)
    assert result.fun == same.fun


def test_a_function_may_start_from_a_list():
    _, _, loss = least_squares(2)
    assert minimize(loss, 5.0, x0=[0.0] * 30).success


def test_the_start_is_left_as_it_was():
    _, _, loss = least_squares(2)
    x0 = np.ones(30)
    minimize(loss, 5.0, x0=x0)
    np.testing.assert_array_equal(x0, 1.0)


def test_lambda_max_is_the_smallest_lam_with_zero_weights():
    problem = random_chain(2)
    top = lambda_max(problem.oracle())
    assert minimize(problem.oracle(), top).nnz == 0
    assert minimize(problem.oracle(), 0.999 * top, tol=1e-9).nnz > 0
    _, _, loss = least_squares(3)
    assert lambda_max(FunctionOracle(loss, 30)) == pytest.approx(
        np.abs(loss(np.zeros(30))[1]).max()
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"lam": None}, ValueError, "lam is missing: a number or an array, or a penalty"),
        ({"lam": math.nan}, ValueError, "lam must be a finite number above 0, got nan"),
        ({"lam": -1.0}, ValueError, "lam must be a finite number above 0, got -1.0"),
        ({"lam": np.full(27, -1.0)}, ValueError, r"lam must be finite, 0 or above .*-1\.0.* at 0"),
        ({"lam": np.ones(26)}, ValueError, "entry for each of 27 coordinates, got 26"),
        ({"lam": np.ones((27, 1))}, ValueError, r"lam must be .*got shape \(27, 1\)"),
        ({"l2": np.ones(5)}, ValueError, "entry for each of 27 coordinates, got 5"),
        ({"l2": np.full(27, math.nan)}, ValueError, "l2 must be finite, 0 or above.*nan"),
        ({"lam": np.ones(27), "l2": np.ones(5)}, ValueError, "arrays of one length"),
        ({"bounds": (0.5, 1.0)}, ValueError, "lower must be 0 or below .*a weight at zero"),
        ({"bounds": (-1.0, -0.5)}, ValueError, "upper must be 0 or above .*a weight at zero"),
        ({"bounds": (np.full(27, -1.0), math.nan)}, ValueError, "upper must be .*nan"),
        ({"bounds": (np.zeros(9), np.ones(9))}, ValueError, "each of 27 coordinates, got 9"),
        ({"bounds": [(0.0, 1.0)] * 27}, ValueError, "bounds must be a pair, .* got 27"),
        ({"penalty": ElasticNet(1.0)}, ValueError, "either penalty or lam, l2 and bounds"),
        (
            {"lam": None, "penalty": ElasticNet(1.0), "bounds": (0, 1)},
            ValueError,
            "either penalty or lam, l2 and bounds",
        ),
        (
            {"lam": None, "penalty": ElasticNet(1.0), "l2": 0.5},
            ValueError,
            "either penalty or lam, l2 and bounds",
        ),
        ({"l2": -1.0}, ValueError, "l2 must be"),
        ({"tol": -1e-3}, ValueError, "tol must be a number, 0 or above"),
        ({"tol": math.nan}, ValueError, "tol must be a number, 0 or above"),
        ({"max_iter": -1}, ValueError, "max_iter must be 0 or above"),
        ({"solver": "newton"}, ValueError, "prox-qn.*got 'newton'"),
        ({"x0": np.zeros(4)}, ValueError, r"x0 must have shape \(\d+,\), got \(4,\)"),
        ({"x0": np.full(27, np.nan)}, ValueError, "x0 contains NaN or infinite values"),
    ],
)
def test_misuse_is_explained(arguments, error, message):
    oracle = random_chain(3).oracle()
    assert oracle.n_coordinates == 27
    with pytest.raises(error, match=message):
        minimize(oracle, **({"lam": 1.0} | arguments))


def test_a_function_needs_a_start():
    with pytest.raises(ValueError, match="x0 is needed with a function"):
        minimize(lambda w: (0.0, w), 1.0)


def test_something_else_than_a_loss():
    with pytest.raises(TypeError, match="expected an Oracle or a function"):
        minimize(3.0, 1.0)


@pytest.mark.parametrize("answer", [3.0, np.zeros(3), (1.0,), None])
def test_a_function_returns_a_pair(answer):
    kind = type(answer).__name__
    with pytest.raises(TypeError, match=rf"must return a pair, \(value, gradient\), got a {kind}"):
        minimize(lambda w: answer, 1.0, x0=np.zeros(3))


def test_a_gradient_of_the_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"gradient of shape \(3,\), got \(2,\)"):
        minimize(lambda w: (0.0, np.zeros(2)), 1.0, x0=np.zeros(3))


def test_public_names_can_all_be_loaded():
    for name in ("minimize", "lambda_max", "ProxQN", "ChainOracle", "Hierarchy", "datasets"):
        assert getattr(proxqn, name) is not None
        assert name in dir(proxqn)
    with pytest.raises(AttributeError, match="no attribute 'minimise'"):
        proxqn.minimise  # noqa: B018
