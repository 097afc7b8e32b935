"""Samples of a file with the leaves that a tree model predicts for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn.cli.kind import Wishes
from proxqn.cli.streaming import batched
from proxqn.cli.tree.files import TreeReading, fitted_columns
from proxqn.io.model_file import SavedModel
from proxqn.io.readers.svmlight import LabelledRows, stream_svmlight

_DIGITS = 6  # of probabilities
_BATCH = 1000  # samples


def lines(saved: SavedModel, source: str, wishes: Wishes) -> Iterator[str]:
    """Yield a line of leaves a sample, with probabilities where they are asked for."""
    samples = stream_svmlight(source, ignore=TreeReading.from_json(saved.reading).ignore)
    for some in batched(samples, source, _BATCH):
        X, n_unseen = fitted_columns(LabelledRows.of(some).X, saved.model.n_features_in_)
        wishes.n_unseen += n_unseen
        yield from _lines_of(saved.model, X, wishes)


def _lines_of(model: Any, X: sp.csr_array, wishes: Wishes) -> Iterator[str]:
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
