"""Train the paper's OCR model on the bundled letters and show what came out.

``make demo`` runs this; ``python examples/ocr.py --all`` fits the three λ of the paper's table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from proxqn import ChainCRF, datasets
from proxqn.ui.plots import plot_trace
from proxqn.ui.tables import RunSummary, format_columns, phase_table, result_table

# Zhong, Yen, Dhillon and Ravikumar (NIPS 2014): nonzeros, per-letter test accuracy. The paper drew
# its own random split, so the figures need not be equal, and does not say how it chose the letters:
# as the most probable word (Viterbi) or each one by its own probability.
PAPER = {50.0: (2542, 0.8349), 100.0: (1544, 0.7366), 500.0: (223, 0.4079)}

INTRODUCTION = """\
Reading handwritten words with a sparse conditional random field
-----------------------------------------------------------------
Data      {train:,} words to learn from and {test:,} to test on, {letters:,} letters in all.
          A letter is an image of 16 x 8 pixels (Rob Kassel, MIT; Ben Taskar).
Features  pixels, pairs of pixels and a bias: {features:,}; 26 labels, "a" to "z".
Model     a weight for every (letter, feature) and (letter, next letter): {weights:,} weights.
Task      minimise  -log P(words | images) + lambda * sum |weights|.  The penalty keeps most
          weights at exactly zero, and the fit ends with a proof of how close it is to the optimum:
          "relative gap" is the most the objective could still fall, as a fraction of itself.
"""


def main() -> None:
    options = parse_arguments()
    sys.stdout.reconfigure(line_buffering=True)  # in step with the progress, also when piped
    print("Loading the bundled letters ...\n")
    ocr = datasets.load_ocr(degree=options.degree)
    introduce(ocr)
    runs, by_letter = [], []
    for lam in [500.0, 100.0, 50.0] if options.all else [options.lam]:
        print(f"Training with lambda = {lam:g} until the relative gap is {options.tol:g}:")
        model = ChainCRF(lam=lam, tol=options.tol, stop="gap", n_jobs=options.n_jobs, verbose=1)
        model.fit(ocr.X_train, ocr.y_train, lengths=ocr.lengths_train)
        if len(model.trace_) < 2:
            sys.exit("Interrupted before the first iteration: nothing to show.")
        accuracy = model.score(ocr.X_test, ocr.y_test, lengths=ocr.lengths_test)
        runs.append(RunSummary.from_estimator(model, accuracy=accuracy))
        by_letter.append(letter_accuracy(model, ocr))
        picture = options.out / f"ocr-lambda-{lam:g}.png"
        plot_trace(model.trace_, picture, title=f"OCR, λ = {lam:g}")
        print()
    conclude(runs)
    if options.degree == 2 and all(run.lam in PAPER for run in runs):
        print("\nBeside the paper's table (its own random split of the words):")
        print(paper_table(runs, by_letter))
    print("\nSome test words, as written and as read:")
    print(reading_table(model, ocr))
    print(f"\nPicture of the run (error, nonzeros, time): {picture}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lam", type=float, default=100.0, help="λ (default: 100)")
    parser.add_argument("--all", action="store_true", help="λ = 500, 100 and 50, beside the paper")
    parser.add_argument("--tol", type=float, default=1e-4, help="relative gap (default: 1e-4)")
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads (default: all processors)")
    parser.add_argument("--degree", type=int, default=2, choices=[1, 2], help="1: no pixel pairs")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    return parser.parse_args()


def introduce(ocr: Any) -> None:
    n_features, n_labels = len(ocr.feature_names), len(ocr.target_names)
    print(
        INTRODUCTION.format(
            train=len(ocr.lengths_train),
            test=len(ocr.lengths_test),
            letters=len(ocr.y_train) + len(ocr.y_test),
            features=n_features,
            weights=n_labels * n_features + n_labels**2,
        )
    )


def letter_accuracy(model: ChainCRF, ocr: Any) -> float:
    """Accuracy if each letter is chosen by its own probability instead of the word's."""
    probability = model.predict_marginals(ocr.X_test, lengths=ocr.lengths_test)
    return float((model.classes_[probability.argmax(axis=1)] == ocr.y_test).mean())


def conclude(runs: list[RunSummary]) -> None:
    print(result_table(runs))
    print(
        f"\nThe gap is a proof: no weights at all bring the objective for lambda = "
        f"{runs[-1].lam:g} below {runs[-1].objective - runs[-1].gap:,.4f}."
    )
    print("\nWhere the time went (last run):")
    print(phase_table(runs[-1]))


def paper_table(runs: list[RunSummary], by_letter: list[float]) -> str:
    rows = [
        [
            f"{run.lam:g}",
            f"{run.nnz:,}",
            f"{PAPER[run.lam][0]:,}",
            f"{run.accuracy:.4f}",
            f"{accuracy:.4f}",
            f"{PAPER[run.lam][1]:.4f}",
        ]
        for run, accuracy in zip(runs, by_letter, strict=True)
    ]
    accuracies = ["accuracy: best word", "best letters", "paper"]
    return format_columns(["lambda", "nonzeros", "paper", *accuracies], rows)


def reading_table(model: ChainCRF, ocr: Any, n_words: int = 6) -> str:
    """Show words from all over the test data: it is sorted by word."""
    ends = np.cumsum(ocr.lengths_test)
    rows = []
    for i in np.linspace(0, len(ends) - 1, n_words).astype(int):
        letters = slice(ends[i] - ocr.lengths_test[i], ends[i])
        written = ocr.y_test[letters]
        read = model.predict(ocr.X_test[letters], lengths=[len(written)])
        right = int((read == written).sum())
        rows.append(["".join(written), "".join(read), f"{right} of {len(written)}"])
    return format_columns(["written", "read", "letters right"], rows, left=2)


if __name__ == "__main__":
    main()
