"""A chain as CRFsuite dumps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.model import feature_namer
from proxqn.features.encoding import SequenceEncoder


def to_crfsuite(model: Any, encoder: SequenceEncoder | None = None) -> Iterator[str]:
    """Yield the lines of ``crfsuite dump``, with their ends: labels, attributes, nonzero weights.

    The offsets of CRFsuite's binary file, which do not exist here, are left out of the header.

    Parameters
    ----------
    model : ChainCRF
        A fitted model; CRFsuite has no weights for the ends of a sequence.
    encoder : SequenceEncoder, optional
        Names the features; without it they are called x0, x1, …

    Examples
    --------
    >>> from proxqn import ChainCRF
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 4), ["A", "B"] * 4
    >>> crf = ChainCRF(lam=0.1).fit(X, y, lengths=[1] * 8)
    >>> [line[:15] for line in to_crfsuite(crf) if line.startswith("  (0) x0 --> A")]
    ['  (0) x0 --> A:']
    """
    _refuse_ends(model, "CRFsuite")
    if model.edge_coef_.nnz:
        raise ValueError(
            "CRFsuite has no transitions that look at the observation; export to CRF++'s form, or "
            "train without edge features."
        )
    labels, name = [str(label) for label in model.classes_], _feature_namer(model, encoder)
    by_feature = sp.coo_array(model.coef_.T)
    used = np.unique(by_feature.row)
    yield "FILEHEADER = {\n  magic: lCRF\n  type: FOMC\n  version: 100\n  num_features: 0\n"
    yield f"  num_labels: {len(labels)}\n  num_attrs: {len(used)}\n}}\n\nLABELS = {{\n"
    yield from (f"  {i:5d}: {label}\n" for i, label in enumerate(labels))
    yield "}\n\nATTRIBUTES = {\n"
    yield from (f"  {i:5d}: {name(j)}\n" for i, j in enumerate(used.tolist()))
    yield "}\n\nTRANSITIONS = {\n"
    for i, j in np.argwhere(model.transitions_).tolist():
        yield f"  (1) {labels[i]} --> {labels[j]}: {model.transitions_[i, j]:f}\n"
    yield "}\n\nSTATE_FEATURES = {\n"
    order = np.lexsort((by_feature.col, by_feature.row))
    for e in order.tolist():
        feature, label = name(int(by_feature.row[e])), labels[int(by_feature.col[e])]
        yield f"  (0) {feature} --> {label}: {by_feature.data[e]:f}\n"
    yield "}\n\n"


def _refuse_ends(model: Any, program: str) -> None:
    if model.intercept_.any():
        raise ValueError(
            f"{program} has no intercept; train with fit_intercept=False, and with a feature that "
            "is always 1 instead."
        )
    if model.start_weights_.any() or model.end_weights_.any():
        raise ValueError(
            f"{program} has no weights for the ends of a sequence; train with end_weights=False to "
            "export the model."
        )


def _feature_namer(model: Any, encoder: SequenceEncoder | None) -> Callable[[int], str]:
    if encoder is not None:
        return encoder.vocabulary.names().__getitem__
    return feature_namer(getattr(model, "feature_names_in_", None), "x")
