"""The project's own losses keep every promise of the seam."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.lattice_problems import random_lattice
from tests.problems import random_chain

from proxqn import _kernels
from proxqn.features.dense import DenseColumns
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.chain import reference as chain_reference
from proxqn.losses.chain.oracle import Pairs
from proxqn.losses.function import FunctionOracle
from proxqn.losses.lattice import reference as lattice_reference
from proxqn.losses.tree import reference as tree_reference
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.testing import check_oracle
from proxqn.testing.abilities import check_rounded
from proxqn.testing.case import Case
from proxqn.testing.derivatives import check_gradient, check_parts_of_the_gradient, check_sweep
from proxqn.testing.lines import check_lines, check_other_lines, check_spent_points


def tree(n_jobs=1, *, weighted=False, kernels=_kernels):
    rng = np.random.default_rng(3)
    nodes = Hierarchy.from_parents([-1, *(int(rng.integers(0, k)) for k in range(1, 9))])
    X = sp.csr_array(rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.6))
    return TreeOracle(
        X,
        rng.integers(0, nodes.n_leaves, 20),
        nodes,
        sample_weight=rng.uniform(0.1, 2.0, 20) if weighted else None,
        n_jobs=n_jobs,
        kernels=kernels,
    )


def chain(n_jobs=1, *, weighted=False, binary=True, lengths=None, **options):
    problem = random_chain(
        5, n_labels=3, n_features=5, n_sequences=14, binary=binary, lengths=lengths
    )
    problem = problem.with_weights() if weighted else problem
    return problem.oracle(n_jobs=n_jobs, **options)


def dense_chain(n_jobs=1, **options):
    problem = random_chain(7, n_labels=3, n_features=5, n_sequences=14, binary=False)
    X = problem.X.toarray()
    dense = DenseColumns(X[:, 1:4].copy(), np.arange(1, 4))
    X[:, 1:4] = 0.0
    return replace(problem, X=sp.csr_array(X)).oracle(n_jobs=n_jobs, dense=dense, **options)


def lattice(n_jobs=1, *, weighted=False, unknown=False, lengths=None, **options):
    problem = random_lattice(
        6, n_labels=3, n_features=4, n_edge_features=3, n_sequences=14, lengths=lengths
    )
    problem = problem.with_weights() if weighted else problem
    problem = problem.with_unknown() if unknown else problem
    return problem.oracle(n_jobs=n_jobs, **options)


SLOW = (3, 1, 2, 2)  # lengths of sequences, for the kernels in NumPy
MAKERS = {
    "tree": (tree, {}),
    "tree, weighted": (tree, {"weighted": True}),
    "tree, reference": (tree, {"kernels": tree_reference}),
    "chain": (chain, {}),
    "chain, weighted, real values": (chain, {"weighted": True, "binary": False}),
    "chain, observed": (chain, {"pairs": Pairs.OBSERVED}),
    "chain, observed transitions": (chain, {"transition_pairs": Pairs.OBSERVED}),
    "chain, reference": (chain, {"kernels": chain_reference, "lengths": SLOW}),
    "chain, dense columns": (dense_chain, {}),
    "chain, dense columns, observed": (dense_chain, {"pairs": Pairs.OBSERVED}),
    "lattice": (lattice, {}),
    "lattice, weighted, observed": (lattice, {"weighted": True, "pairs": Pairs.OBSERVED}),
    "lattice, unknown labels": (lattice, {"unknown": True}),
    "lattice, reference": (lattice, {"kernels": lattice_reference, "lengths": SLOW}),
}
ALL = pytest.mark.parametrize("name", MAKERS)


@ALL
def test_our_losses_keep_every_promise(name):
    make, options = MAKERS[name]
    check_oracle(make(**options), with_jobs=lambda n_jobs: make(n_jobs, **options))


@pytest.mark.parametrize("name", [name for name in MAKERS if "reference" not in name])
def test_restricted_ones_do_too(name):
    make, options = MAKERS[name]
    oracle = make(**options)
    check_oracle(oracle.restrict(np.arange(0, oracle.n_samples, 2), 1.5), seed=1)


@pytest.mark.parametrize("lower_bound", [None, 0.0])
def test_functions_do_too(lower_bound):
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(15, 8)), rng.normal(size=15)

    def log_cosh(w):
        r = A @ w - b
        return float(np.log(np.cosh(r)).sum()), A.T @ np.tanh(r)

    check_oracle(FunctionOracle(log_cosh, 8, lower_bound=lower_bound))


@pytest.mark.parametrize("pairs", list(Pairs))
def test_single_precision_keeps_those_of_points_and_lines(pairs):
    oracle = random_chain(7, n_labels=16, n_features=4, n_sequences=1500, max_length=12).oracle(
        pairs=pairs
    )
    check_rounded(Case.of(oracle, None, 0, 1e-15, 0.3))
    single = oracle.rounded()
    assert single is not None
    assert single.rounded() is None
    case = Case.of(single, None, 0, 1e-7, 0.3)
    for check in (check_gradient, check_parts_of_the_gradient, check_sweep):
        check(case)
    for check in (check_lines, check_other_lines, check_spent_points):
        check(case)
