"""Factors of the sequences' losses: those given, and weights of labels turned into such."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import compute_sample_weight

from proxqn.estimators.input.labels import GivenLabels
from proxqn.estimators.input.tokens import Tokens
from proxqn.problem import Floats


def combined_weights(
    sample_weight: Any, class_weight: Any, labels: GivenLabels, tokens: Tokens
) -> Floats | None:
    """Multiply the weights of sequences by those of their labels; None where neither is given."""
    given = read_sample_weight(sample_weight, tokens)
    if class_weight is None:
        return given
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not (isinstance(weight, int | float | np.number) and 0.0 <= weight < np.inf):
                raise ValueError(
                    f"class_weight[{label!r}] must be a finite number, 0 or above, got {weight!r}."
                )
    elif class_weight != "balanced":
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    if not labels.complete:
        raise ValueError(
            "class_weight needs a label for every token, but some of y are missing. Pass weights "
            "of your own with sample_weight."
        )
    weights = sequence_weights(class_weight, labels.known, tokens.lengths)
    weights = weights if given is None else weights * given
    if not weights.any():
        raise ValueError("class_weight leaves every sequence with weight 0; expected one above 0.")
    return weights


def sequence_weights(
    class_weight: dict[Any, float] | Literal["balanced"], y: Any, lengths: ArrayLike | None = None
) -> Floats:
    """Return a ``sample_weight`` for sequences that lets some labels count for more.

    The loss of a chain has one term a sequence, so a label's weight can only act on the sequences
    it occurs in: each gets the mean weight of its tokens. Without ``lengths``, and for sequences of
    length one, this is :func:`sklearn.utils.class_weight.compute_sample_weight`.

    Parameters
    ----------
    class_weight : dict or "balanced"
        The weight of each label (1 for labels left out), or weights in inverse proportion to the
        labels' frequencies.
    y : array of shape (n_tokens,), or list of lists
        Labels, as in ``ChainCRF.fit``.
    lengths : array of int of shape (n_sequences,), optional
        Tokens of each sequence, where y is flat.

    Examples
    --------
    >>> sequence_weights({"rare": 5.0}, [["rare", "common"], ["common"]])
    array([3., 1.])
    """
    if lengths is None and len(y) and isinstance(y[0], list | tuple | np.ndarray):
        lengths, y = [len(labels) for labels in y], np.concatenate(y)
    of_token: Floats = compute_sample_weight(class_weight, y)
    if lengths is None:
        return of_token
    sizes = np.asarray(lengths)
    if sizes.min(initial=1) < 1 or int(sizes.sum()) != len(of_token):
        raise ValueError(
            f"lengths must be at least 1 each and sum to the {len(of_token)} labels of y; they "
            f"sum to {int(sizes.sum())}."
        )
    means: Floats = np.add.reduceat(of_token, np.cumsum(sizes) - sizes) / sizes
    return means


def read_sample_weight(sample_weight: Any, tokens: Tokens) -> Floats | None:
    """Return the factor of every sequence's loss, or None where all are 1."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.dtype.kind not in "biuf":
        weights = weights.astype(np.float64)  # refuses what is not a number
    n_sequences = len(tokens.lengths)
    if weights.ndim == 0:
        weights = np.full(n_sequences, weights)
    if weights.shape != (n_sequences,):
        raise ValueError(
            f"sample_weight must have shape ({n_sequences},), one number a sequence (not a token), "
            f"got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            "sample_weight must be finite and not negative; 0 leaves a sequence out. Got "
            f"{weights[~(np.isfinite(weights) & (weights >= 0))][0]}."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every sequence; expected at least one above 0.")
    return weights.astype(np.float64)
