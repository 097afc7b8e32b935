"""λ chosen for handwritten words: a certified path and a cross-validation, as a picture.

python examples/choose_lambda.py [--words 600] [--eps 0.02] [--out path.svg]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
from sklearn.model_selection import KFold

from proxqn import ChainCRFCV
from proxqn.datasets.ocr import load_ocr
from proxqn.estimators.cv.choice import Choice


def main() -> None:
    """Fit, print the scores, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=600)
    parser.add_argument("--eps", type=float, default=0.02)
    parser.add_argument("--out", type=Path, default=Path("path.svg"))
    args = parser.parse_args()
    ocr = load_ocr(degree=1)
    lengths = ocr.lengths_train[: args.words]
    n = int(lengths.sum())
    folds = KFold(5, shuffle=True, random_state=0)
    cv = ChainCRFCV(eps=args.eps, cv=folds).fit(ocr.X_train[:n], ocr.y_train[:n], lengths)
    print(f"{'λ':>8} {'nonzeros':>9} {'score':>7} {'error':>7}")
    for row, mean, error in zip(cv.path_.rows, cv.cv_mean_, cv.cv_error_, strict=True):
        print(f"{row.lam:8.2f} {row.nnz:9,} {mean:7.4f} {error:7.4f}")
    print(cv.path_.message)
    sparser = float(cv.lams_[Choice.of(cv.cv_scores_, "1se").index])
    print(f"best λ = {cv.lam_:.3g}; within one standard error up to {sparser:.3g}")
    draw(cv, sparser, args.out)


def draw(cv: ChainCRFCV, sparser: float, file: Path) -> None:
    """Draw the path and the scores side by side."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "proxqn"  # the same file every time
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(15, 3.5), layout="constrained")
    cv.path_.plot(axes[:3])
    cv.plot(axes[3])
    axes[3].axvline(sparser, linestyle=":", color="grey")
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
