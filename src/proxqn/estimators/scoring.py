"""What a fold's model is judged by: names of ours, scikit-learn's names, any scorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from sklearn.metrics import check_scoring

from proxqn.metrics import sequence_accuracy_score, token_accuracy_score
from proxqn.metrics.sequence import entity_f1_against

Scorer = Callable[[Any, Any, Any], float]


def scorer_of(scoring: Any, model: Any) -> Scorer:
    """Return ``scorer(model, X, y)``.

    Parameters
    ----------
    scoring : str, callable or None
        ``"entity_f1"``, ``"token_accuracy"``, ``"sequence_accuracy"``, ``"log_likelihood"`` (mean
        of a sample), a name of scikit-learn, a scorer; None for the model's own score.
    """
    if isinstance(scoring, str) and scoring in OURS:
        return OURS[scoring]
    found: Scorer = check_scoring(model, scoring=scoring)
    return found


def prepared(scorer: Scorer, X: Any, y: Any) -> Callable[[Any], float]:
    """Return what scores any number of models on the same data; ours read the labels once."""
    if isinstance(scorer, LabelScorer):
        return scorer.prepared(X, y)
    return lambda model: scorer(model, X, y)


@final
@dataclass(frozen=True)
class LabelScorer:
    """Compares the labels that a model predicts with the true ones."""

    against: Callable[[Any], Callable[[Any], float]]  # true labels: what scores others

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        """Score as scikit-learn's scorers do."""
        return self.prepared(X, y)(model)

    def prepared(self, X: Any, y: Any) -> Callable[[Any], float]:
        """Return what scores a model."""
        score = self.against(_listed(y))
        return lambda model: score(_listed(model.predict(X)))


def _listed(labels: Any) -> list[list[Any]]:
    """Return labels as lists: single ones are sequences of one."""
    if isinstance(labels, list):
        return [np.asarray(sequence).tolist() for sequence in labels]
    return [[label] for label in labels.tolist()]


def _log_likelihood(model: Any, X: Any, y: Any) -> float:
    if hasattr(model, "log_probability"):
        return float(np.mean(model.log_probability(X, y)))
    place = {name: i for i, name in enumerate(model.classes_.tolist())}
    columns = [place[name] for name in y.tolist()]
    return float(model.predict_log_proba(X)[np.arange(len(columns)), columns].mean())


OURS: dict[str, Scorer] = {
    "entity_f1": LabelScorer(entity_f1_against),
    "token_accuracy": LabelScorer(lambda true: partial(token_accuracy_score, true)),
    "sequence_accuracy": LabelScorer(lambda true: partial(sequence_accuracy_score, true)),
    "log_likelihood": _log_likelihood,
}
