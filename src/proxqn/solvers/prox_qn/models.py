"""The models of curvature that the settings ask for, and which of them a run uses when."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, final

from proxqn.problem.abilities import Priced
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.sparse import Ints, SparseColumns
from proxqn.solvers.curvature.draw_schedule import DrawnCurvature
from proxqn.solvers.curvature.memory import DrawExperience, Memory
from proxqn.solvers.curvature.model import Curvature
from proxqn.solvers.curvature.pairs import CompactBFGS
from proxqn.solvers.curvature.quasi_newton import Passes, QuasiNewton
from proxqn.solvers.standing import Standing
from proxqn.solvers.working_set import WorkingSet

if TYPE_CHECKING:
    from proxqn.solvers.prox_qn.settings import ProxQN

_MIN_INNER, _MIN_SAMPLE_INNER = 5, 3  # passes: a sample is not worth fitting closely
_INNER_SHARE = 0.1  # of the cost of inference
_MIN_BUDGET = 2e6  # multiply-adds: a millisecond


@final
class Models:
    """Pairs, and draws on top of them once near the solution.

    Attributes
    ----------
    pairs : QuasiNewton
        They learn from every step.
    near : bool
        Whether a sample or an epoch has led here: until then pairs learn faster than draws tell.

    Parameters
    ----------
    memory : Memory, optional
        Of a run before, to go on with: its coordinates are those of the first working set.
    depth : int
        How deep in the warm-up the run is: 0 on all the data.
    """

    def __init__(
        self,
        settings: ProxQN,
        standing: Standing,
        kernels: ModuleType,
        *,
        size: int,
        memory: Memory | None,
        depth: int,
    ) -> None:
        self.near = False
        self._settings, self._standing, self._depth = settings, standing, depth
        self._forgets = settings.shrink and not settings.keep_memory
        oracle = standing.oracle
        pairs = _new_pairs(settings, size, kernels, oracle.n_jobs)
        if memory is not None:
            pairs.gamma = memory.gamma
            pairs.remember(memory.steps, memory.changes)
        self.pairs = QuasiNewton(
            pairs,
            oracle,
            power=settings.scaling_power,
            passes=_passes(settings, oracle, depth),
            kernels=kernels,
        )
        self._unscaled = memory is None and settings.gamma is None  # γ is still to be measured
        self._drawn = DrawnCurvature(
            self.pairs,
            standing,
            rows=settings.draws,
            pass_cost=_pass_cost(oracle),
            seed=settings.seed,
            single=settings.single,
            kernels=kernels,
            experience=DrawExperience() if memory is None else memory.draws,
        )

    def memory(self, at: WorkingSet) -> Memory:
        """Return what has been learned, on the present working set."""
        pairs = self.pairs.pairs
        newest = pairs.newest(len(pairs))
        return Memory(at.coordinates, *newest, pairs.gamma, self._drawn.experience)

    @property
    def drawing(self) -> bool:
        """Whether curvature is drawn."""
        return self._drawn.active

    @property
    def latest_draws(self) -> SparseColumns | None:
        """What the latest look has drawn, until it is forgotten; None if it drew little."""
        return self._drawn.columns if self._settings.draws >= 1.0 else None

    def forget_draws(self) -> None:
        """Let go of them: the model has what it needs in a form of its own."""
        self._drawn.columns = None

    def extend(
        self, point: Point, at: WorkingSet, rows: Ints, *, finished: bool = True
    ) -> Curvature:
        """Go to another working set, and return the model to use on it.

        Parameters
        ----------
        rows : array
            Where its variables were in the old one, -1 if nowhere.
        finished : bool
            Whether the epoch on the old one got to its tolerance.
        """
        self.pairs.extend(at, rows, forget=finished and self._forgets)
        if self._unscaled:
            self.pairs.measure_scale(point, at)
            self._unscaled = False
        if self._draws_are_better(at):
            return self._drawn.renew(point, at, rows)
        self._drawn.drop()
        return self.pairs

    def _draws_are_better(self, at: WorkingSet) -> bool:
        # A sample is not fitted so closely that it would pay, unless it tells more than asked.
        worth_it = not self._depth or len(at) <= self._standing.oracle.n_samples
        return self.near and worth_it and self._settings.draws > 0.0


def _new_pairs(settings: ProxQN, size: int, kernels: ModuleType, n_jobs: int) -> CompactBFGS:
    return CompactBFGS(
        settings.memory,
        settings.gamma or 1.0,
        settings.scaling,
        size,
        kernels,
        lazy=settings.lazy,
        single=settings.single,
        n_jobs=n_jobs,
    )


def _passes(settings: ProxQN, oracle: Oracle, depth: int) -> Passes:
    return Passes(
        least=_MIN_SAMPLE_INNER if depth else _MIN_INNER,
        most=settings.max_inner,
        budget=max(_INNER_SHARE * _pass_cost(oracle), _MIN_BUDGET),
        total=oracle.n_parameters if settings.balance_inner else None,
    )


def _pass_cost(oracle: Oracle) -> float:
    """Return the multiply-adds of a pass of inference; infinite where they are not known."""
    return oracle.pass_cost() if isinstance(oracle, Priced) else math.inf
