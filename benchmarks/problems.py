"""The problems of the suite, by name. ``python -m benchmarks.problems`` prints their sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from benchmarks.data import REPOSITORY, data_file
from benchmarks.generated import Shape, generate
from benchmarks.peers.problem import Problem

from proxqn.datasets.ocr import load_ocr
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.io.readers import read_columns

TEMPLATES = REPOSITORY / "examples" / "chunking.template"
LONG = Shape(200, 250, 100, n_words=1000, n_noise=1000, noise_per_token=10)
MANY = Shape(100_000, 20, 10, n_words=5000, n_noise=5000, noise_per_token=12)
# λ of the generated problems: four or five standard deviations of a noise feature's derivative,
# √(n p (1 - p)) for n occurrences and a label of probability p. Below two or so most nonzero
# weights fit noise.
LONG_LAM, MANY_LAM = 8.0, 100.0
QUICK_LONG_LAM, QUICK_MANY_LAM = 4.0, 25.0
QUICK_LONG = Shape(20, 100, 50, n_words=200, n_noise=200, noise_per_token=5)
QUICK_MANY = Shape(2_000, 20, 10, n_words=500, n_noise=500, noise_per_token=5)


@dataclass(frozen=True)
class Spec:
    """A problem to be solved by everyone.

    ``peer_iterations`` ends CRFsuite and its wrappers, which cannot be asked to stop at an error:
    enough for the last level that is worth its time; None lets their own rules decide. The
    wrappers make CRFsuite's iterations, so that on long runs fewer tell whether they differ.
    """

    name: str
    title: str
    load: Callable[[], Problem]
    lam: float
    observed_only: bool = False
    peer_iterations: int | None = None
    wrapper_iterations: int | None = None  # None: as many as CRFsuite
    tol: float = 1e-8  # of our own run, whose end is the best known optimum
    # Whether the question is when we pass the point at which CRFsuite stops by itself.
    ends_at_peer_stop: bool = False


def ocr(degree: int = 2, n_words: int | None = None) -> Problem:
    """Return the training words of the reference split, or the first of them."""
    data = load_ocr(degree=degree, dtype=np.int8)
    lengths = data.lengths_train[:n_words]
    n = int(lengths.sum())
    # Only letters that occur: CRFsuite knows no others, and would solve another problem.
    letters = np.unique(data.y_train[:n])
    return Problem.from_labels(data.X_train[:n], data.y_train[:n], lengths, letters)


def conll(n_sentences: int | None = None) -> Problem:
    """Return CoNLL-2000's training sentences under the 19 templates of CRF++'s example."""
    records = islice(read_columns(data_file("conll2000", "train.txt")), n_sentences)
    encoded = SequenceEncoder(Templates.from_file(TEMPLATES)).fit_transform(records)
    return _as_problem(encoded)


def _as_problem(encoded: Any) -> Problem:
    y = np.array(list(chain.from_iterable(encoded.labels)))
    return Problem.from_labels(encoded.X, y, encoded.lengths, np.unique(y))


def _ocr_spec(lam: float, peer_iterations: int, wrapper_iterations: int) -> Spec:
    return Spec(
        f"ocr-{lam:g}",
        f"OCR, λ = {lam:g}",
        ocr,
        lam=lam,
        peer_iterations=peer_iterations,
        wrapper_iterations=wrapper_iterations,
    )


FULL = (
    _ocr_spec(50, 400, 60),
    _ocr_spec(100, 240, 50),
    _ocr_spec(500, 120, 50),
    Spec(
        "conll-observed",
        "CoNLL-2000, observed pairs, λ = 1",
        conll,
        lam=1.0,
        observed_only=True,
        ends_at_peer_stop=True,
        tol=1e-7,
    ),
    Spec(
        "conll-all",
        "CoNLL-2000, all pairs, λ = 1",
        conll,
        lam=1.0,
        wrapper_iterations=180,
        ends_at_peer_stop=True,
        tol=1e-7,
    ),
    Spec(
        "long",
        f"generated: 100 labels, 200 sequences of 250, λ = {LONG_LAM:g}",
        lambda: generate(LONG),
        lam=LONG_LAM,
        peer_iterations=150,
    ),
    Spec(
        "many",
        f"generated: 2 million tokens, λ = {MANY_LAM:g}",
        lambda: generate(MANY),
        lam=MANY_LAM,
        peer_iterations=100,
        wrapper_iterations=30,
    ),
)
QUICK = (
    Spec("ocr-quick", "OCR pixels, 500 words, λ = 8", lambda: ocr(1, 500), lam=8.0, tol=1e-7),
    Spec(
        "conll-observed-quick",
        "CoNLL-2000, 300 sentences, observed pairs, λ = 1",
        lambda: conll(300),
        lam=1.0,
        observed_only=True,
        ends_at_peer_stop=True,
        tol=1e-6,
    ),
    Spec(
        "conll-all-quick",
        "CoNLL-2000, 300 sentences, all pairs, λ = 1",
        lambda: conll(300),
        lam=1.0,
        peer_iterations=60,
        tol=1e-6,
    ),
    Spec(
        "long-quick",
        f"generated: 50 labels, 20 sequences of 100, λ = {QUICK_LONG_LAM:g}",
        lambda: generate(QUICK_LONG),
        lam=QUICK_LONG_LAM,
        peer_iterations=60,
        tol=1e-6,
    ),
    Spec(
        "many-quick",
        f"generated: 40,000 tokens, λ = {QUICK_MANY_LAM:g}",
        lambda: generate(QUICK_MANY),
        lam=QUICK_MANY_LAM,
        peer_iterations=60,
        tol=1e-6,
    ),
)
SPECS = {spec.name: spec for spec in FULL + QUICK}


def find(names: str | None, *, quick: bool = False) -> list[Spec]:
    """Return the problems of a comma-separated list; without one, all of the full or quick set."""
    if names is None:
        return list(QUICK if quick else FULL)
    unknown = sorted(set(names.split(",")) - set(SPECS))
    if unknown:
        raise ValueError(f"no problem named {', '.join(unknown)}; there are {', '.join(SPECS)}.")
    return [SPECS[name] for name in names.split(",")]


def sizes(problem: Problem) -> dict[str, int]:
    """Return the numbers that decide the work: tokens, sequences, labels, features, entries."""
    return {
        "tokens": problem.X.shape[0],
        "sequences": len(problem.lengths),
        "labels": problem.n_labels,
        "features": problem.X.shape[1],
        "entries": int(problem.X.nnz),
    }


def main() -> None:
    """Print the sizes of all problems."""
    for spec in FULL + QUICK:
        problem = spec.load()
        numbers = ", ".join(f"{count:,} {what}" for what, count in sizes(problem).items())
        print(f"{spec.name:22s}{numbers}")


if __name__ == "__main__":
    main()
