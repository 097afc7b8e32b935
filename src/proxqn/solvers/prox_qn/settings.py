"""The settings of proximal quasi-Newton, and those of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import SparseVector
from proxqn.run.watch import Callback
from proxqn.solvers.curvature.memory import Memory
from proxqn.solvers.curvature.pairs import Scaling
from proxqn.solvers.line_search import Armijo
from proxqn.solvers.prox_qn.change_of_variables import in_units
from proxqn.solvers.prox_qn.loop import Run
from proxqn.solvers.standing import Goal, Solution, Standing, Stop


@final
@dataclass(frozen=True)
class ProxQN:
    """Settings of the method; :meth:`paper` gives those of the paper.

    Parameters
    ----------
    memory : int
        m, the number of curvature pairs; fewer are kept on a working set so large that they would
        leave the cache.
    max_inner : int
        Passes of coordinate descent on an inner problem, at most.
    inner_tolerance : float
        Stop the inner problem once a pass moves the model's gradient by less than this fraction of
        the largest violation; 0 makes all passes.
    balance_inner : bool
        Limit the passes to ``⌊d/|A|⌋`` as the paper does; else to a share of the cost of inference.
    scaling : Scaling
        How γ follows from the newest pair.
    scaling_power : float
        ``B₀ = γ D`` with D the oracle's rough Hessian diagonal to this power: 0 gives the
        identity, 1 the diagonal itself.
    rescale : bool
        Solve in variables in which columns of very different sizes are alike, where the oracle can
        (``change_of_variables.py``): the objective stays what it is.
    gamma : float or None
        The first γ; None measures the curvature along the first direction, one forward pass.
    keep_memory : bool
        Carry the pairs over to the next epoch; rows of re-entering variables are zero.
    cooling : float
        An epoch ends once the violation on the working set is this fraction of what it was over all
        variables at its start.
    stochastic : bool
        Start with epochs of stochastic steps, where the oracle offers them and they pay
        (``start.py``): on text with a small λ.
    warm_up : float
        Start from a rough solution on this share of the samples, found in the same way, where the
        oracle can be subsampled and the share holds at least a few hundred samples; 0 for none.
        Early iterates are dense and far off: a sample tells enough about them.
    first_share : float
        From w = 0 and in the warm-up, at most this share of the variables is in an epoch's working
        set, and no more than eight for each sample or twice as many as have a weight: those with
        the largest derivatives. The others wait for the next epoch.
    shrink : bool
        False keeps every variable in every iteration, as the paper's theory assumes: no limit of
        ``first_share``, nothing shrinks, and the memory lasts over epochs, which then only certify.
        (A derivative of exactly 0 keeps its variable out until the next epoch.)
    lazy : bool
        Save bookkeeping on large working sets: variables leave in batches of a tenth, pairs in
        batches of a fifth, and γ follows in steps of 2. Most iterations then add a pair to B
        instead of forming it anew.
    single : bool
        Work in single precision, where the oracle can, until its derivatives lead no further
        (``search.py``); what is proved and returned is always in double precision.
    draws : float
        Rows of a curvature drawn from the probabilistic model, for each variable, where the oracle
        can draw (``curvature/draw_schedule.py``), once near the solution. 0 for the paper's pairs
        alone.
    armijo : Armijo
        The line search.
    seed : int
        Of the order in which coordinate descent visits coordinates.

    Examples
    --------
    >>> from proxqn import minimize
    >>> import numpy as np
    >>> def loss(w):
    ...     return float((w - 3) @ (w - 3)), 2 * (w - 3)
    >>> minimize(loss, lam=2.0, x0=np.zeros(2), solver=ProxQN(memory=5)).x.round(3)
    array([2., 2.])
    """

    memory: int = 100
    max_inner: int = 1000
    inner_tolerance: float = 0.03
    balance_inner: bool = False
    scaling: Scaling = Scaling.GEOMETRIC
    scaling_power: float = 0.25
    rescale: bool = True
    gamma: float | None = None
    keep_memory: bool = True
    cooling: float = 0.2
    stochastic: bool = True
    warm_up: float = 0.15
    first_share: float = 0.05
    shrink: bool = True
    lazy: bool = True
    single: bool = True
    draws: float = 1.0
    armijo: Armijo = field(default_factory=Armijo)
    seed: int = 0

    def __post_init__(self) -> None:
        if not (isinstance(self.seed, int | np.integer) and 0 <= self.seed < 2**63):
            raise ValueError(f"seed must be an integer from 0 to 2**63 - 1, got {self.seed!r}.")
        for name in ("memory", "max_inner"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or above, got {getattr(self, name)!r}.")
        if not 0.0 < self.cooling < 1.0:
            raise ValueError(f"cooling must lie between 0 and 1, got {self.cooling!r}.")
        if self.gamma is not None and not 0.0 < self.gamma < math.inf:
            raise ValueError(
                f"gamma must be a finite number above 0 or None to measure it, got {self.gamma!r}."
            )

    @classmethod
    def paper(cls) -> ProxQN:
        """Return the paper's settings: m = 10, max_inner = 10, γ from 1, memory cleared."""
        return cls(
            memory=10,
            max_inner=10,
            inner_tolerance=0.0,
            balance_inner=True,
            scaling=Scaling.PAPER,
            scaling_power=0.0,
            rescale=False,
            gamma=1.0,
            keep_memory=False,
            cooling=0.1,
            stochastic=False,
            warm_up=0.0,
            first_share=1.0,
            lazy=False,
            single=False,
            draws=0.0,
        )

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
        kernels: ModuleType = _kernels,
        memory: Memory | None = None,
    ) -> Solution:
        """Minimise ℓ + Ω from a start until the gap, or its estimate, is at most ``tol·f``.

        Ctrl-C ends the run at the last accepted iterate. ``memory`` is of a run before on the same
        loss, whatever the penalty was.
        """
        goal = Goal(tol, max_iter, callback, stop)
        change = in_units(oracle, penalty, start) if self.rescale else None
        if change is None:
            standing = Standing(oracle, penalty, goal)
            run = Run(self, standing, kernels)
            solution = standing.solution(partial(run.solve, memory=memory), start)
            return replace(solution, memory=run.memory() or memory)
        standing = Standing(change.oracle, change.penalty, change.shown(goal))
        standing.calls.charge(("forward", "backward"), change.found.passes, 0.0)
        run = Run(self, standing, kernels, found=change.found)
        return change.undone(standing.solution(run.solve, change.found.units.changed(start)))
