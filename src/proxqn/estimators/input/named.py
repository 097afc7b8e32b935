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
import scipy.sparse as sp

from proxqn.estimators.input.tokens import (
    Tokens,
    are_blocks,
    as_list,
    canonical,
    check_lengths,
    read_tokens,
    without_empty,
)
from proxqn.features.dense import split
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.templates import Templates
from proxqn.features.weight_pairs import WeightPairs


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
        if sequence_id is None:
            _refuse_text(X)
        return sequence_id is not None
    if isinstance(X, Iterator):
        return True
    return _is_listed(X) and _first_token_is_named(X)


def is_frame(X: Any) -> bool:
    """Whether X is a pandas DataFrame; who holds one has imported pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def _refuse_text(frame: Any) -> None:
    """Refuse a frame of numbered features that has text in it: someone meant named ones."""
    for name, values in frame.items():
        if values.dtype.kind == "O" and isinstance(next(iter(values), None), str):
            raise ValueError(
                f"column {name!r} of the DataFrame holds text, and no column tells the sequences "
                "apart. Name that one, ChainCRF(sequence_id=…), and the others become features; or "
                "pass a list of dicts for each sequence."
            )


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
    pairs: WeightPairs | None = None


def read_training(
    estimator: Any, X: Any, y: Any, lengths: Any, sample_weight: Any, *, goes_on: bool
) -> Training:
    """Read training data of any form; a fit that goes on keeps the columns it has."""
    old = estimator.encoder_ if goes_on else None
    if isinstance(X, EncodedSequences):
        _refuse_lengths(lengths)
        if goes_on:
            raise ValueError(
                "warm_start=True came with encoded sequences, whose columns are settled. Pass the "
                "sequences themselves, or the earlier model as initial."
            )
        return _training(X, X.encoder, y, sample_weight, listed=True)
    X = X if are_blocks(X, lengths) else _plain(X)
    if not is_named(X, estimator.sequence_id):
        tokens = read_tokens(estimator, X, lengths, reset=not goes_on, to_fit=True)
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
    return _training(encoded, encoder, y, sample_weight, listed=not is_frame(X))


def _training(
    encoded: EncodedSequences,
    encoder: SequenceEncoder | None,
    y: Any,
    sample_weight: Any,
    *,
    listed: bool,
) -> Training:
    return Training(
        _as_tokens(encoded, listed=listed, to_fit=True),
        encoder,
        encoded.labels if y is None else y,  # records from files bring labels and weights
        encoded.weights if sample_weight is None else sample_weight,
        encoded.pairs,
    )


def read_new(estimator: Any, X: Any, lengths: Any, *, empty: bool = False) -> Tokens:
    """Read sequences for a fitted model; features it does not know are left out.

    Where ``empty`` says so a list may be empty, and sequences in it.
    """
    if isinstance(X, Tokens):  # of its own data: a fold of a cross-validation
        return X
    if isinstance(X, EncodedSequences):
        _refuse_lengths(lengths)
        _check_columns(X, estimator)
        return _as_tokens(X, listed=True, empty=empty)
    X = X if are_blocks(X, lengths) else _plain(X)
    if empty and lengths is None and _has_no_token(X):
        given = np.zeros(len(X), dtype=np.int64)
        return Tokens(sp.csr_array((0, estimator.n_features_in_)), given[:0], True, given=given)
    if not is_named(X, estimator.sequence_id):
        return read_tokens(estimator, X, lengths, reset=False, to_fit=False, empty=empty)
    _refuse_lengths(lengths)
    encoded = _checked(estimator.encoder_).transform(X)
    if not len(encoded.lengths):
        raise ValueError("X holds no sequence; expected at least one.")
    return _as_tokens(encoded, listed=not is_frame(X), empty=empty)


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


def _check_columns(encoded: EncodedSequences, estimator: Any) -> None:
    if encoded.X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"the sequences were encoded with {encoded.X.shape[1]} features, but the model has "
            f"{estimator.n_features_in_}. Encode them with the model's encoder_."
        )


def _as_tokens(
    encoded: EncodedSequences, *, listed: bool, to_fit: bool = False, empty: bool = False
) -> Tokens:
    """Return what the model works on; to fit one, dense columns are kept apart."""
    lengths, given = without_empty(check_lengths(encoded.lengths, encoded.X.shape[0], empty=empty))
    edges = None if encoded.edges is None else canonical(encoded.edges)
    sparse, dense = split(encoded.X) if to_fit else (encoded.X, None)
    return Tokens(canonical(sparse), lengths, listed, edges, dense, given)


def _refuse_lengths(lengths: Any) -> None:
    if lengths is not None:
        raise ValueError(
            "lengths came with sequences of named features, whose lengths are known. Leave lengths "
            "out."
        )


def _plain(X: Any) -> Any:
    """Return a Series of sequences, and sequences that are arrays of text, as lists."""
    X = as_list(X)
    return list(map(_without_array, X)) if _is_listed(X) and _has_arrays(X) else X


def _is_listed(X: Any) -> bool:
    return isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 1)


def _has_arrays(X: Any) -> bool:
    return np.ndarray in set(map(type, X))


def _without_array(sequence: Any) -> Any:
    """Return an array of text as a list."""
    is_array = isinstance(sequence, np.ndarray) and sequence.ndim == 1
    return sequence.tolist() if is_array and sequence.dtype.kind in "USO" else sequence


def _has_no_token(X: Any) -> bool:
    """Whether X is a list of nothing, or of empty sequences alone."""
    return isinstance(X, list) and all(
        isinstance(sequence, list | tuple | np.ndarray) and np.shape(sequence)[:1] == (0,)
        for sequence in X
    )


def _first_token_is_named(X: Any) -> bool:
    """Look at the first sequence that is not an empty list."""
    for sequence in X:
        if isinstance(sequence, SequenceRecord):
            return True
        token = sequence
        while isinstance(token, list | tuple) and token:
            token = token[0]
        if isinstance(token, Mapping | set | frozenset | str | bytes):
            return True
        if not (isinstance(sequence, list | tuple) and not sequence):
            return False
    return False
