"""Blockwise coordinate descent (Sokolovska, Lavergne, Cappé and Yvon 2010).

A block holds all weights of one input feature (and a chain's transitions are a block): one
inference on the samples with that feature gives the whole block's derivatives. The second
derivatives are approximate, so the paper (section 5) adds a line search in each block, floors them
at 1e-10, and shrinks: within an epoch a block is left out once all its weights are zero with
``|g_j| ≤ λ - M̂/N``. The steps are in ``cpp/bcd.hpp``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from proxqn.problem import Ints, MeteredOracle, Oracle, Penalty, SparseVector
from proxqn.problem.stepwise import BlockPass, BlockRule, BlockSteps, blocks_of
from proxqn.solvers.certificate.bound import Status
from proxqn.solvers.line_search import Armijo
from proxqn.solvers.recording import Callback, Point, Recorder, Solution


@final
@dataclass(frozen=True)
class BCD:
    """Settings of blockwise coordinate descent.

    A pass over dense data visits every sample thousands of times, so rows of the trace are finer
    than passes: an iteration ends with a pass over the blocks in play, or after as many forward
    inferences as there are samples. ``n_forward`` and ``n_backward`` count inferences on single
    samples, divided by the number of samples. The certificate is computed by the oracle at the end
    of each epoch and of the run, and neither counted nor timed. Every coordinate has a dense
    weight. Blocks follow one another, so they are moved on one thread whatever the oracle's
    ``n_jobs``, which only the certificate uses.

    Parameters
    ----------
    cooling : float
        An epoch ends once the violation on the blocks in play is this fraction of what it was over
        all blocks.
    floor : float
        Smallest second derivative.
    armijo : Armijo
        The line search of a block.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from proxqn.minimization import minimize
    >>> from proxqn.losses.chain.oracle import ChainOracle
    >>> X = sp.csr_array(np.tile(np.eye(2), (10, 1)))
    >>> oracle = ChainOracle(X, np.tile([0, 1], 10), np.full(10, 2), n_labels=2)
    >>> minimize(oracle, 1.0, solver=BCD(), tol=1e-6).success
    True
    """

    cooling: float = 0.1
    floor: float = 1e-10
    armijo: Armijo = field(default_factory=Armijo)

    def __post_init__(self) -> None:
        if not 0.0 < self.cooling < 1.0:
            raise ValueError(f"cooling must lie between 0 and 1, got {self.cooling!r}.")
        if not 0.0 < self.floor < math.inf:
            raise ValueError(f"floor must be a finite number above 0, got {self.floor!r}.")

    def minimize(
        self,
        oracle: Oracle,
        penalty: Penalty,
        start: SparseVector,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point until the gap is at most ``tol·f``."""
        blocks = blocks_of(oracle, "bcd")
        record = Recorder(
            MeteredOracle(oracle), penalty, tol=tol, max_iter=max_iter, callback=callback
        )
        run = _Run(self, record, blocks)
        return record.solution(run.solve, start)


@final
class _Run:
    """One minimisation and its state."""

    def __init__(self, settings: BCD, record: Recorder, blocks: BlockSteps) -> None:
        self.settings, self.record, self.blocks = settings, record, blocks
        self.n = record.oracle.n_samples
        self.sizes = blocks.sizes
        penalty, armijo = record.penalty, settings.armijo
        self.rule = BlockRule(
            penalty.lam,
            penalty.l2,
            armijo.sigma,
            armijo.beta,
            settings.floor,
            armijo.max_trials,
        )
        self.violation = math.inf  # M̂
        self.tolerance = math.inf  # of the violation on the blocks in play, in the last epoch

    def solve(self, start: SparseVector) -> Status:
        record = self.record
        with record.evaluation():
            status = record.begin(start)
        if status is None:
            status = self._certify()
        if status is None:
            with record.timed("blocks"):
                self.blocks.restart(start)
        while status is None:
            before = record.point.objective
            status = self._run_epoch()
            if record.point.loss < math.inf and status is not Status.NOT_FINITE:
                proved = self._certify()
                status = proved or status
            if status is None and not record.point.objective < before:
                status = Status.STALLED
        return status

    def _run_epoch(self) -> Status | None:
        """Pass over all blocks, then over fewer and fewer, until their violation is small."""
        record = self.record
        record.epoch += 1
        active = np.arange(len(self.sizes))
        tolerance = math.inf
        while True:
            found = self._pass(active)
            if isinstance(found, Status):
                return found
            largest = float(found.violation.max(initial=0.0))
            if math.isinf(tolerance):  # the first pass has seen all blocks
                tolerance = self.settings.cooling * min(self.tolerance, largest)
                self.tolerance = tolerance
            # M̂ = ∞ at first keeps all blocks, as in the paper.
            active = active[found.excess + self.violation / self.n > 0.0]
            self.violation = largest
            if largest <= tolerance or len(active) == 0:
                return None

    def _pass(self, active: Ints) -> BlockPass | Status:
        """Move each block in play once, recording a row whenever N inferences are made."""
        parts: list[BlockPass] = []
        done = 0
        while done < len(active):
            status = self.record.consult()
            if status is not None:
                return status
            with self.record.timed("blocks"):
                part = self.blocks.descend(active[done:], self.rule, budget=self.n)
            done += len(part)
            parts.append(part)
            self._record(part, active)
        return BlockPass(
            np.concatenate([part.violation for part in parts]),
            np.concatenate([part.excess for part in parts]),
            sum(part.forward for part in parts),
            sum(part.backward for part in parts),
            sum(part.refused for part in parts),
        )

    def _record(self, part: BlockPass, active: Ints) -> None:
        record = self.record
        with record.evaluation():
            weights, loss = self.blocks.weights(), self.blocks.loss()
        counts = record.oracle.calls.counts
        counts["forward"] += part.forward / self.n
        counts["backward"] += part.backward / self.n
        record.advance(
            Point(weights, loss, loss + record.penalty.value(weights.values)),
            kkt=float(part.violation.max(initial=0.0)),
            working_set=int(self.sizes[active].sum()),
            inner_passes=len(part) / len(self.sizes),
            event=f"no step made progress in {part.refused} blocks" if part.refused else "",
        )

    def _certify(self) -> Status | None:
        """Look at all variables through the oracle, off the clock."""
        record = self.record
        with record.evaluation():
            oracle, point = record.oracle.oracle, record.point
            loss = oracle.start_at(point.weights)
            return record.look_through(oracle, record.penalty.lam, point.weights, loss)[1]
