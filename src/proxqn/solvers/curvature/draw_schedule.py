"""When curvature is drawn from the model anew, and the inner problem with the latest draws.

Draws serve from epoch to epoch as long as the iterate has hardly moved, no variable has entered and
no step was refused; then others are made, with the same random numbers, at the new place. A model
that is sure of its labels draws few different rows: where steps are often refused, the ridge is
raised.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType
from typing import final

import numpy as np

from proxqn.problem.abilities import Draws
from proxqn.problem.oracle import Point
from proxqn.problem.sparse import Floats, Ints, SparseColumns
from proxqn.solvers.curvature.draw_model import SampledModel
from proxqn.solvers.curvature.memory import DrawExperience
from proxqn.solvers.curvature.model import Curvature
from proxqn.solvers.curvature.quasi_newton import QuasiNewton
from proxqn.solvers.inner import Direction, Effort
from proxqn.solvers.line_search import Step
from proxqn.solvers.standing import Standing
from proxqn.solvers.working_set import WorkingSet

_MIN_ROWS = 2000
_SAME_PLACE = 1e-4  # of the objective: having gained no more, draws are still good
_PAIRS = 40  # of before that correct new draws
_RIDGE, _LEAST_RIDGE = 12.0, 3.0  # mean squares of an entry: what the draws may have missed
_RIDGE_STEPS = 48.0  # iterations with draws that halve it
_SURE_STEPS = 16.0  # the same with draws that tell all
_LATEST = 0.1  # weight of the newest step among the latest
_OFTEN, _RAISE = 0.4, 4.0  # share of these that was refused, and what raises the ridge then
_SELDOM = 0.15  # share below which it comes down again, where draws tell all
_CLOSER = 0.3  # of the tolerance of inner problems: with draws that tell all
_ROUGH_STEPS = 24  # iterations with the first draws
_ALIKE = 0.5  # of the variables were in the run before: its experience holds for them
_CARRIED = 24  # of these iterations that count in a later run: its draws are of another place
_SHARE = 0.25  # of the cost of inference
_MIN_BUDGET, _MAX_BUDGET = 1e7, 3e8  # multiply-adds, where that cost is tiny or not known


@final
class DrawnCurvature(Curvature):
    """The model of the latest draws, where there is one, on top of the pairs.

    Attributes
    ----------
    columns : SparseColumns or None
        What has been drawn last, for who may want it; to be set to None by who does not.

    Parameters
    ----------
    pairs : QuasiNewton
        What to fall back on. It learns beside the draws, and corrects new ones.
    rows : float
        Rows for each variable; 0 for no draws.
    pass_cost : float
        Multiply-adds of a pass of inference.
    seed : int
        Of the draws.
    single : bool
        Compute in single precision where the model is large.
    experience : DrawExperience, optional
        Of a run before.
    """

    def __init__(
        self,
        pairs: QuasiNewton,
        standing: Standing,
        *,
        rows: float,
        pass_cost: float,
        seed: int,
        single: bool,
        kernels: ModuleType,
        experience: DrawExperience | None = None,
    ) -> None:
        self._model: SampledModel | None = None
        self.columns: SparseColumns | None = None
        self._pairs, self._standing, self._kernels = pairs, standing, kernels
        self._rows, self._seed, self._single = rows, seed, single
        self._budget = max(min(_SHARE * pass_cost, _MAX_BUDGET), _MIN_BUDGET)
        self._objective = math.inf  # where they were made
        self._first = math.inf  # the iteration of the first draws
        self._known = experience or DrawExperience()
        self._sure = False  # whether all but little of the curvature is in the draws
        self._refused = self._known.refused  # share of the latest steps that were refused at first
        self._raised = self._known.raised  # what the ridge has been multiplied by

    @property
    def experience(self) -> DrawExperience:
        """What a later run on the same loss may begin with."""
        return DrawExperience(min(self._steps, _CARRIED), self._refused, self._raised)

    @property
    def _steps(self) -> int:
        """Iterations since the first draws, those of a run before included."""
        return self._known.steps + self._own_steps

    @property
    def _own_steps(self) -> int:
        begun = math.isfinite(self._first)
        return int(self._standing.record.iteration - self._first) if begun else 0

    @property
    def active(self) -> bool:
        """Whether there is a model."""
        return self._model is not None

    def renew(self, point: Point, at: WorkingSet, rows: Ints) -> Curvature:
        """Go on to another working set, with other draws if these are no longer good.

        Parameters
        ----------
        rows : array
            Where its variables were in the old one, -1 if nowhere.

        Returns
        -------
        Curvature
            This, or the pairs where nothing can be drawn.
        """
        if math.isinf(self._first) and np.count_nonzero(rows >= 0) < _ALIKE * len(rows):
            self._known = DrawExperience()  # another λ, and a model that is another
        objective = self._standing.iterate.objective
        outdated = self._objective - objective > _SAME_PLACE * abs(objective)
        if self._model is None or outdated or rows.min(initial=0) < 0:
            self._model = None  # its arrays go before new ones come
            self._model = self._draw(point, at)
        else:
            self._model.keep_rows(rows)
        return self if self.active else self._pairs

    def direction(self, at: WorkingSet, effort: Effort) -> Direction | None:
        """Solve the inner problem with the draws."""
        if self._model is None:
            return None
        if self._sure:
            return self._model.solve(at, replace(effort, tolerance=_CLOSER * effort.tolerance))
        return self._model.solve(at, effort, rough=self._steps < _ROUGH_STEPS)

    def learn(self, s: Floats, y: Floats, step: Step) -> str:
        """Take in the pair of a step: it corrects the draws, and the pairs have it as well."""
        if self._model is not None:
            self._model.append(s, y)
            self._refused += _LATEST * ((step.trials > 1) - self._refused)
        if step.trials > 1:
            self._objective = math.inf  # they miss curvature that others may meet
        return self._pairs.learn(s, y, step)

    def restrict(self, keep: Ints) -> None:
        """Drop the rows of variables that leave the working set."""
        self._pairs.restrict(keep)
        if self._model is not None:
            self._model.keep_rows(keep)

    def fall_back(self) -> Curvature | None:
        """Leave these draws; others may do better from the next iterate."""
        self.drop()
        return self._pairs

    def drop(self) -> None:
        """Go on without a model, until the next."""
        self._model = None

    def _ridge(self) -> float:
        """Return what is added to the draws, as the latest steps went."""
        if self._refused > _OFTEN:
            self._raised, self._refused = _RAISE * self._raised, 0.0
        elif self._sure and self._refused < _SELDOM:
            self._raised = max(self._raised / _RAISE, 1.0)
        half = _SURE_STEPS if self._sure else _RIDGE_STEPS
        falling: float = _RIDGE * 0.5 ** (self._steps / half)
        return self._raised * max(falling, _LEAST_RIDGE)

    def _draw(self, point: Point, at: WorkingSet) -> SampledModel | None:
        if not isinstance(point, Draws):
            return None
        n_rows = int(self._rows * len(at)) + _MIN_ROWS
        self.columns = columns = point.draw(at.coordinates, n_rows, self._seed)
        if columns is None:
            return None
        record = self._standing.record
        self._objective = self._standing.iterate.objective
        self._first = min(self._first, record.iteration)
        own = self._own_steps
        self._sure = columns.known > 1.0
        with record.clock.timed("memory"):
            model = SampledModel(
                columns,
                self._ridge(),
                self._kernels,
                budget=self._budget,
                single=self._single,
                n_jobs=self._standing.oracle.n_jobs,
            )
            model.append(*self._pairs.pairs.newest(min(_PAIRS, own)))  # older ones mislead
        return model
