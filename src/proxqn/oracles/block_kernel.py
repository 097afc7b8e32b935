"""The call into a compiled block kernel, the same for every model."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxqn.capabilities import BlockPass, BlockRule
from proxqn.problem import Ints


def descend(kernel: Any, blocks: Ints, rule: BlockRule, budget: int) -> BlockPass:
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
    return BlockPass(violation[:done], excess[:done], forward, backward, refused)
