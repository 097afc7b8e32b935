"""Stochastic steps on chains (``cpp/stochastic/chain_saga.hpp``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.losses.chain.data import ChainData
from proxqn.losses.stepping.blocks import SampleBlocks
from proxqn.losses.stepping.reach import Reach
from proxqn.losses.stepping.saga import SagaSteps
from proxqn.problem.penalty import Penalty
from proxqn.problem.stepwise import StochasticOffer


def offer(data: ChainData, penalty: Penalty, n_jobs: int) -> StochasticOffer | None:
    """Return what steps from zero would cost; None where they would take too much memory.

    Nor are they for dense columns: there each step would write all weights.
    """
    if data.features.dense is not None:
        return None
    reach = Reach.of(data.features, data.weights, penalty, size=data.n_labels, n_own=data.n_labels)
    return reach.offer(
        data.layout.n_tokens,
        data.pass_cost,
        lambda: saga_steps(data, penalty, reach, n_jobs),
    )


def saga_steps(data: ChainData, penalty: Penalty, reach: Reach, n_jobs: int) -> SagaSteps:
    """Return steps on the weights within reach."""
    layout, n_labels = data.layout, data.n_labels
    row_start = np.concatenate([[0], np.cumsum(layout.lengths)]).astype(np.int64)
    slot_token = np.zeros(layout.stride, dtype=np.int32)
    slot_token[layout.token_slot] = np.arange(layout.n_tokens, dtype=np.int32)
    blocks = SampleBlocks(data.features, slot_token, row_start, data.weights, reach.kept, n_labels)
    labels = data.labels[layout.token_slot]

    def kernel(blocks: Any, memory: Any) -> Any:
        return _kernels.ChainSaga(blocks, memory, n_labels, labels)

    return SagaSteps(
        reach,
        blocks,
        _admitted(data, reach),
        penalty,
        kernel,
        own_curvature=blocks.total_weight / len(blocks),
        n_jobs=n_jobs,
    )


def _admitted(data: ChainData, reach: Reach) -> NDArray[np.bool_] | None:
    """Return which labels have a weight with each column, and which with each label before."""
    if data.pairs is None and data.admitted.all():
        return None
    states = np.ones((data.features.n_columns, data.n_labels), dtype=bool)
    if data.pairs is not None:
        start, labels = data.pairs
        states[:] = False
        states[np.repeat(np.arange(len(states)), np.diff(start)), labels] = True
    return np.concatenate([states[reach.kept], data.admitted])
