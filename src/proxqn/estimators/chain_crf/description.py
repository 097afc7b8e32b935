"""What there is to see in a chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.model import Description, WeightGroup, feature_namer


def describe(model: Any) -> Description:
    """Return the labels' weights, the transitions, and the weights of edge features."""
    labels, encoder = [str(label) for label in model.classes_], model.encoder_
    named = feature_namer(getattr(model, "feature_names_in_", None), "x")
    edges = _edges(model, labels)
    n_edges = len(np.unique(model.edge_coef_.indices))
    return Description(
        labels,
        model.coef_,
        named if encoder is None else encoder.vocabulary.name,
        {"labels": len(labels)} | ({"edge features": n_edges} if n_edges else {}),
        model.transitions_,
        edges,
    )


def _edges(model: Any, labels: list[str]) -> WeightGroup | None:
    """Return the weights of all edge features and label pairs together."""
    entries: Any = sp.coo_array(model.edge_coef_)
    if not entries.nnz:
        return None
    encoder = model.encoder_
    known = encoder is not None and len(encoder.edge_vocabulary) > 0
    feature = encoder.edge_vocabulary.name if known else "e{}".format

    def name(e: int) -> str:
        before, after = divmod(int(entries.row[e]), len(labels))
        return f"{feature(int(entries.col[e]))} {labels[before]} → {labels[after]}"

    return WeightGroup("edge features", entries.data, name)
