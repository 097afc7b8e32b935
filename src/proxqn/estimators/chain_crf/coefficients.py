"""A chain's weights with the names of what they are weights of: where another fit may start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.columns import Columns, widened
from proxqn.features.vocabulary import Vocabulary
from proxqn.problem import Ints


@final
@dataclass(frozen=True)
class ChainCoefficients:
    """A chain's weights with the names of labels and features: what another fit may start from.

    Attributes
    ----------
    weights : ChainWeights
        The arrays.
    classes : array of shape (n_classes,)
        The labels of their rows, sorted.
    features, edge_features : Vocabulary or None
        The names of their columns; None where these have none.
    """

    weights: ChainWeights
    classes: NDArray[Any]
    features: Vocabulary | None = None
    edge_features: Vocabulary | None = None

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return self.weights.n_nonzero

    def widened(self, n_features: int, n_edge_features: int) -> ChainCoefficients:
        """Return them with room for columns that came later, after the old ones; nameless now."""
        weights = replace(
            self.weights,
            coef=widened(self.weights.coef, n_features),
            edges=widened(self.weights.edges, n_edge_features),
        )
        return ChainCoefficients(weights, self.classes)

    def onto(self, classes: NDArray[Any], features: Columns, edges: Columns) -> ChainWeights:
        """Return the weights for other labels and features, matched by name.

        What is not there goes; what is new has no weight. Columns without names must be as many.
        """
        old = self.weights
        place = _places_of_labels(self.classes, classes)
        if (place < 0).all():
            raise ValueError(
                f"initial knows none of the labels of y: it has {self.classes[:5].tolist()}, y has "
                f"{classes[:5].tolist()}. Pass a model of the same labels."
            )
        coef = features.take(old.coef, self.features, "features")
        edge_coef = sp.csr_array((old.edges.shape[0], edges.number))
        if old.edges.shape[1] and edges.number:
            edge_coef = edges.take(old.edges, self.edge_features, "edge features")
        return replace(old, coef=coef, edges=edge_coef).for_labels(place, len(classes))


def _places_of_labels(old: NDArray[Any], new: NDArray[Any]) -> Ints:
    if (old.dtype.kind in "US") != (new.dtype.kind in "US") and "O" not in old.dtype.kind:
        return np.full(len(old), -1)
    place = np.minimum(np.searchsorted(new, old), len(new) - 1)
    return np.where(new[place] == old, place, -1)
