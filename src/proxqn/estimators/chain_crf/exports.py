"""Chains as other programs write them: CRFsuite's text dump, CRF++'s text model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

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
    labels, names = [str(label) for label in model.classes_], _feature_names(model, encoder)
    by_feature = sp.coo_array(model.coef_.T)
    used = np.unique(by_feature.row)
    yield "FILEHEADER = {\n  magic: lCRF\n  type: FOMC\n  version: 100\n  num_features: 0\n"
    yield f"  num_labels: {len(labels)}\n  num_attrs: {len(used)}\n}}\n\nLABELS = {{\n"
    yield from (f"  {i:5d}: {label}\n" for i, label in enumerate(labels))
    yield "}\n\nATTRIBUTES = {\n"
    yield from (f"  {i:5d}: {names[j]}\n" for i, j in enumerate(used.tolist()))
    yield "}\n\nTRANSITIONS = {\n"
    for i, j in np.argwhere(model.transitions_).tolist():
        yield f"  (1) {labels[i]} --> {labels[j]}: {model.transitions_[i, j]:f}\n"
    yield "}\n\nSTATE_FEATURES = {\n"
    order = np.lexsort((by_feature.col, by_feature.row))
    for e in order.tolist():
        name, label = names[int(by_feature.row[e])], labels[int(by_feature.col[e])]
        yield f"  (0) {name} --> {label}: {by_feature.data[e]:f}\n"
    yield "}\n\n"


def to_crfpp(model: Any, encoder: SequenceEncoder | None) -> Iterator[str]:
    """Yield the lines of a CRF++ text model (``crf_learn -t``), with their ends.

    A feature has a weight for each label, an edge feature for each pair of labels, zeros included;
    transitions are the feature ``B``.

    Parameters
    ----------
    model : ChainCRF
        A fitted model; CRF++ has no weights for the ends of a sequence.
    encoder : SequenceEncoder
        With templates: CRF++ makes its features from them.
    """
    _refuse_ends(model, "CRF++")
    if encoder is None:
        raise ValueError("the model has no encoder, whose templates CRF++'s form needs.")
    if encoder.templates is None:
        raise ValueError("CRF++ models need feature templates; this model was trained without.")
    labels, n_labels = [str(label) for label in model.classes_], len(model.classes_)
    by_feature, by_edge = sp.csr_array(model.coef_.T), sp.csr_array(model.edge_coef_.T)
    if by_edge.nnz and len(encoder.edge_vocabulary) != by_edge.shape[0]:
        raise ValueError("the encoder does not name the model's edge features; CRF++ needs them.")
    used, edges = (np.flatnonzero(np.diff(m.indptr)) for m in (by_feature, by_edge))
    n_pairs = n_labels * n_labels
    n_weights = n_pairs * (1 + len(edges)) + n_labels * len(used)
    yield f"version: 100\ncost-factor: 1\nmaxid: {n_weights}\n"
    yield f"xsize: {encoder.templates.n_columns}\n\n"
    yield from (f"{label}\n" for label in labels)
    yield "\n"
    texts = [template.text for template in encoder.templates if not _is_plain_b(template.text)]
    yield from (f"{text}\n" for text in [*texts, "B"])
    yield "\n0 B\n"
    for i, name in enumerate(encoder.edge_vocabulary.names(edges) if len(edges) else []):
        yield f"{n_pairs * (1 + i)} {name}\n"
    for i, name in enumerate(encoder.vocabulary.names(used)):
        yield f"{n_pairs * (1 + len(edges)) + i * n_labels} {name}\n"
    yield "\n"
    pairs = (by_edge[[j]].toarray()[0] for j in edges.tolist())
    rows = (by_feature[[j]].toarray()[0] for j in used.tolist())
    for weights in chain([model.transitions_.ravel()], pairs, rows):
        yield from (f"{weight:.16g}\n" for weight in weights.tolist())


def _is_plain_b(text: str) -> bool:
    return text[0] in "Bb" and "%" not in text


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


def _feature_names(model: Any, encoder: SequenceEncoder | None) -> list[str]:
    if encoder is not None:
        return encoder.vocabulary.names()
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    return [f"x{j}" for j in range(model.n_features_in_)]
