"""The start from a rough solution on a sample, which may warm up on a smaller one in turn.

Early iterates are dense and far off: a sample tells enough about them, at its share of the cost.
"""

from __future__ import annotations

import numpy as np

from proxqn.problem.abilities import Subsamples
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import Ints

EPOCHS = 2  # on a sample
_LEAST_SAMPLES = 200
_DEPTH = 2  # a sample, and a sample of it
_ALIKE = 1.02  # of a sample's objective: what the data's may be, where the sample speaks for them


def sample_of(oracle: Oracle, share: float, seed: int, depth: int) -> Oracle | None:
    """Return the loss on a share of the samples, scaled to the whole; None if not worth it.

    Parameters
    ----------
    depth : int
        How deep in the warm-up the oracle is: 0 for all the data.
    """
    if depth == _DEPTH or share * oracle.n_samples < _LEAST_SAMPLES:
        return None
    if not isinstance(oracle, Subsamples):
        return None
    chosen = _chosen(oracle.n_samples, share, seed)
    return oracle.restrict(chosen, oracle.n_samples / len(chosen))


def speaks_for(told: float, objective: float) -> bool:
    """Whether the sample's objective foretold that of the data: then curvature may be drawn."""
    return objective <= _ALIKE * told


def _chosen(n: int, share: float, seed: int) -> Ints:
    chosen = np.random.default_rng(seed).choice(n, max(1, round(share * n)), replace=False)
    chosen.sort()
    return chosen
