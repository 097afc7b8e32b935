"""When curvature is drawn from the model anew, and the inner problem with the latest draws.

Draws serve from epoch to epoch as long as the iterate has hardly moved, no variable has entered and
no step was refused; then others are made, with the same random numbers, at the new place.

On data that are all but separable, with a small λ, draws may do worse than pairs. A model that is
sure of its labels draws few different rows: where steps are often refused, the ridge is raised. And
where many features meet in a token, J is dense and its columns are alike: coordinate descent cannot
solve the inner problem in the passes that inference would pay for. Draws that lead nowhere for that
reason are given up for the pairs alone.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import final

from proxqn.problem import Floats, Ints
from proxqn.solvers.curvature.draw_model import SampledModel
from proxqn.solvers.curvature.pairs import CompactBFGS
from proxqn.solvers.inner import Direction
from proxqn.solvers.line_search import Step
from proxqn.solvers.recording import Recorder
from proxqn.solvers.working_set import WorkingSet

_MIN_ROWS = 2000
_SAME_PLACE = 1e-4  # of the objective: having gained no more, draws are still good
_PAIRS = 40  # of before that correct new draws
_RIDGE, _LEAST_RIDGE = 12.0, 3.0  # mean squares of an entry: what the draws may have missed
_RIDGE_STEPS = 48.0  # iterations with draws that halve it
_LATEST = 0.1  # weight of the newest step among the latest
_OFTEN, _RAISE = 0.4, 4.0  # share of these that was refused, and what raises the ridge then
_ROUGH_STEPS = 24  # iterations with the first draws
_SHARE = 0.25  # of the cost of inference
_MIN_BUDGET, _MAX_BUDGET = 1e7, 3e8  # multiply-adds, where that cost is tiny or not known
_JUDGED = 24  # iterations with draws
_SLOW = 0.5  # of the violation before those that is left after them


@final
class DrawnCurvature:
    """The model of the latest draws, where there is one.

    Parameters
    ----------
    rows : float
        Rows for each variable.
    seed : int
        Of the draws, and of the order in which coordinates are visited.
    single : bool
        Compute in single precision where the model is large.
    """

    def __init__(
        self, record: Recorder, kernels: ModuleType, *, rows: float, seed: int, single: bool
    ) -> None:
        self.model: SampledModel | None = None
        self._record, self._kernels = record, kernels
        self._rows, self._seed, self._single = rows, seed, single
        self._objective = math.inf  # where they were made
        self._first = math.inf  # the iteration of the first draws
        self._since, self._violation = 0, math.inf  # when they were last judged
        self._slow = False  # whether they ever led nowhere
        self._refused = 0.0  # share of the latest steps that were refused at first
        self._raised = 1.0  # what the ridge has been multiplied by

    def renew(self, at: WorkingSet, rows: Ints, pairs: CompactBFGS) -> None:
        """Go on to another working set, with other draws if these are no longer good.

        Parameters
        ----------
        rows : array
            Where its variables were in the old one, -1 if nowhere.
        pairs : CompactBFGS
            On the new one: those of earlier draws' iterations correct new draws.
        """
        self._judge()
        objective = self._record.point.objective
        outdated = self._objective - objective > _SAME_PLACE * abs(objective)
        if self.model is None or outdated or rows.min(initial=0) < 0:
            self.model = self._draw(at, pairs)
        else:
            self.model.keep_rows(rows)

    def _judge(self) -> None:
        """Give up draws that hardly lower the violation, where more passes might have."""
        iteration, violation = self._record.iteration, self._record.certificate.kkt
        if self.model is not None:
            if iteration < self._since + _JUDGED:
                return
            self._slow |= violation > _SLOW * self._violation
            if self._slow and self.model.starved:
                self.model = None
        self._since, self._violation = iteration, violation

    def _draw(self, at: WorkingSet, pairs: CompactBFGS) -> SampledModel | None:
        record, oracle = self._record, self._record.oracle
        n_rows = int(self._rows * len(at)) + _MIN_ROWS
        columns = oracle.sample_curvature(at.coordinates, n_rows, self._seed)
        if columns is None:
            return None
        self._objective = record.point.objective
        self._first = min(self._first, record.iteration)
        steps = int(record.iteration - self._first)
        if self._refused > _OFTEN:
            self._raised, self._refused = _RAISE * self._raised, 0.0
        with record.timed("memory"):
            model = SampledModel(
                columns,
                self._raised * max(_RIDGE * 0.5 ** (steps / _RIDGE_STEPS), _LEAST_RIDGE),
                self._kernels,
                budget=max(min(_SHARE * oracle.pass_cost, _MAX_BUDGET), _MIN_BUDGET),
                single=self._single,
                n_jobs=oracle.n_jobs,
            )
            if self._slow and model.starved:
                return None
            model.append(*pairs.newest(min(_PAIRS, steps)))  # older ones mislead
        return model

    def direction(self, at: WorkingSet, tolerance: float) -> Direction | None:
        """Solve the inner problem; None without a model."""
        if self.model is None:
            return None
        iteration = self._record.iteration
        return self.model.solve(
            at.w,
            at.g,
            self._record.penalty,
            tolerance=tolerance,
            rough=iteration - self._first < _ROUGH_STEPS,
            seed=self._seed + iteration,
        )

    def learn(self, s: Floats, y: Floats, step: Step) -> None:
        """Take in the pair of a step."""
        if self.model is not None:
            self.model.append(s, y)
            self._refused += _LATEST * ((step.trials > 1) - self._refused)
        if step.trials > 1:
            self._objective = math.inf  # they miss curvature that others may meet
