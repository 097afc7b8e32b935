"""What a chain is fitted to, as users pass it, checked and brought into one form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn.estimators.chain_crf.coefficients import ChainCoefficients
from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.class_weight import combined_weights
from proxqn.estimators.columns import Columns
from proxqn.estimators.input.edges import with_edges
from proxqn.estimators.input.labels import check_several_classes, read_given
from proxqn.estimators.input.named import read_training
from proxqn.estimators.input.tokens import Tokens
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
    _check_pairs(given.pairs, classes)
    return TrainingData(tokens, labels, weights, meaning, given.pairs)


def _edge_columns(tokens: Tokens, encoder: SequenceEncoder | None) -> Columns:
    if tokens.edges is None:
        return Columns(0)
    return Columns(tokens.edges.shape[1], edge_names(encoder))


def _check_pairs(pairs: WeightPairs | None, classes: NDArray[Any]) -> None:
    if pairs is not None and not np.array_equal(pairs.classes, classes):
        raise ValueError(
            f"the sequences were encoded with pairs of {len(pairs.classes)} labels that are not "
            f"the {len(classes)} of y. Make the pairs of the labels of y, sorted."
        )
