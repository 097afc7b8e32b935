"""Early stopping: the iterate that scores best on a development set is kept, and ends the fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.development import Reading, development_set
from proxqn.problem import SparseVector
from proxqn.run.status import Status, distance
from proxqn.run.trace import Row
from proxqn.run.watch import Iterate, Watcher

PATIENCE = 5  # looks
_FURTHEST = 10  # iterations from a look to the next: the last ones change little


@final
@dataclass(frozen=True)
class Kept:
    """The best iterate so far."""

    iteration: int
    weights: SparseVector
    objective: float
    kkt: float


@final
@dataclass(frozen=True)
class Looks:
    """What was seen of a development set so far: all that a fit needs to go on from there."""

    iterations: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    kept: Kept | None = None

    @property
    def best(self) -> float:
        """The best score."""
        return max(self.scores, default=-math.inf)

    @property
    def without_better(self) -> int:
        """How many looks ago the best score came up first."""
        return len(self.scores) - 1 - self.scores.index(self.best) if self.scores else 0

    @property
    def next(self) -> int:
        """The next iteration to look at: it depends on nothing but those before."""
        if not self.iterations:
            return 0
        return self.iterations[-1] + min(max(len(self.iterations) - 1, 1), _FURTHEST)

    def taken(self, row: Row, weights: SparseVector, score: float) -> Looks:
        """Return the looks with another: of equal scores the later iterate is kept."""
        kept = self.kept
        if kept is None or score >= self.best:
            copied = SparseVector(weights.coordinates.copy(), weights.values.copy())
            kept = Kept(row.iteration, copied, row.objective, row.kkt)
        return Looks((*self.iterations, row.iteration), (*self.scores, score), kept)


@final
@dataclass(frozen=True)
class Selection:
    """What a development set said along a fit; the estimator's ``validation_``.

    Attributes
    ----------
    iterations, scores : tuple
        Where it was asked, and what it said; the trace's rows have the scores, too.
    best_iteration, best_score
        Of the iterate that was kept.
    reason : str
        Where and why the fit stopped, as a sentence.
    """

    iterations: tuple[int, ...]
    scores: tuple[float, ...]
    best_iteration: int
    best_score: float
    reason: str


@final
class EarlyStopping(Watcher):
    """Scores iterates on a development set, keeps the best, ends the fit where none gets better.

    ``fit(…, validation=(X_dev, y_dev))`` makes one; ``validation`` takes one, too. Scores are made
    at iterations 0, 1, 2, 4, 7, 11, 16, 22, 29, 37, 46, from there on every tenth, and at the last
    one, off the clock. Of equal scores the later iterate is kept, which is nearer to the optimum;
    patience is for a better one.

    Parameters
    ----------
    reading : callable
        Reads the development set for models like the one it is given, and returns what scores
        them, as :func:`~proxqn.estimators.development.development_set` does.
    patience : int or None
        End the fit after so many looks without a better score; None: go on to the end.
    looks : Looks, optional
        Of a run that is resumed.

    Examples
    --------
    >>> from proxqn import ChainCRF
    >>> X, y = [["dogs", "bark"], ["cats", "purr"]] * 4, [["N", "V"]] * 8
    >>> crf = ChainCRF(lam=0.1).fit(X, y, validation=([["cats", "bark"]], [["N", "V"]]))
    >>> crf.validation_.best_score
    1.0
    """

    def __init__(
        self, reading: Reading, patience: int | None = PATIENCE, looks: Looks | None = None
    ) -> None:
        counted = isinstance(patience, int | np.integer) and not isinstance(patience, bool)
        if patience is not None and not (counted and patience >= 1):
            raise ValueError(
                f"patience must be an integer, 1 or above, or None, got {patience!r}. It is how "
                "many looks at the development set may bring no better score; None never stops."
            )
        self._reading, self._patience, self._before = reading, patience, looks
        self.looks = looks or Looks()
        self._score_at: Callable[[SparseVector], float] | None = None

    def begin(self, model_at: Callable[[SparseVector], Any], n_coordinates: int) -> None:
        """Read the development set, before any work of the solver; refuse what does not fit."""
        score = self._reading(model_at(SparseVector.empty()))
        self._score_at = lambda weights: score(model_at(weights))
        self.looks = self._before or Looks()
        kept = self.looks.kept
        if kept is None:
            return
        if (furthest := int(kept.weights.coordinates.max(initial=-1))) >= n_coordinates:
            raise ValueError(
                f"the run that is resumed kept a weight at {furthest:,}, but the problem has "
                f"{n_coordinates:,} coordinates. Resume from another."
            )
        if (again := self._score_at(kept.weights)) != self.looks.best:
            raise ValueError(
                f"the run that is resumed kept iteration {kept.iteration}, with the score "
                f"{self.looks.best:.10g} on its development set; on this one it has {again:.10g}. "
                "Pass the development set of that run."
            )

    def see(self, iterate: Iterate) -> float | None:
        """Score an iterate, if it is one of those to look at."""
        if iterate.row.iteration < self.looks.next:
            return None
        return self._taken(iterate.row, iterate.weights)

    def __call__(self, row: Row) -> bool:
        """Return True once patience is at its end."""
        return self._patience is not None and self.looks.without_better >= self._patience

    def conclude(self, result: Any) -> Any:
        """Return the result of a run with the best iterate in place of the last.

        Parameters
        ----------
        result : OptimizeResult
            Of ``minimize``, with this as the callback. Bounds that were proved on the way hold
            for the iterate that is kept.
        """
        trace = result.trace
        if not len(trace) or result.status is Status.NOT_FINITE:
            return result
        impatient = self(trace[-1]) and result.status is Status.CALLBACK
        with suppress(KeyboardInterrupt):  # once more, by who is in a hurry: nothing goes lost
            if self.looks.iterations[-1:] < (trace[-1].iteration,):
                trace.amend(replace(trace[-1], score=self._taken(trace[-1], result.weights)))
        kept = self.looks.kept
        if kept is None:
            return result
        made, status = result.nit, result.status
        if kept.iteration != made:
            _put(kept, result)
        if impatient or (kept.iteration != made and status.success):
            result.status, result.success = Status.DEVELOPMENT, False
        why = self._why(status, impatient=impatient)
        reason = (
            f"kept iteration {kept.iteration} of {made}, with the score {self.looks.best:.6g} on "
            f"the development set; {why}"
        )
        known = distance(result.fun, result)
        result.message = "; ".join(part for part in (reason, known) if part)
        result.validation = Selection(
            self.looks.iterations, self.looks.scores, kept.iteration, self.looks.best, reason
        )
        return result

    def _why(self, status: Status, *, impatient: bool) -> str:
        if impatient:
            return f"{self.looks.without_better} looks brought nothing better"
        ended = {Status.INTERRUPTED: "interrupted", Status.CALLBACK: "stopped there"}
        return ended.get(status, status.value)

    def _taken(self, row: Row, weights: SparseVector) -> float:
        if self._score_at is None:
            raise RuntimeError(
                "this EarlyStopping has no model to score yet; pass it as fit(…, validation=…), "
                "not as a callback."
            )
        score = self._score_at(weights)
        self.looks = self.looks.taken(row, weights, score)
        return score


def early_stopping(validation: Any, patience: Any, scoring: Any) -> EarlyStopping | None:
    """Return what the arguments of ``fit`` ask for."""
    if validation is None or isinstance(validation, EarlyStopping):
        return validation
    return EarlyStopping(development_set(validation, scoring), patience)


def _put(kept: Kept, result: Any) -> None:
    """Put an earlier iterate into a result, with what is known of it: bounds hold for all."""
    optimum = _estimated_optimum(result)
    lowest, lowest_in_box = result.fun - result.gap, result.fun - result.gap_box
    weights = kept.weights
    result.weights, result.nnz, result.kkt = weights, len(weights.values), kept.kkt
    result.x = sp.coo_array((weights.values, (weights.coordinates,)), shape=result.x.shape)
    result.fun = kept.objective
    result.gap = max(kept.objective - lowest, 0.0)
    result.gap_box = max(kept.objective - lowest_in_box, 0.0)
    result.estimate = min(max(kept.objective - optimum, 0.0), result.gap)
    result.memory = None  # it is of the last iterate


def _estimated_optimum(result: Any) -> float:
    """Return the optimum as it was estimated last; at worst the bound that is proved."""
    told = [row.objective - row.estimate for row in result.trace if math.isfinite(row.estimate)]
    proved: float = result.fun - result.estimate
    return max(told[-1], proved) if told and told[-1] <= result.fun else proved
