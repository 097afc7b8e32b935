"""``proxqn train tree``: fit a label tree to a file of labelled samples."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from proxqn.cli.train_options import fit_options, requested
from proxqn.cli.training import Job, Request, check_files, run
from proxqn.cli.tree.files import TreeReading, read_hierarchy, read_labelled
from proxqn.cli.tree.scores import TreeDev
from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.features.hierarchy import Hierarchy


@click.command(
    epilog="\b\n"
    "Example:\n"
    "  proxqn train tree train.svm --hierarchy cat_hier.txt --lam 0.5 -o model.proxqn\n"
)
@click.argument("data")
@click.option("--hierarchy", metavar="FILE",
              help="The label tree: a path of names from the top to a leaf in each line, as in "
              "LSHTC's cat_hier.txt. Without it the labels are flat.")  # fmt: skip
@click.option("--ignore-feature", type=int, multiple=True,
              help="A feature to leave out, such as LSHTC's 0, the document's number.")  # fmt: skip
@click.option("--no-intercept", is_flag=True, help="Without a constant feature.")
@fit_options
def tree(data: str, hierarchy: str | None, **options: Any) -> None:
    """Fit a label tree to a file of lines `label feature:value …` (SVMlight)."""
    request, stop = requested(options)
    with stop.listening():
        check_files(request, {"DATA": data, "--hierarchy": hierarchy})
        reading = TreeReading(options["ignore_feature"])
        tree = None if hierarchy is None else read_hierarchy(hierarchy)
        run(request, _job(request, data, reading, tree, fit_intercept=not options["no_intercept"]))


def _job(
    request: Request,
    data: str,
    reading: TreeReading,
    tree: Hierarchy | None,
    *,
    fit_intercept: bool,
) -> Job:
    """Read the files; a fit needs no more of them then."""
    rows = read_labelled(data, reading, tree, fit=True)
    X, labels = rows.X, np.array(rows.labels)
    request.display.say(
        f"{X.shape[0]:,} samples, {len(np.unique(X.indices)):,} features ({request.elapsed})"
    )
    names = () if tree is None else tree.names
    return Job(
        HierarchicalClassifier,
        {"hierarchy": tree, "fit_intercept": fit_intercept},
        {"X": X, "y": labels},
        (X.indptr, X.indices, X.data, labels, names, fit_intercept),
        reading.to_json(),
        None if request.dev is None else TreeDev(request.dev, reading),
        lambda earlier: earlier.coefficients().with_columns(X.shape[1]),
    )
