"""A chain made of weights that another program has found."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.io.fit_record import restore_fit
from proxqn.io.foreign import ForeignFileError
from proxqn.problem import Floats
from proxqn.run.status import Status

__all__ = ["imported_chain"]


def imported_chain(
    path: str | os.PathLike[str],
    labels: Sequence[str],
    encoder: SequenceEncoder,
    coef: sp.csr_array,
    transitions: Floats,
    edges: sp.csr_array | None = None,
) -> ChainCRF:
    """Return a chain that labels as the other program does; how it was fitted is not known.

    Parameters
    ----------
    path : path
        Where it comes from, for messages.
    labels : sequence of str
        In the order of the other program; ours are sorted.
    encoder : SequenceEncoder
        What makes the columns of ``coef`` and ``edges`` from sequences.
    coef : csr_array of shape (n_labels, n_features)
        Weights of labels and features.
    transitions : array of shape (n_labels, n_labels)
        Weight of a label (row) followed by another (column).
    edges : csr_array of shape (n_labels², n_edge_features), optional
        Weights of edge features: row ``i * n_labels + j`` for label i followed by label j.
    """
    n_labels = len(labels)
    if n_labels < 2:
        raise ForeignFileError(
            path,
            f"a model of {n_labels} label{'s' * (n_labels != 1)}; a ChainCRF has two at least. "
            "What has one label needs no model.",
        )
    order = np.argsort(np.asarray(labels, dtype=object), kind="stable")
    model = ChainCRF(pairs="observed", end_weights=False)
    model.templates, model.encoder_ = encoder.templates, encoder
    model.classes_ = np.array([labels[i] for i in order])
    model.coef_ = sp.csr_array(coef[order])
    model.n_features_in_ = coef.shape[1]
    model.transitions_ = np.ascontiguousarray(transitions[np.ix_(order, order)], dtype=np.float64)
    model.start_weights_, model.end_weights_, model.intercept_ = np.zeros((3, n_labels))
    model.edge_coef_ = sp.csr_array((n_labels**2, 0))
    if edges is not None and edges.shape[1]:
        model.edge_coef_ = sp.csr_array(edges[(order[:, None] * n_labels + order).ravel()])
    for weights in (model.coef_, model.edge_coef_):
        weights.eliminate_zeros()
    n_nonzero = model.coefficients().n_nonzero
    restore_fit(model, _UNKNOWN | {"n_parameters": n_nonzero}, n_nonzero)
    return model


_UNKNOWN = {
    "status": Status.IMPORTED.name,
    "objective": None,
    "gap": None,
    "kkt": None,
    "n_iter": 0,
}
