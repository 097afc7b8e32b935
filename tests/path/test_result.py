"""A path as data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.points import Logistic
from tests.problems import random_chain

from proxqn import Path, lambda_max, minimize_path


@pytest.fixture(scope="module")
def path() -> Path:
    oracle = random_chain(6, n_labels=4, n_features=60, n_sequences=200, density=0.05).oracle()
    return minimize_path(oracle, 6, tol=1e-3, stop="gap")


def test_columns_are_the_solutions(path):
    assert path.weights.shape == (path.n_coordinates, 6)
    np.testing.assert_array_equal(np.diff(path.weights.indptr), path.nnz)
    assert (np.diff(path.lams_) < 0).all()
    assert (np.diff(path.objectives) < 0).all()
    assert (path.gaps <= 1e-3 * path.objectives).all()
    for k, lam in enumerate(path.lams_):
        found = path.at(lam)
        np.testing.assert_array_equal(found.x.toarray(), path.weights[:, [k]].toarray().ravel())
        assert (found.fun, found.gap) == (path.objectives[k], path.gaps[k])


def test_it_shows_itself_in_a_line(path):
    assert repr(path) == f"<Path: {path.message}>"
    assert repr(path).startswith(f"<Path: 6 λs from {path.lams_[0]:.4g} to ")


def test_in_between_it_mixes(path):
    lam = 0.25 * path.lams_[2] + 0.75 * path.lams_[3]
    expected = 0.25 * path.weights[:, [2]] + 0.75 * path.weights[:, [3]]
    np.testing.assert_allclose(path.at(lam).x.toarray(), expected.toarray().ravel(), rtol=1e-12)
    assert path.at(lam).known == "proved"


def test_above_lambda_max_zero_stays_the_solution(path):
    found = path.at(10.0 * path.lams_[0])
    assert found.nnz == 0
    assert found.fun == path.objectives[0]


def test_outside_it_says_where_it_is(path):
    with pytest.raises(ValueError, match="the path goes from"):
        path.at(0.5 * path.lams_[-1])


def test_of_a_function_x_is_dense():
    loss = Logistic(3, n=200, d=20)
    path = minimize_path(loss, 3, x0=np.zeros(20), lower_bound=0.0)
    assert path.at(path.lams_[1]).x.shape == (20,)
    assert isinstance(path.at(path.lams_[1]).x, np.ndarray)


@pytest.mark.parametrize("how", ["pickle", "file"])
def test_it_is_the_same_when_it_comes_back(path, how, tmp_path):
    if how == "pickle":
        again = pickle.loads(pickle.dumps(path))
    else:
        path.save(tmp_path / "p.npz")
        again = Path.load(tmp_path / "p.npz")
    assert again.trace == path.trace
    assert again.message == path.message
    np.testing.assert_array_equal(again.weights.toarray(), path.weights.toarray())
    np.testing.assert_array_equal(again.memory.steps, path.memory.steps)


def test_it_tells_itself_in_a_sentence(path):
    assert path.message.startswith("6 λs from ")
    assert "proved within" in path.message


def test_rows_as_a_table(path):
    pandas = pytest.importorskip("pandas")
    table = path.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table["lam"].tolist() == [row.lam for row in path.trace]


def test_a_path_of_one_lambda():
    oracle = random_chain(6, n_labels=4, n_features=60, n_sequences=200).oracle()
    path = minimize_path(oracle, [0.1 * lambda_max(oracle)], tol=1e-3, stop="gap")
    assert len(path) == 1
    assert path.eps <= 1e-3
