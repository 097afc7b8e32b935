"""The problem as CRFsuite and its wrappers take it: names of attributes and labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .problem import Problem

Item = dict[bytes, float]  # attribute → value, of one token


def named_sequences(problem: Problem) -> Iterator[tuple[list[Item], list[str]]]:
    """Yield items and labels of one sequence after the other.

    Attributes are named by their column number, as bytes: CRFsuite need not encode them.
    """
    X = problem.X
    attributes = [b"%d" % j for j in range(X.shape[1])]
    labels = [str(k) for k in range(problem.n_labels)]
    ends = np.cumsum(problem.lengths)
    for first, last in zip(ends - problem.lengths, ends, strict=True):
        items = []
        for begin, end in zip(X.indptr[first:last], X.indptr[first + 1 : last + 1], strict=True):
            names = [attributes[j] for j in X.indices[begin:end].tolist()]
            items.append(dict(zip(names, map(float, X.data[begin:end].tolist()), strict=True)))
        yield items, [labels[k] for k in problem.y[first:last].tolist()]
