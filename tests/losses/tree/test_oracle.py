"""The tree oracle against brute force over leaves, finite differences and the NumPy reference."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from proxqn import _kernels, minimize
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.tree import reference as tree_reference
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem.oracle import SpentPointError
from proxqn.problem.penalty import Local
from proxqn.problem.sparse import SparseVector

KERNELS = pytest.mark.parametrize("kernels", [_kernels, tree_reference], ids=["compiled", "numpy"])


def random_tree(rng, n_nodes):
    return Hierarchy.from_parents([-1, *(int(rng.integers(0, k)) for k in range(1, n_nodes))])


def random_problem(seed, *, n_nodes=12, n_samples=21, n_features=5, weighted=False, density=0.5):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes)
    values = rng.normal(size=(n_samples, n_features))
    X = sp.csr_array(values * (rng.random((n_samples, n_features)) < density))
    leaves = rng.integers(0, tree.n_leaves, n_samples)
    weights = rng.random(n_samples) + 0.5 if weighted else None
    return X, leaves, tree, weights


def random_weights(oracle, seed, *, share=0.4, scale=1.0):
    rng = np.random.default_rng(seed)
    chosen = np.flatnonzero(rng.random(oracle.n_coordinates) < share)
    return SparseVector(chosen, scale * rng.normal(size=len(chosen)))


def brute_force(X, leaves, tree, weights, coef):
    """Return loss, gradient (nodes x features) and leaf probabilities, one leaf at a time."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    loss, gradient, dense = 0.0, np.zeros(coef.shape), X.toarray()
    probabilities = np.zeros((X.shape[0], tree.n_leaves))
    paths = [[*tree.ancestors(int(leaf))[::-1], int(leaf)] for leaf in tree.leaf_nodes]
    for i, x in enumerate(dense):
        scores = [math.fsum(float(coef[k] @ x) for k in path) for path in paths]
        best = max(scores)
        z = math.fsum(math.exp(s - best) for s in scores)
        loss += weights[i] * (best + math.log(z) - scores[leaves[i]])
        for y, path in enumerate(paths):
            probabilities[i, y] = p = math.exp(scores[y] - best) / z
            for k in path:
                gradient[k] += weights[i] * (p - (y == leaves[i])) * x
    return loss, gradient, probabilities


class Watched:
    """Kernels that note the calls to the tree's, and what it wrote its residuals to."""

    def __init__(self, kernels):
        self.kernels, self.Features, self.calls = kernels, kernels.Features, []

    def Tree(self, *arrays):  # noqa: N802 - as the kernels name it
        return WatchedTree(self, self.kernels.Tree(*arrays))


class WatchedTree:
    def __init__(self, watched, tree):
        self.watched, self.tree = watched, tree

    def move(self, *arguments):
        self.watched.calls.append("move")
        self.tree.move(*arguments)

    def forward(self, *arguments):
        self.watched.calls.append("forward")
        self.tree.forward(*arguments)

    def backward(self, step, residuals, n_jobs):
        self.watched.calls.append("backward")
        self.watched.residuals = residuals
        self.tree.backward(step, residuals, n_jobs)


def all_of(oracle):
    return np.arange(oracle.n_coordinates)


def dense_gradient(oracle, point):
    g = point.gradient(all_of(oracle)).reshape(-1, len(oracle.hierarchy))
    out = np.zeros((len(oracle.hierarchy), oracle.data.n_features))
    out[:, oracle.data.columns] = g.T
    return out


@KERNELS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("seed", "n_nodes"), [(0, 2), (1, 3), (2, 12), (3, 40), (4, 90)])
def test_loss_gradient_and_marginals_are_those_of_brute_force(kernels, weighted, seed, n_nodes):
    X, leaves, tree, weights = random_problem(seed, n_nodes=n_nodes, weighted=weighted)
    watched = Watched(kernels)
    oracle = TreeOracle(X, leaves, tree, sample_weight=weights, kernels=watched)
    w = random_weights(oracle, seed)
    point = oracle.at(w)
    loss, gradient, probabilities = brute_force(
        X, leaves, tree, weights, oracle.unpack(w).toarray()
    )
    assert point.value == pytest.approx(loss, rel=1e-13, abs=1e-12)
    found = dense_gradient(oracle, point)
    np.testing.assert_allclose(found[1:], gradient[1:], rtol=0, atol=1e-12)
    assert not found[0].any()  # the root: exactly zero
    factors = np.ones(X.shape[0]) if weights is None else weights
    marginals = tree.upward(probabilities) * factors[:, None]
    on_path = tree.upward(np.eye(tree.n_leaves)[leaves]) * factors[:, None]
    residuals = watched.residuals[1:, : X.shape[0]].T
    np.testing.assert_allclose(residuals + on_path[:, 1:], marginals[:, 1:], rtol=0, atol=1e-12)


def test_weights_of_the_root_change_nothing():
    X, leaves, tree, _ = random_problem(5)
    oracle = TreeOracle(X, leaves, tree)
    w = random_weights(oracle, 5)
    at_root = w.coordinates % len(tree) == 0
    assert at_root.any()
    without = SparseVector(w.coordinates[~at_root], w.values[~at_root])
    assert oracle.at(w).value == oracle.at(without).value


@KERNELS
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_gap_is_that_of_the_dual_computed_leaf_by_leaf(kernels, l2):
    X, leaves, tree, weights = random_problem(6, weighted=True)
    oracle = TreeOracle(X, leaves, tree, sample_weight=weights, kernels=kernels)
    lam = 0.7
    result = minimize(oracle, lam, l2=l2, tol=0.0, max_iter=7)
    w = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
    coef = oracle.unpack(w).toarray()
    loss, gradient, p = brute_force(X, leaves, tree, weights, coef)
    objective = loss + lam * np.abs(coef).sum() + l2 / 2 * (coef**2).sum()
    assert result.fun == pytest.approx(objective, rel=1e-13)
    gaps = []  # dual value of the mixtures (1 - s) δ_y + s P: their entropy minus Ω*(s g)
    for s in [min(1.0, lam / np.abs(gradient[1:]).max())] + [1.0] * (l2 > 0):
        q = (1 - s) * np.eye(tree.n_leaves)[leaves] + s * p
        excess = np.maximum(np.abs(s * gradient) - lam * (1 + 1e-14), 0)
        conjugate = (excess**2).sum() / (2 * l2) if l2 else 0.0
        gaps.append(objective - (weights @ -(q * np.log(q)).sum(axis=1) - conjugate))
    stop = objective - best_bound(oracle.at(w), w, lam, l2)
    assert stop == pytest.approx(min(gaps), rel=0, abs=1e-12 * max(1.0, objective))


def best_bound(point, w, lam, l2):
    """Return ``-ℓ*(s g) - Ω*(-s g)`` at the better of the two scales."""
    one = np.ones(1)
    penalty = Local(lam * one, l2 * one, -math.inf * one, math.inf * one)
    sweep = point.sweep(lam, w.coordinates)
    bounds = [-point.conjugate(min(1.0, lam / sweep.largest))]  # none exceeds λ then
    if l2 > 0.0:
        bounds.append(-point.conjugate(1.0) - penalty.conjugate(sweep.gradient.values))
    return max(bounds)


@KERNELS
def test_gradient_is_the_derivative_of_the_value(kernels):
    X, leaves, tree, weights = random_problem(7, weighted=True)
    oracle = TreeOracle(X, leaves, tree, sample_weight=weights, kernels=kernels)
    point = oracle.at(random_weights(oracle, 7))
    coordinates = np.arange(1, oracle.n_coordinates, 7)
    g = point.gradient(coordinates)
    h = 1e-6
    for coordinate, expected in zip(coordinates, g, strict=True):
        line = point.along(SparseVector(np.array([coordinate]), np.ones(1)))
        slope = (line.value(h) - line.value(-h)) / (2 * h)
        assert slope == pytest.approx(expected, abs=2e-8)


@KERNELS
@pytest.mark.parametrize("scale", [300.0, 1e4])
def test_scores_of_any_size_are_safe(kernels, scale):
    # With a scale of 300 some samples are in the safe range and others in the log domain.
    X, leaves, tree, _ = random_problem(8, n_nodes=30)
    oracle = TreeOracle(X, leaves, tree, kernels=kernels)
    w = random_weights(oracle, 8, scale=scale, share=0.1)
    point = oracle.at(w)
    loss, gradient, _ = brute_force(X, leaves, tree, None, oracle.unpack(w).toarray())
    assert point.value == pytest.approx(loss, rel=1e-13)
    np.testing.assert_allclose(dense_gradient(oracle, point)[1:], gradient[1:], rtol=0, atol=1e-9)


def test_steps_along_a_direction_and_back():
    X, leaves, tree, weights = random_problem(9, weighted=True)
    oracle = TreeOracle(X, leaves, tree, sample_weight=weights)
    w, d = random_weights(oracle, 1), random_weights(oracle, 2)
    line = oracle.at(w).along(d)
    values = {step: line.value(step) for step in (1.0, 0.5, 0.25)}
    point = line.accept(0.25)
    assert point.value == values[0.25]
    g = point.gradient(all_of(oracle))
    for step, value in values.items():
        fresh = TreeOracle(X, leaves, tree, sample_weight=weights)
        there = fresh.at(w.plus(d, step))
        assert there.value == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(there.gradient(all_of(fresh)), g, rtol=0, atol=1e-12)
    at_rest = point.along(SparseVector.empty()).value(0.0)
    assert at_rest == pytest.approx(values[0.25], rel=1e-14)


def test_lines_may_be_looked_along_in_turn():
    X, leaves, tree, _ = random_problem(9)
    oracle = TreeOracle(X, leaves, tree)
    point = oracle.at(random_weights(oracle, 1))
    one, other = (point.along(random_weights(oracle, seed)) for seed in (2, 3))
    values = [line.value(0.5) for line in (one, other)]
    assert [line.value(0.5) for line in (one, other)] == values
    assert one.accept(0.5).value == values[0]
    with pytest.raises(SpentPointError):
        other.value(0.5)


def test_at_and_lines_call_each_kernel_once():
    X, leaves, tree, _ = random_problem(9)
    watched = Watched(_kernels)
    oracle = TreeOracle(X, leaves, tree, kernels=watched)
    point = oracle.at(random_weights(oracle, 1))
    assert watched.calls == ["move", "forward", "backward"]
    line = point.along(random_weights(oracle, 2))
    line.value(1.0)
    line.value(0.5)
    line.accept(0.5)
    assert watched.calls[3:] == ["move", "forward", "forward", "backward"]


@pytest.mark.parametrize("spend", ["trial", "accept", "at"])
def test_a_spent_point_says_so(spend):
    X, leaves, tree, _ = random_problem(9)
    oracle = TreeOracle(X, leaves, tree)
    point = oracle.at(SparseVector.empty())
    if spend == "at":
        oracle.at(random_weights(oracle, 1))
    else:
        line = point.along(random_weights(oracle, 1))
        line.value(1.0)
        if spend == "accept":
            line.accept(1.0)
    asked = [
        lambda: point.gradient(np.array([1])),
        lambda: point.sweep(0.0),
        lambda: point.conjugate(0.5),
    ]
    if spend != "trial":  # after a trial, other lines may begin here
        asked.append(lambda: point.along(SparseVector.empty()))
    for ask in asked:
        with pytest.raises(SpentPointError, match=r"Ask for what you need"):
            ask()
    assert point.value > 0.0  # nothing more to pay, at any time


@KERNELS
@pytest.mark.parametrize("weighted", [False, True])
def test_restricted_losses_are_those_of_the_samples_alone(kernels, weighted):
    X, leaves, tree, weights = random_problem(16, n_samples=30, weighted=weighted)
    whole = TreeOracle(X, leaves, tree, sample_weight=weights, kernels=kernels)
    w = random_weights(whole, 16)
    chosen = np.array([0, 3, 4, 11, 29])
    part = whole.restrict(chosen, 2.5)
    assert (part.n_samples, part.n_coordinates) == (5, whole.n_coordinates)
    assert part.n_parameters == whole.n_parameters
    assert part.pass_cost() < whole.pass_cost()
    factors = 2.5 * (np.ones(30) if weights is None else weights)[chosen]
    coef = whole.unpack(w).toarray()
    rows = sp.csr_array(X[chosen])
    loss, gradient, _ = brute_force(rows, leaves[chosen], tree, factors, coef)
    point = part.at(w)
    assert point.value == pytest.approx(loss, rel=1e-13)
    np.testing.assert_allclose(dense_gradient(part, point)[1:], gradient[1:], rtol=0, atol=1e-12)
    alone = TreeOracle(rows, leaves[chosen], tree, sample_weight=factors, kernels=kernels)
    known = alone.pack(whole.unpack(SparseVector(all_of(whole), 1.0 + all_of(whole))))
    np.testing.assert_allclose(
        part.curvatures(known.values.astype(int) - 1), alone.curvatures(known.coordinates)
    )


@pytest.mark.parametrize("samples", [[3, 1], [1, 1], [-1, 2], [0, 21], [[0, 1]]])
def test_samples_to_restrict_to_ascend_within_the_data(samples):
    X, leaves, tree, _ = random_problem(9)
    with pytest.raises(ValueError, match="numbers from 0 to 20, ascending"):
        TreeOracle(X, leaves, tree).restrict(np.array(samples))


def test_restricted_blocks_and_samples_are_of_the_restricted_loss():
    X, leaves, tree, weights = random_problem(17, weighted=True)
    part = TreeOracle(X, leaves, tree, sample_weight=weights).restrict(np.arange(0, 21, 2))
    value = part.at(w := random_weights(part, 17)).value
    steps, blocks = part.samples(), part.blocks()
    steps.restart(w)
    blocks.restart(w)
    steps.weights()
    assert steps.loss(np.arange(part.n_samples)) == pytest.approx(value, rel=1e-12)
    assert blocks.loss() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("n_nodes", [12, 150], ids=["one tile", "five tiles"])
@pytest.mark.parametrize("level", [0.0, 0.5, 3.0, 1e6, math.inf])
def test_sweep_finds_exactly_the_entries_above_the_level(n_nodes, level):
    X, leaves, tree, weights = random_problem(
        10, n_nodes=n_nodes, n_samples=60, n_features=30, weighted=True
    )
    oracle = TreeOracle(X, leaves, tree, sample_weight=weights)
    point = oracle.at(random_weights(oracle, 10, share=0.05))
    g = point.gradient(all_of(oracle))
    sweep = point.sweep(level)
    np.testing.assert_array_equal(sweep.gradient.coordinates, np.flatnonzero(np.abs(g) > level))
    np.testing.assert_allclose(sweep.gradient.values, g[np.abs(g) > level], rtol=0, atol=1e-12)
    assert sweep.largest == pytest.approx(np.abs(g).max(), rel=1e-12)
    kept = np.arange(1, oracle.n_coordinates, 11)
    both = np.union1d(kept, np.flatnonzero(np.abs(g) > level))
    sweep = point.sweep(level, kept)
    np.testing.assert_array_equal(sweep.gradient.coordinates, both)
    np.testing.assert_allclose(sweep.gradient.values, g[both], rtol=0, atol=1e-12)


def test_compiled_kernels_agree_with_the_reference_over_a_whole_fit():
    X, leaves, tree, weights = random_problem(11, n_nodes=80, n_samples=300, weighted=True)
    fits = [
        minimize(TreeOracle(X, leaves, tree, sample_weight=weights, kernels=kernels), 2.0, tol=1e-8)
        for kernels in (_kernels, tree_reference)
    ]
    assert fits[0].fun == pytest.approx(fits[1].fun, rel=1e-9)
    assert all(fit.success for fit in fits)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_a_bit(n_jobs):
    X, leaves, tree, weights = random_problem(
        12, n_nodes=150, n_samples=700, n_features=40, weighted=True
    )
    results = [
        minimize(
            TreeOracle(X, leaves, tree, sample_weight=weights, n_jobs=jobs), 3.0, max_iter=15, tol=0
        )
        for jobs in (1, n_jobs)
    ]
    one, many = results
    assert one.fun == many.fun
    assert one.gap == many.gap
    np.testing.assert_array_equal(one.x.coords[0], many.x.coords[0])
    np.testing.assert_array_equal(one.x.data, many.x.data)


def test_integer_weights_count_samples_several_times():
    X, leaves, tree, _ = random_problem(13)
    counts = np.random.default_rng(0).integers(0, 4, X.shape[0])
    rows = np.repeat(np.arange(X.shape[0]), counts)
    weighted = TreeOracle(X, leaves, tree, sample_weight=counts.astype(float))
    repeated = TreeOracle(sp.csr_array(X[rows]), leaves[rows], tree)
    w = weighted.unpack(random_weights(weighted, 13))
    one, other = weighted.at(weighted.pack(w)), repeated.at(repeated.pack(w))
    assert one.value == pytest.approx(other.value, rel=1e-13)
    np.testing.assert_allclose(
        dense_gradient(weighted, one), dense_gradient(repeated, other), atol=1e-12
    )


def test_pack_is_the_inverse_of_unpack_and_drops_unknown_features():
    X, leaves, tree, _ = random_problem(14, density=0.6)
    X = sp.csr_array(sp.hstack([X, sp.csr_array((X.shape[0], 2))]))  # two features never occur
    oracle = TreeOracle(X, leaves, tree)
    w = random_weights(oracle, 14)
    coef = oracle.unpack(w)
    coef = sp.csr_array(coef + sp.csr_array(([1.0], ([2], [6])), shape=coef.shape))
    back = oracle.pack(coef)
    np.testing.assert_array_equal(back.coordinates, w.coordinates)
    np.testing.assert_array_equal(back.values, w.values)
    assert oracle.n_parameters == len(tree) * 7


def test_all_small_trees():
    """Every tree with up to five nodes: shapes such as chains and single leaves included."""
    rng = np.random.default_rng(15)
    X = sp.csr_array(rng.normal(size=(9, 3)))
    for n_nodes in range(1, 6):
        for parents in itertools.product(*(range(k) for k in range(1, n_nodes))):
            tree = Hierarchy.from_parents([-1, *parents])
            leaves = rng.integers(0, tree.n_leaves, 9)
            oracle = TreeOracle(X, leaves, tree)
            w = random_weights(oracle, n_nodes)
            point = oracle.at(w)
            loss, gradient, _ = brute_force(X, leaves, tree, None, oracle.unpack(w).toarray())
            assert point.value == pytest.approx(loss, rel=1e-13, abs=1e-13)
            np.testing.assert_allclose(dense_gradient(oracle, point)[1:], gradient[1:], atol=1e-12)
