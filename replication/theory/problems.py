"""Small real problems on which the theory can be checked: the paper's OCR letters, seen coarsely.

Both are CRFs whose Hessian is singular for two reasons the paper names: the model has more weights
than it needs (adding the same number to a feature's weights under all labels changes nothing), and
features repeat each other. They are small enough to write down all labelings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
import scipy.sparse as sp

from proxqn import ChainOracle, Hierarchy, lambda_max
from proxqn.datasets import load_ocr
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import Floats, Ints, Oracle
from replication.theory.labelings import Labelings

VOWELS: Final = tuple("aeiou")
MAX_LENGTH: Final = 6  # 2^6 labelings
TREE: Final = {"vowel": ["a", "e", "o"], "consonant": ["n", "r", "t"]}
LETTERS_OF_TREE: Final = tuple(TREE["vowel"] + TREE["consonant"])


@final
@dataclass(frozen=True)
class TheoryProblem:
    """A loss as an oracle and written out, and a λ.

    ``oracle`` is what the solvers see; ``labelings`` has the same loss by enumeration.
    """

    name: str  # for use in a sentence
    description: str
    oracle: Oracle
    labelings: Labelings
    lam: float


def vowel_chain(n_words: int, share: float = 0.2) -> TheoryProblem:
    """Return short OCR words whose letters are to be told apart as vowels and consonants.

    Parameters
    ----------
    n_words : int
        The number of words of at most ``MAX_LENGTH`` letters.
    share : float
        λ as a fraction of λ_max.
    """
    ocr = load_ocr(degree=1)
    short = _spread(np.flatnonzero(ocr.lengths_train <= MAX_LENGTH), n_words)
    lengths, ends = ocr.lengths_train[short], np.cumsum(ocr.lengths_train)[short]
    rows = np.concatenate([np.arange(end - n, end) for n, end in zip(lengths, ends, strict=True)])
    X = ocr.X_train[rows].toarray().astype(np.float64)
    X = X[:, X.any(axis=0)]
    labels = np.isin(ocr.y_train[rows], VOWELS).astype(np.int64)
    oracle = ChainOracle(sp.csr_array(X), labels, lengths, n_labels=2)
    return TheoryProblem(
        name=f"the chain of {n_words} words",
        description=(
            f"{n_words} words of the OCR data ({len(rows)} letters as 16 x 8 pixels and a bias), "
            "each letter labelled vowel or consonant by a linear-chain CRF"
        ),
        oracle=oracle,
        labelings=Labelings.of_chain(X, labels, lengths, 2),
        lam=share * lambda_max(oracle),
    )


def letter_tree(n_letters: int, share: float = 0.2) -> TheoryProblem:
    """Return OCR letters, six of the alphabet, in a tree of vowels and consonants.

    The pictures are coarse: 8 x 4 blocks of 2 x 2 pixels, each the share of ink, and a bias.
    """
    ocr = load_ocr(degree=1)
    rows = _spread(np.flatnonzero(np.isin(ocr.y_train, LETTERS_OF_TREE)), n_letters)
    pictures = ocr.X_train[rows].toarray()[:, :-1].reshape(-1, 8, 2, 4, 2)  # [n, 16, 8] in blocks
    blocks: Floats = pictures.mean(axis=(2, 4)).reshape(len(rows), -1)
    X = np.hstack([blocks, np.ones((len(rows), 1))])
    X = X[:, X.any(axis=0)]
    tree = Hierarchy.from_nested(TREE)
    leaves = tree.leaf_index(ocr.y_train[rows])
    oracle = TreeOracle(sp.csr_array(X), leaves, tree)
    return TheoryProblem(
        name=f"the tree with {len(rows)} letters",
        description=(
            f"{len(rows)} letters of the OCR data (8 x 4 shares of ink and a bias), classified "
            f"into {tree.n_leaves} leaves of a tree of {len(tree)} nodes"
        ),
        oracle=oracle,
        labelings=Labelings.of_tree(X, leaves, tree),
        lam=share * lambda_max(oracle),
    )


def _spread(positions: Ints, n: int) -> Ints:
    """Return n of the positions, evenly spread: neighbours in the file are the same word."""
    return positions[np.linspace(0, len(positions) - 1, n).astype(np.int64)]
