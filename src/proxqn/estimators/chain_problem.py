"""From checked data to the loss that a chain minimises."""

from __future__ import annotations

from proxqn.estimators.chain_weights import mark_ends
from proxqn.estimators.input.sequences import Tokens
from proxqn.features.partial_labels import PartialLabels
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.problem import Floats


def chain_loss(
    tokens: Tokens,
    labels: PartialLabels,
    *,
    n_labels: int,
    end_weights: bool,
    pairs: Pairs,
    transition_pairs: Pairs | None,
    sample_weight: Floats | None,
    n_jobs: int,
) -> ChainOracle | LatticeOracle:
    """Return the fastest oracle that has what the data need."""
    X = mark_ends(tokens).X if end_weights else tokens.X
    plain = tokens.edges is None or not tokens.edges.shape[1]
    if plain and labels.complete:
        return ChainOracle(
            X,
            labels.labels,
            tokens.lengths,
            n_labels=n_labels,
            pairs=pairs,
            transition_pairs=transition_pairs,
            sample_weight=sample_weight,
            n_jobs=n_jobs,
        )
    return LatticeOracle(
        X,
        labels,
        tokens.lengths,
        n_labels=n_labels,
        edges=None if plain else tokens.edges,
        pairs=pairs,
        transition_pairs=transition_pairs,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
    )
