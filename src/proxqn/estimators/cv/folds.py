"""The folds: views of one encoding, each with a path of its own that starts from that of all data.

A fold's weights go with λ nearly as those of all data do. So it starts at each λ from its own
solution at the λ above, and takes along what all data gained from there to here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GroupKFold, check_cv

from proxqn.estimators.scoring import Scorer
from proxqn.estimators.stated import Held, Stated
from proxqn.path import Path, minimize_path
from proxqn.problem import Floats, Ints
from proxqn.problem.abilities import Subsamples


@final
@dataclass(frozen=True)
class Fold:
    """What is learned from, and what is scored."""

    train: Ints
    test: Ints


def split(held: Held, cv: Any, groups: Any) -> list[Fold]:
    """Return the folds of whole sequences, or of samples with their classes in proportion.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in scikit-learn; a number with groups means that no group is cut.
    """
    strata = held.strata
    if groups is not None and isinstance(cv, int | np.integer):
        cv = GroupKFold(int(cv))
    splitter = check_cv(cv, strata, classifier=strata is not None)
    nothing = np.zeros((held.n, 1))
    return [
        Fold(np.sort(np.asarray(train)), np.sort(np.asarray(test)))
        for train, test in splitter.split(nothing, strata, groups)
    ]


@final
@dataclass(frozen=True)
class FoldPaths:
    """How the folds' paths are made and scored.

    Parameters
    ----------
    whole : Path
        Of all data.
    options : dict
        Of ``minimize_path``.
    """

    stated: Stated
    whole: Path
    scorer: Scorer
    options: dict[str, Any]

    def scores(self, folds: list[Fold], n_jobs: int | None) -> Floats:
        """Return the scores, a row a λ and a column a fold; the same for any number of jobs."""
        columns = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(self._scores)(fold) for fold in folds
        )
        return np.array(columns).T

    def _scores(self, fold: Fold) -> list[float]:
        X, y = self.stated.held.take(fold.test)
        path = self._path(fold)
        return [self.scorer(self.stated.model_at(w), X, y) for w in path.solutions]

    def _path(self, fold: Fold) -> Path:
        oracle: Any = self.stated.oracle
        if not isinstance(oracle, Subsamples):
            raise TypeError(f"{type(oracle).__name__} has no restrict(samples), which folds need.")
        lams = self.whole.lams_
        return minimize_path(
            oracle.restrict(fold.train),
            lams,
            penalty=self.stated.penalty,
            beside=self.whole,
            stop="estimate",
            **self.options,
        )
