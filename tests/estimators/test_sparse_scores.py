import numpy as np
import pytest
import scipy.sparse as sp

from proxqn.estimators.sparse_scores import SparseScores


@pytest.mark.parametrize("n_entries", [0, 10**6])  # searched, looked up in a table
@pytest.mark.parametrize("density", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, np.float64])
def test_equals_the_product(n_entries, density, dtype):
    rng = np.random.default_rng(0)
    coef = sp.random_array((4, 3000), density=density, rng=rng, format="csr")
    X = sp.random_array((50, 3000), density=0.05, rng=rng, format="csr").astype(dtype)
    found = SparseScores(coef, n_entries)(X)
    assert found.shape == (50, 4)
    np.testing.assert_allclose(found, X.toarray().astype(float) @ coef.toarray().T, atol=1e-12)


def test_rows_without_entries():
    coef = sp.csr_array(np.eye(3))
    assert not SparseScores(coef, 0)(sp.csr_array((2, 3))).any()
