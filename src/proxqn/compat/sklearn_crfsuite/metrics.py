"""Scores of lists of labels: scikit-learn's, of all tokens in a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import chain
from typing import Any

from sklearn import metrics

Labels = Sequence[Sequence[Any]]


def _of_all_tokens(score: Callable[..., Any]) -> Callable[..., Any]:
    """Return a score of sequences made of one of tokens."""

    @wraps(score)
    def of_sequences(y_true: Labels, y_pred: Labels, *args: Any, **kwargs: Any) -> Any:
        flat = (list(chain.from_iterable(y)) for y in (y_true, y_pred))
        return score(*flat, *args, **kwargs)

    return of_sequences


flat_accuracy_score = _of_all_tokens(metrics.accuracy_score)
flat_precision_score = _of_all_tokens(metrics.precision_score)
flat_recall_score = _of_all_tokens(metrics.recall_score)
flat_f1_score = _of_all_tokens(metrics.f1_score)


@_of_all_tokens
def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **kwargs: Any) -> Any:
    """Return scikit-learn's ``fbeta_score`` of all tokens."""
    return metrics.fbeta_score(y_true, y_pred, beta=beta, **kwargs)


@_of_all_tokens
def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **kwargs: Any) -> Any:
    """Return scikit-learn's ``classification_report`` of all tokens."""
    return metrics.classification_report(y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the fraction of sequences whose labels are all right."""
    if not len(y_true):
        return 0
    pairs = zip(y_true, y_pred, strict=False)  # as many as the shorter has, as in the original
    return sum(bool(list(true) == list(pred)) for true, pred in pairs) / len(y_true)
