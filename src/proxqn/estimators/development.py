"""A development set: labelled data set aside, read once, to score any number of models on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from proxqn.estimators.scoring import prepared, scorer_of
from proxqn.metrics.entities import mark_entities

Score = Callable[[Any], float]  # of a fitted model
Reading = Callable[[Any], Score]  # reads the data for models like this one

_PAIR = "validation must be (X_dev, y_dev), or (X_dev, y_dev, lengths_dev) for a matrix of tokens; "


def development_set(validation: Any, scoring: Any = None) -> Reading:
    """Return what reads a development set for a model, and then scores all that have its columns.

    Parameters
    ----------
    validation : tuple
        ``(X, y)`` or ``(X, y, lengths)``, in any form that the estimator's ``fit`` takes.
    scoring : str, callable or None
        See :func:`~proxqn.estimators.scoring.scorer_of`. None is entity F1 where the labels of
        sequences mark entities (``B-PER``, ``O``), else the model's own score.

    Examples
    --------
    >>> from proxqn import ChainCRF
    >>> model = ChainCRF(lam=0.1).fit([["dogs", "bark"]] * 3, [["noun", "verb"]] * 3)
    >>> score = development_set(([["cats", "bark"]], [["verb", "verb"]]))(model)
    >>> score(model)
    0.5
    """
    if not isinstance(validation, tuple | list):
        raise TypeError(f"{_PAIR}got a {type(validation).__name__}.")
    if len(validation) not in (2, 3):
        raise ValueError(f"{_PAIR}got {len(validation)} of them.")
    data = tuple(validation)

    def read(model: Any) -> Score:
        try:
            X, y = model.held_out(*data)
            scorer = scorer_of(_default(model, y) if scoring is None else scoring, model)
        except ValueError as error:
            raise ValueError(f"validation: {error}") from None
        except TypeError as error:
            raise TypeError(f"validation: {error}") from None
        score = prepared(scorer, X, y)
        return lambda fitted: _number(score(fitted))

    return read


def _default(model: Any, y: Any) -> str | None:
    of_entities = isinstance(y, list) and mark_entities(np.asarray(model.classes_).tolist())
    return "entity_f1" if of_entities else None


def _number(score: Any) -> float:
    if not isinstance(score, int | float | np.number) or math.isnan(score):
        raise ValueError(
            f"scoring gave {score!r} on the development set; expected a number, the larger the "
            "better. Check the scorer on a fitted model and this data."
        )
    return float(score)
