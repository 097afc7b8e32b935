"""``proxqn experiment``: the paper's tables on the data at hand.

So far the label tree (LSHTC1); the comparison with other methods is to come.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

# The paper's table for its own training file: lambda -> nonzeros, test accuracy.
PAPER_LSHTC: Final = {0.5: (28_483, 0.262648), 1.0: (4_301, 0.249731), 2.0: (1_505, 0.185684)}


@click.group()
def experiment() -> None:
    """Repeat the paper's experiments."""


@experiment.command(
    epilog="\b\n"
    "Example:\n"
    "  proxqn experiment lshtc --data dry-run_lshtc_dataset --lam 1\n"
    "\n"
    "With Task 1's train.txt in its folder this is the paper's own problem (4,463 documents, "
    "51,033 features). Without it validation.txt stands in: other documents, other figures."
)
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder with cat_hier.txt and the task folders.",
)
@click.option("--task", default="Task1", show_default=True, help="A task folder's name begins so.")
@click.option("--train", help="Split to train on; default: train, or validation without train.txt.")
@click.option("--test", default="test", show_default=True, help="Split to test on.")
@click.option("--lam", multiple=True, type=float, help="Several may be given; default 2, 1, 0.5.")
@click.option("--tol", default=1e-4, show_default=True, help="Of the relative duality gap.")
@click.option("--max-iter", default=1000, show_default=True, help="Iterations at the most.")
@click.option("--n-jobs", default=1, show_default=True, help="Threads; the result is the same.")
def lshtc(data: Path, task: str, train: str | None, lam: tuple[float, ...], **options: Any) -> None:
    """Classify web documents into a tree of categories, as in the paper's section 6.2."""
    split = train or default_split(data, task)
    if split != "train":
        click.echo(f"Training on {split}.txt: not the paper's training file, so other figures.")
    rows = [lshtc_row(data, task, split, each, **options) for each in lam or (2.0, 1.0, 0.5)]
    from proxqn.reports.tables import format_columns

    click.echo(format_columns(list(rows[0]), [list(row.values()) for row in rows]))


def default_split(data: Path, task: str) -> str:
    """Return train where the task has that file, validation where it has not."""
    found = list(data.glob(f"{task}*/train.txt")) or list(data.glob(f"*/{task}*/train.txt"))
    return "train" if found else "validation"


def lshtc_row(
    data: Path,
    task: str,
    train: str,
    lam: float,
    *,
    test: str,
    tol: float,
    max_iter: int,
    n_jobs: int,
) -> dict[str, str]:
    """Fit one λ and return its line of the table."""
    from proxqn import HierarchicalClassifier
    from proxqn.datasets import load_lshtc

    documents = load_lshtc(data, task, train=train, test=test)
    model = HierarchicalClassifier(
        documents.hierarchy,
        lam=lam,
        fit_intercept=False,  # the paper's model has none
        tol=tol,
        max_iter=max_iter,
        n_jobs=n_jobs,
    ).fit(documents.X_train, documents.y_train)
    nnz, accuracy = PAPER_LSHTC.get(lam, (None, None)) if task.startswith("Task1") else (None, None)
    return {
        "lambda": f"{lam:g}",
        "objective": f"{model.objective_:,.4f}",
        "relative gap": f"{model.gap_ / model.objective_:.1e}",
        "nonzeros": f"{model.coef_.nnz:,}",
        "paper": "" if nnz is None else f"{nnz:,}",
        "accuracy": f"{model.score(documents.X_test, documents.y_test):.4f}",
        "paper's": "" if accuracy is None else f"{accuracy:.4f}",
        "hier. F1": f"{model.hierarchical_score(documents.X_test, documents.y_test).f1:.4f}",
        "iterations": f"{model.n_iter_:,}",
        "seconds": f"{model.trace_[-1].seconds:.2f}",
    }
