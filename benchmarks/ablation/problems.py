"""The problems of the ablation, by name: pixels, text under many λ, a lattice, a tree.

Several share their data, which are encoded once and kept in a folder for the runs to load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.data import data_file
from benchmarks.everyday.corpora import word_features
from benchmarks.peers.problem import Problem
from benchmarks.problems import conll, ocr

from proxqn.datasets import load_newsgroups_tree
from proxqn.features.encoding import SequenceEncoder
from proxqn.io.readers import read_columns, read_conllu
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import Oracle

EDGE_FEATURES = 300  # of the lattice: the first of the data's


def _text(records: Iterable[Any], form: int) -> Problem:
    """Encode sentences; ``form`` is the column of the word."""
    words, labels = [], []
    for record in records:
        words.append([row[form] for row in record.tokens])
        labels.append(record.labels)
    dicts = [[word_features(sentence, i) for i in range(len(sentence))] for sentence in words]
    encoded = SequenceEncoder().fit_transform(dicts)
    y = np.array(list(chain.from_iterable(labels)))
    return Problem.from_labels(encoded.X, y, encoded.lengths, np.unique(y))


def _wnut() -> Problem:
    return _text(read_columns(data_file("wnut17", "train.conll")), 0)


def _ewt(label: str) -> Problem:
    return _text(read_conllu(data_file("ud_ewt", "dev.conllu"), label=label), 1)


DATA: dict[str, Callable[[], Problem]] = {
    "ocr": ocr,
    "conll": conll,
    "conll-600": lambda: conll(600),
    "wnut": _wnut,
    "xpos": lambda: _ewt("XPOS"),
    "upos": lambda: _ewt("UPOS"),
    "ocr-quick": lambda: ocr(1, 1500),
    "conll-quick": lambda: conll(300),
}


@dataclass(frozen=True)
class Case:
    """A problem to solve with and without each idea.

    Parameters
    ----------
    data : str
        A key of ``DATA``; empty where the oracle needs none of it.
    make : callable
        From the data, or from nothing, to the loss.
    """

    name: str
    title: str
    data: str
    make: Callable[..., Oracle]
    lam: float
    l2: float = 0.0

    def oracle(self, folder: Path) -> Oracle:
        """Return the loss; data come from the folder."""
        return self.make(Problem.load(_file(folder, self.data))) if self.data else self.make()


def prepare(data: str, folder: Path) -> None:
    """Encode data for the runs to load."""
    path = _file(folder, data)
    if data and not path.exists():
        beside = folder / f"part-{data}.npz"
        DATA[data]().save(beside)
        beside.replace(path)


def _file(folder: Path, data: str) -> Path:
    return folder / f"{data}.npz"


def _all_pairs(problem: Problem) -> Oracle:
    return ChainOracle(problem.X, problem.y, problem.lengths, n_labels=problem.n_labels)


def _observed(problem: Problem) -> Oracle:
    return ChainOracle(
        problem.X, problem.y, problem.lengths, n_labels=problem.n_labels, pairs=Pairs.OBSERVED
    )


def _lattice(problem: Problem) -> Oracle:
    return LatticeOracle(
        problem.X,
        problem.y,
        problem.lengths,
        n_labels=problem.n_labels,
        edges=problem.X[:, :EDGE_FEATURES],
        pairs=Pairs.OBSERVED,
    )


def _newsgroups() -> Oracle:
    """Return the tree of the groups over posts of length 1, words by the logarithm of counts."""
    data = load_newsgroups_tree(data_file("newsgroups", "tree_bydate.npz"))
    X = sp.csr_array(data.X_train).astype(np.float64)
    X.data = np.log1p(X.data)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-12)) @ X)
    X.sort_indices()
    tree = data.hierarchy
    return TreeOracle(X, tree.leaf_index(list(data.y_train)), tree)


def _chain(name: str, title: str, data: str, make: Any, lam: float, l2: float = 0.0) -> Case:
    ridge = f", ridge {l2:g}" if l2 else ""
    return Case(name, f"{title}, λ = {lam:g}{ridge}", data, make, lam, l2)


_EWT = "UD-EWT's development part"
FULL = (
    *(_chain(f"ocr-{lam:g}", "OCR, degree 2", "ocr", _all_pairs, lam) for lam in (500, 100, 50, 5)),
    _chain("conll-observed-20", "CoNLL-2000, observed pairs", "conll", _observed, 20.0),
    _chain("conll-observed-1", "CoNLL-2000, observed pairs", "conll", _observed, 1.0),
    _chain("conll-all-20", "CoNLL-2000, all pairs", "conll", _all_pairs, 20.0),
    _chain("conll-all-1", "CoNLL-2000, all pairs", "conll", _all_pairs, 1.0),
    *(
        _chain(f"wnut-{lam:g}", "WNUT-17, observed pairs", "wnut", _observed, lam)
        for lam in (5.0, 0.5, 0.05)
    ),
    _chain("wnut-net", "WNUT-17, observed pairs", "wnut", _observed, 0.1, 0.2),
    _chain("xpos-2", f"{_EWT}, XPOS, observed pairs", "xpos", _observed, 2.0),
    _chain("upos-net", f"{_EWT}, UPOS, all pairs", "upos", _all_pairs, 0.3, 0.1),
    _chain("lattice-2", "CoNLL-2000, 600 sentences, a lattice", "conll-600", _lattice, 2.0),
    *(
        Case(f"news-{lam:g}", f"20 Newsgroups, the tree, λ = {lam:g}", "", _newsgroups, lam)
        for lam in (1.0, 0.1)
    ),
)
QUICK = (
    _chain("ocr-quick", "OCR pixels, 1,500 words", "ocr-quick", _all_pairs, 16.0),
    _chain("conll-quick", "CoNLL-2000, 300 sentences", "conll-quick", _observed, 1.0),
)
CASES = {case.name: case for case in FULL + QUICK}
