from __future__ import annotations

import pytest

from proxqn.minimization import minimize
from proxqn.problem import SparseVector
from replication.problems.load import load
from replication.problems.spec import ProblemSpec
from replication.problems.tree_shape import LEAVES, NODES, tree_like_the_papers


@pytest.mark.parametrize("kind", ["ocr", "generated"])
def test_a_small_problem_can_be_minimised_and_scored(kind):
    problem = load(ProblemSpec(kind, quick=True))
    result = minimize(problem.oracle, 1.0, tol=0.1)
    weights = SparseVector(result.x.coords[0].astype("int64"), result.x.data)
    fitted, nothing = problem.score(weights), problem.score(SparseVector.empty())
    assert fitted["accuracy"] > nothing["accuracy"]
    assert problem.sizes["weights"] == problem.oracle.n_parameters


def test_the_tree_has_the_papers_shape():
    tree = tree_like_the_papers()
    assert len(tree) == 2388
    assert len(tree.leaf_nodes) == 1139
    for depth, (n_nodes, n_leaves) in enumerate(zip(NODES, LEAVES, strict=True), start=1):
        assert (tree.depth == depth).sum() == n_nodes
        assert (tree.depth[tree.leaf_nodes] == depth).sum() == n_leaves


def test_the_challenges_own_tree_is_used_where_it_is_there(challenge):
    problem = load(ProblemSpec("generated", quick=True, folder=str(challenge)))
    assert problem.sizes["leaves"] == 4


def test_data_are_told_apart_by_their_files(challenge, tmp_path):
    here = ProblemSpec("lshtc", folder=str(challenge), train="validation")
    assert here.identity == ProblemSpec.from_json(here.to_json()).identity
    assert str(challenge) not in str(here.identity)
    (tmp_path / "cat_hier.txt").write_text("1 2\n1 3\n")
    there = ProblemSpec("lshtc", folder=str(tmp_path), train="validation")
    assert here.identity != there.identity
