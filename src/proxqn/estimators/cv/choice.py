"""Which λ to take, given the scores of every fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final, get_args

import numpy as np

from proxqn.problem import Floats

Rule = Literal["best", "1se"]


@final
@dataclass(frozen=True)
class Choice:
    """Scores by λ, and the λ taken.

    Examples
    --------
    >>> scores = np.array([[0.5, 0.5], [0.7, 0.9], [0.8, 0.84], [0.6, 0.6]])
    >>> Choice.of(scores, "best").index, Choice.of(scores, "1se").index
    (2, 1)
    """

    index: int  # of the λ
    mean: Floats  # [n_λ]
    error: Floats  # [n_λ] standard errors of these means

    @classmethod
    def of(cls, scores: Floats, rule: Rule) -> Choice:
        """Choose.

        Parameters
        ----------
        scores : array of shape (n_λ, n_folds)
            Larger is better; λ descending.
        rule : {"best", "1se"}
            The best mean, of equal ones that of the largest λ; or the largest λ whose mean is
            within a standard error of the best.
        """
        if rule not in get_args(Rule):
            raise ValueError(f"rule must be one of {', '.join(get_args(Rule))}, got {rule!r}.")
        n_folds = scores.shape[1]
        mean = scores.mean(axis=1)
        spread = scores.std(axis=1, ddof=1) if n_folds > 1 else np.zeros_like(mean)
        error = spread / np.sqrt(n_folds)
        best = int(np.argmax(mean))
        enough = mean[best] - (error[best] if rule == "1se" else 0.0)
        return cls(int(np.argmax(mean >= enough)), mean, error)
