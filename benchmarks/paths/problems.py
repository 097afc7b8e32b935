"""The losses, by name. Those marked ``*`` were not looked at while paths were made."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import numpy as np
from benchmarks.everyday.corpora import Corpus
from benchmarks.everyday.problems import BY_NAME
from benchmarks.peers.problem import Problem
from benchmarks.problems import conll, ocr

from proxqn.features.encoding import SequenceEncoder
from proxqn.losses.chain.oracle import ChainOracle, Pairs

SMALLEST = 2.0  # λ of CoNLL-2000's path
# Everyday problems, each with a λ of theirs.
CHANGES = ("tweets 0.5", "chunks 1", "xpos 2", "references 0.5 *", "spanish 1 *", "genes 3 *",
           "sensors *")  # fmt: skip


def corpus(name: str) -> Corpus:
    """Return an everyday problem's training part."""
    return BY_NAME[name.removesuffix(" *")].load().split()[0]


def everyday(name: str) -> tuple[ChainOracle, float, float]:
    """Return an everyday problem's loss, λ and ridge."""
    problem, data = BY_NAME[name.removesuffix(" *")], corpus(name)
    encoded = SequenceEncoder().fit_transform(data.X)
    classes, y = np.unique(list(chain.from_iterable(data.y)), return_inverse=True)
    pairs = Pairs.ALL if problem.all_pairs else Pairs.OBSERVED
    oracle = ChainOracle(encoded.X, y, encoded.lengths, n_labels=len(classes), pairs=pairs)
    return oracle, problem.c1, 2.0 * problem.c2


def _oracle(problem: Problem, pairs: Pairs) -> ChainOracle:
    return ChainOracle(
        problem.X, problem.y, problem.lengths, n_labels=problem.n_labels, pairs=pairs
    )


LARGE: dict[str, Callable[[], ChainOracle]] = {
    "ocr-1": lambda: _oracle(ocr(1), Pairs.ALL),
    "ocr-2": lambda: _oracle(ocr(2), Pairs.ALL),
    "conll": lambda: _oracle(conll(), Pairs.OBSERVED),
}
