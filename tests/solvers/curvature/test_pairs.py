"""The compact matrix against the recursive BFGS formula and the paper's own compact form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.quadratic_models import filled, matrix, random_pairs

from proxqn import _kernels
from proxqn.solvers import reference
from proxqn.solvers.curvature.pairs import CompactBFGS, Scaling

KERNELS = pytest.mark.parametrize(
    "kernels", [pytest.param(_kernels, id="compiled"), pytest.param(reference, id="reference")]
)


def recursive(S, Y, gamma) -> np.ndarray:
    """The paper's eq. 3, from B_0 = γI."""
    B = gamma * np.eye(S.shape[1])
    for s, y in zip(S, Y, strict=True):
        Bs = B @ s
        B = B - np.outer(Bs, Bs) / (s @ Bs) + np.outer(y, y) / (y @ s)
    return B


def papers_compact(S, Y, gamma) -> np.ndarray:
    """B_0 - Q R Qᵀ with Q = [B_0 S, Y] and R the inverse of [[Sᵀ B_0 S, L], [Lᵀ, -D]]."""
    SY = S @ Y.T
    L, D = np.tril(SY, -1), np.diag(np.diag(SY))
    Q = np.hstack([gamma * S.T, Y.T])
    R = np.linalg.inv(np.block([[gamma * S @ S.T, L], [L.T, -D]]))
    return gamma * np.eye(S.shape[1]) - Q @ R @ Q.T


@KERNELS
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 30), m=st.integers(0, 12))
def test_equals_the_recursive_formula_and_the_papers_compact_one(kernels, seed, n, m):
    m = min(m, n)
    S, Y = random_pairs(seed, n, m)
    model = filled(S, Y, kernels=kernels)
    B = matrix(model)
    scale = np.abs(B).max()
    np.testing.assert_allclose(B, recursive(S, Y, model.gamma), rtol=0, atol=1e-7 * scale)
    np.testing.assert_allclose(B, papers_compact(S, Y, model.gamma), rtol=0, atol=1e-7 * scale)
    assert np.linalg.eigvalsh(B).min() > -1e-9 * scale


@KERNELS
@pytest.mark.parametrize("n", [1, 7, 8, 9, 40])
def test_the_newest_pair_satisfies_the_secant_equation(kernels, n):
    S, Y = random_pairs(n, n, min(n, 5))
    B = matrix(filled(S, Y, kernels=kernels))
    np.testing.assert_allclose(B @ S[-1], Y[-1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("scaling", list(Scaling))
def test_gamma_follows_from_the_newest_pair(scaling):
    S, Y = random_pairs(1, 12, 4)
    s, y = S[-1], Y[-1]
    truth = s @ y / (s @ s) if scaling is Scaling.PAPER else np.linalg.norm(y) / np.linalg.norm(s)
    model = filled(S, Y, scaling=scaling)
    assert model.gamma == pytest.approx(truth, rel=1e-13)
    np.testing.assert_allclose(matrix(model), recursive(S, Y, truth), rtol=0, atol=1e-9)


def test_only_the_newest_pairs_are_remembered():
    S, Y = random_pairs(2, 20, 9)
    model = filled(S, Y, memory=4)
    assert len(model) == 4
    np.testing.assert_allclose(matrix(model), recursive(S[5:], Y[5:], model.gamma), atol=1e-9)


@KERNELS
def test_shrinking_loses_no_accuracy(kernels):
    """The paper's claim: B on the rows that are left is the submatrix of the B without shrinking.

    Later steps are zero outside the working set of their time; later gradient changes are not, but
    nobody knows them there.
    """
    rng = np.random.default_rng(3)
    n, working = 30, np.arange(30)
    root = rng.normal(size=(n, n))
    H = root @ root.T / n + 0.1 * np.eye(n)
    model = CompactBFGS(50, 1.0, Scaling.PAPER, n, kernels)
    S, Y = [], []
    for i in range(8):
        s = np.zeros(n)
        s[working] = rng.normal(size=len(working))
        y = H @ s
        assert model.append(s[working], y[working])
        S.append(s)
        Y.append(y)
        if i in (2, 4, 5):
            keep = np.sort(rng.choice(len(working), len(working) - 6, replace=False))
            model.keep_rows(keep)
            working = working[keep]
    truth = recursive(np.array(S), np.array(Y), model.gamma)
    np.testing.assert_allclose(matrix(model), truth[np.ix_(working, working)], rtol=0, atol=1e-9)


@KERNELS
def test_a_re_entering_row_is_gamma_on_the_diagonal_and_coupled_to_nothing(kernels):
    S, Y = random_pairs(4, 10, 5)
    model = filled(S, Y, kernels=kernels)
    source = np.array([3, -1, 0, 9, -1, 5])
    model.replace_rows(source)
    B = matrix(model)
    old = source >= 0
    np.testing.assert_array_equal(B[~old][:, old], 0.0)
    np.testing.assert_array_equal(B[~old][:, ~old], model.gamma * np.eye(2))
    assert np.linalg.eigvalsh(B).min() > 0.0
    left = source[old]
    good = np.einsum("ij,ij->i", S[:, left], Y[:, left]) > 0
    truth = recursive(S[good][:, left], Y[good][:, left], model.gamma)
    np.testing.assert_allclose(B[np.ix_(old, old)], truth, rtol=0, atol=1e-8 * np.abs(B).max())


def test_a_pair_that_loses_its_curvature_with_its_rows_goes():
    """s·y = 2 over both rows, -1 over the one that is left."""
    model = filled(np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([[3.0, -1.0], [1.0, 2.0]]))
    model.replace_rows(np.array([1]))
    assert len(model) == 1
    np.testing.assert_allclose(matrix(model), [[1.0]])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), kept=st.integers(0, 12))
def test_carried_pairs_always_leave_b_positive_definite(seed, kept):
    """Pairs that lose their curvature together with their rows must go."""
    rng = np.random.default_rng(seed)
    S, Y = random_pairs(seed, 12, 6)
    model = filled(S, Y)
    source = np.concatenate([rng.choice(12, kept, replace=False), np.full(3, -1)])
    model.replace_rows(source)
    if model.factors() is not None:
        B = matrix(model)
        assert np.linalg.eigvalsh(B).min() > -1e-8 * np.abs(B).max()


@pytest.mark.parametrize(
    ("s", "y"),
    [
        ([1.0, 0.0], [-1.0, 0.0]),
        ([1.0, 0.0], [0.0, 1.0]),
        ([0.0, 0.0], [1.0, 0.0]),
        ([1.0, 0.0], [0.0, 0.0]),
        ([1.0, 0.0], [1e-14, 1.0]),
        ([np.nan, 0.0], [1.0, 0.0]),
        ([1.0, 0.0], [np.nan, 0.0]),
        ([1.0, 0.0], [np.inf, 0.0]),
    ],
)
def test_a_pair_without_positive_curvature_is_refused_and_changes_nothing(s, y):
    model = filled(np.array([[2.0, 1.0]]), np.array([[3.0, 1.0]]))
    before, gamma = matrix(model), model.gamma
    assert not model.append(np.array(s), np.array(y))
    assert len(model) == 1
    assert model.gamma == gamma
    np.testing.assert_array_equal(matrix(model), before)


def test_clear_forgets_the_pairs_and_keeps_gamma():
    S, Y = random_pairs(5, 6, 3)
    model = filled(S, Y)
    gamma = model.gamma
    model.clear()
    assert len(model) == 0
    np.testing.assert_array_equal(matrix(model), gamma * np.eye(6))
    assert model.append(S[0], Y[0])
    np.testing.assert_allclose(matrix(model), recursive(S[:1], Y[:1], model.gamma), atol=1e-10)


def test_nearly_parallel_steps_are_reported_or_survived():
    """A singular SᵀS must not give a B with nonsense on its diagonal."""
    rng = np.random.default_rng(6)
    s = rng.normal(size=5)
    y = s + 0.1
    model = CompactBFGS(10, 1.0, Scaling.PAPER, 5)
    for i in range(6):
        model.append(s * (1 + 1e-15 * i), y)
    factors = model.factors()
    if factors is not None:
        assert (factors.diagonal > 0).all()
        assert np.isfinite(factors.rows).all()


def test_compiled_rows_equal_the_reference():
    S, Y = random_pairs(7, 37, 11)
    ours, theirs = filled(S, Y).factors(), filled(S, Y, kernels=reference).factors()
    np.testing.assert_allclose(ours.rows, theirs.rows, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.diagonal, theirs.diagonal, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("shape", [(1, 1, 5), (3, 4, 0), (7, 2, 3000), (20, 20, 5000)])
def test_compiled_products_equal_the_reference_for_any_number_of_threads(shape):
    m, k, n = shape
    rng = np.random.default_rng(8)
    A, B = rng.normal(size=(m, n)), rng.normal(size=(k, n))
    expected, found = np.full((m, k), np.nan), np.full((3, m, k), np.nan)
    reference.inner_products(A, B, expected, 1)
    for n_jobs in (1, 2, 3):
        _kernels.inner_products(A, B, found[n_jobs - 1], n_jobs)
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-12 * max(n, 1))
    np.testing.assert_array_equal(found[1:], found[[0, 0]])


def test_products_of_unlike_rows_are_refused():
    with pytest.raises(ValueError, match="as many columns"):
        _kernels.inner_products(np.zeros((2, 3)), np.zeros((2, 4)), np.zeros((2, 2)), 1)


def test_threads_change_no_bit_of_the_factors():
    S, Y = random_pairs(9, 4000, 12)
    models = [CompactBFGS(50, 1.0, Scaling.PAPER, 4000, n_jobs=n) for n in (1, 2, 3)]
    factors = []
    for model in models:
        for s, y in zip(S, Y, strict=True):
            assert model.append(s, y)
        model.replace_rows(np.arange(0, 4000, 2), np.linspace(1.0, 2.0, 2000))
        factors.append(model.factors())
    for other in factors[1:]:
        np.testing.assert_array_equal(other.rows, factors[0].rows)
        np.testing.assert_array_equal(other.diagonal, factors[0].diagonal)


@KERNELS
@pytest.mark.parametrize("scaling", list(Scaling))
def test_a_diagonal_start_is_bfgs_in_scaled_variables(kernels, scaling):
    """With u = D^½ w the pairs are (D^½ s, D^-½ y), and B = D^½ B_u D^½."""
    S, Y = random_pairs(8, 15, 5)
    D = np.random.default_rng(9).uniform(0.1, 10.0, 15)
    model = CompactBFGS(50, 1.0, scaling, 15, kernels)
    model.replace_rows(np.arange(15), D)
    for s, y in zip(S, Y, strict=True):
        assert model.append(s, y)
    scaled = filled(S * np.sqrt(D), Y / np.sqrt(D), scaling=scaling)
    assert model.gamma == pytest.approx(scaled.gamma, rel=1e-12)
    root = np.diag(np.sqrt(D))
    np.testing.assert_allclose(matrix(model), root @ matrix(scaled) @ root, rtol=0, atol=1e-8)


@KERNELS
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 30), m=st.integers(1, 12))
def test_a_pair_added_to_the_factors_gives_the_matrix_formed_anew(kernels, seed, n, m):
    """A lazy model keeps γ while it changes little, and then only appends columns."""
    S, Y = random_pairs(seed, n, min(m, n))
    lazy = CompactBFGS(50, 1.0, Scaling.PAPER, n, kernels, lazy=True)
    for s, y in zip(S, Y, strict=True):
        assert lazy.append(s, y)
        B = matrix(lazy)  # forms the factors, so that the next pair finds them
    expected = recursive(S, Y, lazy.gamma)
    np.testing.assert_allclose(B, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_a_lazy_model_survives_dropping_pairs_and_rows():
    S, Y = random_pairs(1, 40, 30)
    lazy = CompactBFGS(10, 1.0, Scaling.GEOMETRIC, 40, lazy=True)
    for s, y in zip(S, Y, strict=True):
        lazy.append(s, y)
        assert lazy.factors() is not None
        assert len(lazy) <= 10
    whole, keep = matrix(lazy), np.arange(0, 40, 3)
    lazy.keep_rows(keep)
    np.testing.assert_allclose(matrix(lazy), whole[np.ix_(keep, keep)], rtol=1e-12)
    kept = len(lazy)
    np.testing.assert_allclose(
        whole, recursive(S[-kept:], Y[-kept:], lazy.gamma), atol=1e-8 * np.abs(whole).max()
    )


def test_many_rows_may_be_given_in_single_precision():
    n = 2500
    rng = np.random.default_rng(2)
    scale = rng.uniform(0.5, 2.0, n)
    models = [CompactBFGS(10, 1.0, Scaling.PAPER, n, lazy=True, single=flag) for flag in (0, 1)]
    for _ in range(7):
        s = rng.normal(size=n)
        for model in models:
            assert model.append(s, scale * s)
            model.factors()
    exact, rounded = (model.factors() for model in models)
    assert (exact.rows.dtype, rounded.rows.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(rounded.rows, exact.rows, atol=1e-5 * np.abs(exact.rows).max())
    np.testing.assert_allclose(rounded.diagonal, exact.diagonal, rtol=1e-5)
