"""Blockwise coordinate descent (Sokolovska, Lavergne, Cappé and Yvon 2010).

A block holds all weights of one input feature (and a chain's transitions are a block): one
inference on the samples with that feature gives the whole block's derivatives. The second
derivatives are approximate, so the paper (section 5) adds a line search in each block, floors them
at 1e-10, and shrinks: within an epoch a block is left out once all its weights are zero with
``|g_j| ≤ λ - M̂/N``. The steps are in ``cpp/rivals/block_descent.hpp``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Ints, SparseVector
from proxqn.problem.stepwise import BlockPass, BlockRule, BlockSteps
from proxqn.run.status import Status
from proxqn.run.watch import Callback
from proxqn.solvers.line_search import Armijo
from proxqn.solvers.rivals.needs import OneForAll, blocks_of, one_for_all
from proxqn.solvers.standing import Goal, Iterate, Solution, Standing, Stop


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
    ``n_jobs``, which only the certificate uses. All weights have one λ and one ridge.

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
        stop: Stop = "gap",
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point until the gap is at most ``tol·f``."""
        blocks = blocks_of(oracle, "bcd")
        numbers = one_for_all(penalty, "bcd")
        standing = Standing(oracle, penalty, Goal(tol, max_iter, callback, stop))
        run = _Run(self, standing, blocks, numbers)
        return standing.solution(run.solve, start)


@final
class _Run:
    """One minimisation and its state."""

    def __init__(
        self, settings: BCD, standing: Standing, blocks: BlockSteps, numbers: OneForAll
    ) -> None:
        self.settings, self.standing, self.blocks = settings, standing, blocks
        self.clock = standing.record.clock
        self.n = standing.oracle.n_samples
        self.sizes = blocks.sizes
        armijo = settings.armijo
        self.rule = BlockRule(
            numbers.lam,
            numbers.l2,
            armijo.sigma,
            armijo.beta,
            settings.floor,
            armijo.max_trials,
        )
        self.violation = math.inf  # M̂
        self.tolerance = math.inf  # of the violation on the blocks in play, in the last epoch

    def solve(self, start: SparseVector) -> Status:
        standing = self.standing
        with self.clock.evaluation():
            point = standing.begin(start)
        if point is None:
            return Status.NOT_FINITE
        status = self._certify()
        if status is None:
            with self.clock.timed("blocks"):
                self.blocks.restart(start)
        while status is None:
            before = standing.iterate.objective
            status = self._run_epoch()
            if standing.iterate.loss < math.inf and status is not Status.NOT_FINITE:
                proved = self._certify()
                status = proved or status
            if status is None and not standing.iterate.objective < before:
                status = Status.STALLED
        return status

    def _run_epoch(self) -> Status | None:
        """Pass over all blocks, then over fewer and fewer, until their violation is small."""
        self.standing.record.epoch += 1
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
            status = self.standing.consult()
            if status is not None:
                return status
            with self.clock.timed("blocks"):
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
        standing = self.standing
        with self.clock.evaluation():
            weights, loss = self.blocks.weights(), self.blocks.loss()
        counts = standing.calls.counts
        counts["forward"] += part.forward / self.n
        counts["backward"] += part.backward / self.n
        standing.advance(
            Iterate(weights, loss, loss + standing.penalty.value(weights)),
            kkt=float(part.violation.max(initial=0.0)),
            working_set=int(self.sizes[active].sum()),
            inner_passes=len(part) / len(self.sizes),
            event=f"no step made progress in {part.refused} blocks" if part.refused else "",
        )

    def _certify(self) -> Status | None:
        """Look at all variables through the oracle, off the clock."""
        standing = self.standing
        with self.clock.evaluation():
            weights = standing.iterate.weights
            return standing.look(standing.unmetered.at(weights), weights)[1]
