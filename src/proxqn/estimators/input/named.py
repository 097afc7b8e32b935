"""Sequences of named features: dicts, strings, columns with templates, DataFrames.

A :class:`~proxqn.features.encoding.SequenceEncoder` numbers the names; the fitted one stays with
the model, so that new sequences are read alike and features without a number are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn.estimators.input import sequences as sequence_input
from proxqn.estimators.input.sequences import Tokens
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.templates import Templates


def is_named(X: Any, sequence_id: str | None) -> bool:
    """Tell sequences of named features from numbers: by the first token there is.

    Examples
    --------
    >>> is_named([[{"word": "dog"}]], None), is_named([["dog", "barks"]], None)
    (True, True)
    >>> is_named([[[1.0, 0.0]]], None), is_named(np.eye(2), None)
    (False, False)
    """
    if is_frame(X):
        return sequence_id is not None
    if isinstance(X, Iterator):
        return True
    if not _is_listed(X):
        return False
    return any(_first_token_is_named(sequence) for sequence in _up_to_the_first_full(X))


def is_frame(X: Any) -> bool:
    """Whether X is a pandas DataFrame; who holds one has imported pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def new_encoder(
    templates: Templates | str | None, min_freq: int, sequence_id: str | None
) -> SequenceEncoder:
    """Return an encoder without a vocabulary; refuse bad parameters."""
    if isinstance(templates, str):
        templates = Templates.parse(templates)
    if templates is not None and not isinstance(templates, Templates):
        raise TypeError(
            "templates must be a proxqn.features.templates.Templates, the text of templates, or "
            f"None; got {type(templates).__name__}. A file is read with Templates.from_file."
        )
    if not isinstance(min_freq, int | np.integer):
        raise TypeError(f"min_freq must be an integer, got {min_freq!r}.")
    return SequenceEncoder(templates, min_freq=int(min_freq), sequence_id=sequence_id)


@final
@dataclass(frozen=True)
class Training:
    """Training data as a chain takes them."""

    tokens: Tokens
    encoder: SequenceEncoder | None  # None where the features have no names
    y: Any
    sample_weight: Any


def read_training(
    estimator: Any, X: Any, y: Any, lengths: Any, sample_weight: Any, *, goes_on: bool
) -> Training:
    """Read training data of any form; a fit that goes on keeps the columns it has."""
    old = estimator.encoder_ if goes_on else None
    X = _plain(X)
    if not is_named(X, estimator.sequence_id):
        tokens = sequence_input.read_tokens(estimator, X, lengths, reset=not goes_on)
        return Training(tokens, old, y, sample_weight)
    _refuse_lengths(lengths)
    encoder = new_encoder(estimator.templates, estimator.min_freq, estimator.sequence_id)
    if goes_on:
        encoder = _checked(old).with_settings_of(encoder)
    encoded = encoder.grow_transform(X) if goes_on else encoder.fit_transform(X)
    if not encoded.X.shape[1]:
        raise ValueError(
            f"no feature is left of X (min_freq={encoder.min_freq}); expected at least one. Lower "
            "min_freq, or check that the tokens have features."
        )
    return Training(
        _as_tokens(encoded, X),
        encoder,
        encoded.labels if y is None else y,  # records from files bring labels and weights
        encoded.weights if sample_weight is None else sample_weight,
    )


def read_new(estimator: Any, X: Any, lengths: Any) -> Tokens:
    """Read sequences for a fitted model; features it does not know are left out."""
    X = _plain(X)
    if not is_named(X, estimator.sequence_id):
        return sequence_input.read_tokens(estimator, X, lengths, reset=False)
    _refuse_lengths(lengths)
    encoded = _checked(estimator.encoder_).transform(X)
    if not len(encoded.lengths):
        raise ValueError("X holds no sequence; expected at least one.")
    return _as_tokens(encoded, X)


def count_unseen(estimator: Any, X: Any) -> int:
    """Count the occurrences of named features that a fitted model does not know."""
    return _checked(estimator.encoder_).transform(_plain(X)).n_unseen


def _checked(encoder: SequenceEncoder | None) -> SequenceEncoder:
    if encoder is None:
        raise TypeError(
            "X holds named features, but the model was fitted on numbers: matrices of tokens x "
            "features. Pass such a matrix, or fit the model on named features."
        )
    return encoder


def _as_tokens(encoded: EncodedSequences, X: Any) -> Tokens:
    """Return what the model works on; predictions take the form of X."""
    lengths = sequence_input.check_lengths(encoded.lengths, encoded.X.shape[0])
    edges = None if encoded.edges is None else sequence_input.canonical(encoded.edges)
    return Tokens(sequence_input.canonical(encoded.X), lengths, not is_frame(X), edges)


def _refuse_lengths(lengths: Any) -> None:
    if lengths is not None:
        raise ValueError(
            "lengths came with sequences of named features, whose lengths are known. Leave lengths "
            "out."
        )


def _plain(X: Any) -> Any:
    """Return a Series of sequences, and sequences that are arrays of text, as lists."""
    X = sequence_input.as_list(X)
    if not _is_listed(X):
        return X
    return [s.tolist() if _is_array_of_text(s) else s for s in X]


def _is_listed(X: Any) -> bool:
    return isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 1)


def _is_array_of_text(sequence: Any) -> bool:
    return isinstance(sequence, np.ndarray) and sequence.ndim == 1 and sequence.dtype.kind in "USO"


def _up_to_the_first_full(X: Any) -> Iterator[Any]:
    for sequence in X:
        yield sequence
        if not (isinstance(sequence, list | tuple) and not sequence):
            return


def _first_token_is_named(sequence: Any) -> bool:
    if isinstance(sequence, SequenceRecord):
        return True
    while isinstance(sequence, list | tuple) and sequence:
        sequence = sequence[0]
    return isinstance(sequence, Mapping | set | frozenset | str | bytes)
