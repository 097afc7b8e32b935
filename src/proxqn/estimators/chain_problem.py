"""From checked data to the loss that a chain minimises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proxqn.estimators.chain_weights import mark_ends
from proxqn.estimators.sequence_input import Tokens
from proxqn.oracles.chain import ChainOracle, Pairs
from proxqn.oracles.lattice import LatticeOracle
from proxqn.problem import Floats


def chain_loss(
    tokens: Tokens,
    labels: NDArray[np.int32],
    *,
    n_labels: int,
    end_weights: bool,
    pairs: Pairs,
    sample_weight: Floats | None,
    n_jobs: int,
) -> ChainOracle | LatticeOracle:
    """Return the fastest oracle that has what the data need."""
    X = mark_ends(tokens).X if end_weights else tokens.X
    if tokens.edges is None or not tokens.edges.shape[1]:
        return ChainOracle(
            X,
            labels,
            tokens.lengths,
            n_labels=n_labels,
            pairs=pairs,
            sample_weight=sample_weight,
            n_jobs=n_jobs,
        )
    return LatticeOracle(
        X,
        labels,
        tokens.lengths,
        n_labels=n_labels,
        edges=tokens.edges,
        pairs=pairs,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
    )
