"""What a fold's model is judged by: names of ours, scikit-learn's names, any scorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from proxqn.metrics import entity_f1_score, sequence_accuracy_score, token_accuracy_score

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


def _of_labels(score: Callable[[Any, Any], float]) -> Scorer:
    def scorer(model: Any, X: Any, y: Any) -> float:
        return score(_listed(y), _listed(model.predict(X)))

    return scorer


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
    "entity_f1": _of_labels(entity_f1_score),
    "token_accuracy": _of_labels(token_accuracy_score),
    "sequence_accuracy": _of_labels(sequence_accuracy_score),
    "log_likelihood": _log_likelihood,
}
