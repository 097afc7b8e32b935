"""The calls into a compiled block kernel, the same for every model."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem.sparse import Ints, SparseVector
from proxqn.problem.stepwise import BlockPass, BlockRule


@final
class BlockRows:
    """Weights that a block kernel moves, and the columns where any may differ from zero.

    Reading the weights then costs what they are, not the number of parameters.
    """

    def __init__(self, rows: WeightRows) -> None:
        self.rows = rows
        self._in_use = np.zeros(len(rows.array), dtype=bool)

    def put(self, weights: SparseVector) -> None:
        """Set these weights and no others."""
        self.rows.put(weights)
        self._in_use[:] = False
        self._in_use[weights.coordinates // self.rows.size] = True

    def take(self) -> SparseVector:
        """Return the weights that are not zero."""
        return self.rows.take(np.flatnonzero(self._in_use))

    def descend(self, kernel: Any, blocks: Ints, rule: BlockRule, budget: int) -> BlockPass:
        """Move blocks in turn until the budget of forward inferences is spent."""
        violation, excess = np.empty(len(blocks)), np.empty(len(blocks))
        before = np.array(kernel.counts())
        done = kernel.descend(
            blocks,
            rule.lam,
            rule.l2,
            rule.sigma,
            rule.beta,
            rule.floor,
            rule.max_trials,
            budget,
            violation,
            excess,
        )
        forward, backward, refused = (np.array(kernel.counts()) - before).tolist()
        moved = blocks[:done][np.isinf(excess[:done])]
        self._in_use[moved[moved < len(self._in_use)]] = True  # others hold no column's weights
        return BlockPass(violation[:done], excess[:done], forward, backward, refused)
