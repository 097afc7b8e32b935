"""A chain with weights from elsewhere, as if it had been fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn import ChainCRF


def chain_with_weights(coef: Any, transitions: Any, classes: Any) -> ChainCRF:
    """Return an estimator that predicts with these weights (labels x features, from x to)."""
    model = ChainCRF()
    model.coef_, model.transitions_, model.classes_ = coef, transitions, classes
    model.start_weights_ = model.end_weights_ = model.intercept_ = np.zeros(len(classes))
    model.edge_coef_ = sp.csr_array((len(classes) ** 2, 0))
    model.n_features_in_, model.encoder_ = coef.shape[1], None
    return model
