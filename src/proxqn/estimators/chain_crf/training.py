"""What a chain is fitted to, as users pass it, checked and brought into one form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from proxqn.estimators.chain_weights import ChainCoefficients, ChainWeights
from proxqn.estimators.class_weight import combined_weights
from proxqn.estimators.columns import Columns
from proxqn.estimators.input.labels import check_several_classes, read_given
from proxqn.estimators.input.named import read_training
from proxqn.estimators.input.sequences import is_list_of_sequences, join
from proxqn.estimators.input.tokens import Tokens, canonical
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.partial_labels import PartialLabels
from proxqn.features.vocabulary import Vocabulary
from proxqn.features.weight_pairs import WeightPairs
from proxqn.problem import Floats


@final
@dataclass(frozen=True)
class Meaning:
    """What the numbers of training data stand for: kept when the data have gone."""

    classes: NDArray[Any]  # [L] the labels, sorted
    columns: Columns  # the features of tokens
    edge_columns: Columns  # those of the steps between tokens
    encoder: SequenceEncoder | None  # None for a matrix

    def continued(self, known: ChainCoefficients) -> ChainCoefficients:
        """Return coefficients whose columns are the first of these data, with room for the rest."""
        return known.widened(self.columns.number, self.edge_columns.number)

    def matched(self, given: ChainCoefficients) -> ChainWeights:
        """Return the weights of another model for the labels and features of these data."""
        return given.onto(self.classes, self.columns, self.edge_columns)


@final
@dataclass(frozen=True)
class TrainingData:
    """Tokens with their labels, which may be known in part, and factors of the losses."""

    tokens: Tokens
    labels: PartialLabels
    sample_weight: Floats | None  # [n_sequences]
    meaning: Meaning
    pairs: WeightPairs | None = None  # where the data say which weights a model of them has


def feature_names(encoder: SequenceEncoder | None, names: NDArray[Any] | None) -> Vocabulary | None:
    """Return the names of features: an encoder's, or those of a DataFrame's columns."""
    if encoder is not None:
        return encoder.vocabulary
    return None if names is None else Vocabulary.from_names(names.tolist())


def edge_names(encoder: SequenceEncoder | None) -> Vocabulary | None:
    """Return the names of edge features, where an encoder has made them."""
    return encoder.edge_vocabulary if encoder and len(encoder.edge_vocabulary) else None


def read(
    estimator: Any,
    X: Any,
    y: Any,
    lengths: Any,
    sample_weight: Any,
    edges: Any,
    *,
    goes_on: bool,
) -> TrainingData:
    """Read training data of any form; a fit that goes on keeps the columns and labels it has."""
    known = int(estimator.edge_coef_.shape[1]) if goes_on else None
    given = read_training(estimator, X, y, lengths, sample_weight, goes_on=goes_on)
    tokens = with_edges(given.tokens, edges, known)
    named = read_given(given.y, tokens)
    classes, labels = named.numbered(estimator.classes_ if goes_on else None)
    weights = combined_weights(given.sample_weight, estimator.class_weight, named, tokens)
    if weights is not None and not weights.all():
        keep = weights > 0
        labels = labels.take(np.repeat(keep, tokens.lengths))
        tokens, weights = tokens.take(keep), weights[keep]
    check_several_classes(labels, classes)
    names = None if given.encoder else getattr(estimator, "feature_names_in_", None)
    meaning = Meaning(
        classes,
        Columns(tokens.X.shape[1], feature_names(given.encoder, names)),
        _edge_columns(tokens, given.encoder),
        given.encoder,
    )
    if given.pairs is not None:
        _check_pairs(given.pairs, classes)
    return TrainingData(tokens, labels, weights, meaning, given.pairs)


def _edge_columns(tokens: Tokens, encoder: SequenceEncoder | None) -> Columns:
    if tokens.edges is None:
        return Columns(0)
    return Columns(tokens.edges.shape[1], edge_names(encoder))


def _check_pairs(pairs: WeightPairs, classes: NDArray[Any]) -> None:
    if not np.array_equal(pairs.classes, classes):
        raise ValueError(
            f"the sequences were encoded with pairs of {len(pairs.classes)} labels that are not "
            f"the {len(classes)} of y. Make the pairs of the labels of y, sorted."
        )


def with_edges(tokens: Tokens, edges: Any, known: int | None) -> Tokens:
    """Return the tokens with their edge features; refuse what does not fit.

    Parameters
    ----------
    tokens : Tokens
        They have edge features already where templates make them.
    edges : matrix of shape (n_tokens, n_edge_features), or list of these, or None
        As the user gave them.
    known : int or None
        Edge features of the fitted model; None before a fit.

    Examples
    --------
    >>> tokens = Tokens(sp.csr_array(np.eye(2)), np.array([2]), listed=False)
    >>> with_edges(tokens, [[0], [1]], None).edges.toarray().tolist()
    [[0], [1]]
    """
    if edges is None:
        if known and tokens.edges is None:
            raise ValueError(
                f"the model was fitted with {known} edge features; pass edges, a matrix with one "
                "row a token."
            )
        return tokens
    if tokens.edges is not None:
        raise ValueError(
            "edges came with templates that make edge features. Leave one of them out."
        )
    matrix = _checked(edges, tokens)
    if known is not None and matrix.shape[1] != known:
        raise ValueError(
            f"edges has {matrix.shape[1]} features, but the model was fitted with {known}."
        )
    return replace(tokens, edges=matrix)


def _checked(edges: Any, tokens: Tokens) -> sp.csr_array:
    if isinstance(edges, list | tuple) and is_list_of_sequences(edges):
        edges, lengths = join(edges)
        if not np.array_equal(lengths, tokens.given_lengths):
            raise ValueError(
                "edges must have a matrix for every sequence, with as many rows as it has tokens."
            )
    matrix: Any = check_array(edges, accept_sparse="csr", ensure_min_features=0, input_name="edges")
    if matrix.shape[0] != tokens.X.shape[0]:
        raise ValueError(
            f"edges has {matrix.shape[0]} rows, but there are {tokens.X.shape[0]} tokens. Pass one "
            "row a token, the step into it; rows of first tokens are not used."
        )
    return canonical(matrix)
