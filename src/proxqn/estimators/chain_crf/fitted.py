"""A fitted chain as files, the command line and other programs see it."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.chain_crf.file import check_columns, read, write
from proxqn.estimators.chain_crf.other_programs import OtherPrograms
from proxqn.estimators.chain_crf.prediction import ChainPredictor
from proxqn.estimators.chain_crf.training import edge_names, feature_names
from proxqn.estimators.chain_weights import ChainCoefficients
from proxqn.estimators.model import (
    Description,
    ModelReader,
    ModelWriter,
    WeightGroup,
    feature_namer,
)
from proxqn.features.encoding import SequenceEncoder


class FittedChain(OtherPrograms, ChainPredictor):
    """What :class:`~proxqn.estimators.model.Model` asks of a chain."""

    kind: ClassVar[str] = "chain"

    def coefficients(self) -> ChainCoefficients:
        """Return all weights of the fitted model, with the names of labels and features.

        Another fit may start from them, see ``initial`` of :meth:`fit`.
        """
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", None)
        return ChainCoefficients(
            self._weights(),
            self.classes_,
            feature_names(self.encoder_, given),
            edge_names(self.encoder_),
        )

    def with_encoder(self, encoder: SequenceEncoder) -> Self:
        """Return a copy that reads what the encoder reads, which made the data of the fit."""
        check_columns(self.coef_, len(encoder.vocabulary), "features")
        if len(encoder.edge_vocabulary):
            check_columns(self.edge_coef_, len(encoder.edge_vocabulary), "edge features")
        model = copy(self)
        model.encoder_ = encoder
        return model

    def description(self) -> Description:
        """Return the labels' weights, the transitions, and the weights of edge features."""
        labels, encoder = [str(label) for label in self.classes_], self.encoder_
        named = feature_namer(getattr(self, "feature_names_in_", None), "x")
        edges = _edges(self, labels)
        n_edges = len(np.unique(self.edge_coef_.indices))
        return Description(
            labels,
            self.coef_,
            named if encoder is None else encoder.vocabulary.name,
            {"labels": len(labels)} | ({"edge features": n_edges} if n_edges else {}),
            self.transitions_,
            edges,
        )

    def to_file(self, file: ModelWriter) -> None:
        """Write what it is made of."""
        write(self, file)

    @classmethod
    def from_file(cls, file: ModelReader) -> Self:
        """Return the model of a file."""
        model: Self = read(cls, file)
        return model


def _edges(model: Any, labels: list[str]) -> WeightGroup | None:
    """Return the weights of all edge features and label pairs together."""
    entries: Any = sp.coo_array(model.edge_coef_)
    if not entries.nnz:
        return None
    encoder = model.encoder_
    known = encoder is not None and len(encoder.edge_vocabulary) > 0
    feature = encoder.edge_vocabulary.name if known else "e{}".format

    def name(e: int) -> str:
        before, after = divmod(int(entries.row[e]), len(labels))
        return f"{feature(int(entries.col[e]))} {labels[before]} → {labels[after]}"

    return WeightGroup("edge features", entries.data, name)
