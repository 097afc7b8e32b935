"""The data of an experiment, loaded: a loss to minimise and a score on held-out data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import ChainOracle, Hierarchy
from proxqn.datasets import load_lshtc, load_ocr, make_lshtc_like
from proxqn.datasets.lshtc import load_tree
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import Ints, Oracle, SparseVector
from replication.problems.chain_labels import best_letters, best_word
from replication.problems.spec import ProblemSpec
from replication.problems.tree_shape import tree_like_the_papers

_QUICK_WORDS: Final = 300, 200  # to train and to test on
_QUICK_DOCUMENTS: Final = 300, 150
_QUICK_FEATURES: Final = 1500
_PAPER_DOCUMENTS: Final = 4463, 1858  # the paper's training file; the dry-run's test file
_PAPER_FEATURES: Final = 51_033
_BLOCK: Final = 500  # documents scored at a time: nodes x documents are dense

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
    letters, test_letters = (
        np.searchsorted(ocr.target_names, y).astype(np.int32) for y in (ocr.y_train, ocr.y_test)
    )
    train = _Words(ocr.X_train, letters, ocr.lengths_train)
    test = _Words(ocr.X_test, test_letters, ocr.lengths_test)
    if spec.quick:
        train, test = train.first(_QUICK_WORDS[0]), test.first(_QUICK_WORDS[1])
    oracle = ChainOracle(
        train.X, train.letters, train.lengths,
        n_labels=len(ocr.target_names), n_jobs=spec.threads,
    )  # fmt: skip

    def score(w: SparseVector) -> dict[str, float]:
        coef, transitions = oracle.unpack(w)
        scores = (test.X @ coef.T).toarray()
        words = best_word(scores, transitions, test.lengths)
        letter_by_letter = best_letters(scores, transitions, test.lengths)
        return {
            "accuracy": float(np.mean(words == test.letters)),
            "accuracy by letter": float(np.mean(letter_by_letter == test.letters)),
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


@final
@dataclass(frozen=True)
class _Words:
    """Words: a row of X for each of their letters, one word after the other."""

    X: sp.csr_array
    letters: NDArray[np.int32]
    lengths: NDArray[Any]  # [n_words]

    def first(self, n: int) -> _Words:
        """Return the first n words."""
        rows = int(self.lengths[:n].sum())
        return _Words(sp.csr_array(self.X[:rows]), self.letters[:rows], self.lengths[:n])


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
        coef = oracle.unpack(w)
        blocks = [
            tree.downward((coef @ test.X[at : at + _BLOCK].T).toarray(), axis=0).argmax(axis=0)
            for at in range(0, len(test.leaves), _BLOCK)
        ]
        return {"accuracy": float(np.mean(np.concatenate(blocks) == test.leaves))}

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
