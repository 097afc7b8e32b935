"""The data of an experiment, loaded: a loss to minimise and a score on held-out data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.datasets import load_lshtc, load_ocr, make_lshtc_like
from proxqn.datasets.lshtc import load_tree
from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.inference.chain import ChainInference
from proxqn.estimators.inference.tree import TreeInference
from proxqn.estimators.input.sequences import Tokens
from proxqn.experiments.problem_spec import ProblemSpec
from proxqn.experiments.tree_shape import tree_like_the_papers
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.chain.oracle import ChainOracle
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import Ints, Oracle, SparseVector

_QUICK_WORDS: Final = 300, 200  # to train and to test on
_QUICK_DOCUMENTS: Final = 300, 150
_QUICK_FEATURES: Final = 1500
_PAPER_DOCUMENTS: Final = 4463, 1858  # the paper's training file; the dry-run's test file
_PAPER_FEATURES: Final = 51_033

Score = Callable[[SparseVector], dict[str, float]]


@final
@dataclass(frozen=True)
class Problem:
    """A loss, a score by name of a weight vector on test data, and sizes to tell of."""

    oracle: Oracle
    score: Score
    sizes: dict[str, int]


def load(spec: ProblemSpec) -> Problem:
    """Read or generate the data."""
    if spec.kind == "ocr":
        return _ocr(spec)
    return _documents(spec)


def _ocr(spec: ProblemSpec) -> Problem:
    ocr = load_ocr(degree=1 if spec.quick else 2)
    train = Tokens(ocr.X_train, ocr.lengths_train, listed=False)
    test = Tokens(ocr.X_test, ocr.lengths_test, listed=False)
    letters, test_letters = (
        np.searchsorted(ocr.target_names, y).astype(np.int32) for y in (ocr.y_train, ocr.y_test)
    )
    if spec.quick:
        train, letters = _first(train, letters, _QUICK_WORDS[0])
        test, test_letters = _first(test, test_letters, _QUICK_WORDS[1])
    oracle = ChainOracle(
        train.X, letters, train.lengths, n_labels=len(ocr.target_names), n_jobs=spec.threads
    )

    def score(w: SparseVector) -> dict[str, float]:
        model = ChainInference(ChainWeights.from_oracle(oracle, w, train.X.shape[1]), 1)
        words = model.best_labels(test)
        letter_by_letter = model.marginals(test).argmax(axis=1)
        return {
            "accuracy": float(np.mean(words == test_letters)),
            "accuracy by letter": float(np.mean(letter_by_letter == test_letters)),
        }

    sizes = {
        "training words": len(train.lengths),
        "training letters": train.X.shape[0],
        "test words": len(test.lengths),
        "test letters": test.X.shape[0],
        "features": train.X.shape[1],
        "labels": len(ocr.target_names),
        "active entries": train.X.nnz,
        "weights": oracle.n_parameters,
    }
    return Problem(oracle, score, sizes)


def _first(tokens: Tokens, labels: NDArray[Any], n: int) -> tuple[Tokens, NDArray[Any]]:
    """Return the first n sequences."""
    rows = int(tokens.lengths[:n].sum())
    return Tokens(sp.csr_array(tokens.X[:rows]), tokens.lengths[:n], listed=False), labels[:rows]


@final
@dataclass(frozen=True)
class _Split:
    """Documents and their leaves."""

    X: sp.csr_array
    leaves: Ints  # [n_documents] as numbers of the tree

    def take(self, rows: slice) -> _Split:
        return _Split(sp.csr_array(self.X[rows]), self.leaves[rows])


def _documents(spec: ProblemSpec) -> Problem:
    tree, train, test = _generated(spec) if spec.kind == "generated" else _challenge(spec)
    oracle = TreeOracle(train.X, train.leaves, tree, n_jobs=spec.threads)

    def score(w: SparseVector) -> dict[str, float]:
        nothing = np.zeros(len(tree))
        every_leaf = np.arange(len(tree.leaf_nodes))
        model = TreeInference(oracle.unpack(w), nothing, tree, every_leaf)
        return {"accuracy": float(np.mean(model.most_probable(test.X) == test.leaves))}

    sizes = {
        "training documents": train.X.shape[0],
        "test documents": test.X.shape[0],
        "features": train.X.shape[1],
        "nodes of the tree": len(tree),
        "leaves": len(tree.leaf_nodes),
        "entries": train.X.nnz,
        "weights": oracle.n_parameters,
    }
    return Problem(oracle, score, sizes)


def _challenge(spec: ProblemSpec) -> tuple[Hierarchy, _Split, _Split]:
    data = load_lshtc(spec.folder or ".", spec.task, train=spec.train, test=spec.test)
    tree: Hierarchy = data.hierarchy
    train = _Split(sp.csr_array(data.X_train), _leaves(tree, data.y_train))
    test = _Split(sp.csr_array(data.X_test), _leaves(tree, data.y_test))
    if spec.quick:
        n_train, n_test = _QUICK_DOCUMENTS
        train, test = train.take(slice(n_train)), test.take(slice(n_test))
    return tree, train, test


def _generated(spec: ProblemSpec) -> tuple[Hierarchy, _Split, _Split]:
    tree = _tree(spec)
    n_train, n_test = _QUICK_DOCUMENTS if spec.quick else _PAPER_DOCUMENTS
    n_features = _QUICK_FEATURES if spec.quick else _PAPER_FEATURES
    data = make_lshtc_like(tree, n_train + n_test, n_features, random_state=spec.seed)
    both = _Split(sp.csr_array(data.X), _leaves(tree, data.y))
    return tree, both.take(slice(n_train)), both.take(slice(n_train, None))


def _tree(spec: ProblemSpec) -> Hierarchy:
    """Return the challenge's own tree where its folder is given, else one of its shape."""
    if spec.folder is None:
        return tree_like_the_papers(seed=spec.seed, share=0.03 if spec.quick else 1.0)
    return load_tree(spec.folder)


def _leaves(tree: Hierarchy, names: Any) -> Ints:
    return np.asarray(tree.leaf_index(names), dtype=np.int64)
