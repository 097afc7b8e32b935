"""Samples of a file with the leaves that a tree model predicts for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from proxqn.cli.kind import Wishes
from proxqn.cli.tree.files import TreeReading, fitted_columns
from proxqn.io.model_file import SavedModel
from proxqn.io.readers.svmlight import read_svmlight

_DIGITS = 6  # of probabilities


def lines(saved: SavedModel, source: str, wishes: Wishes) -> Iterator[str]:
    """Yield a line of leaves a sample, with probabilities where they are asked for."""
    model = saved.model
    rows = read_svmlight(source, ignore=TreeReading.from_json(saved.reading).ignore)
    if not rows.labels:
        return
    X, wishes.n_unseen = fitted_columns(rows.X, model.n_features_in_)
    if wishes.marginals == "all":
        for row in model.predict_proba(X).tolist():
            pairs = zip(model.classes_.tolist(), row, strict=True)
            yield "\t".join(f"{name}/{p:.{_DIGITS}f}" for name, p in pairs)
        return
    k = min(wishes.n_best or 1, len(model.classes_))
    names, p = model.top_k(X, k)
    with_p = wishes.n_best is not None or wishes.marginals is not None
    for leaves, chances in zip(names.tolist(), np.asarray(p).tolist(), strict=True):
        cells = zip(leaves, chances, strict=True)
        yield "\t".join(f"{leaf}\t{c:.{_DIGITS}f}" if with_p else f"{leaf}" for leaf, c in cells)
