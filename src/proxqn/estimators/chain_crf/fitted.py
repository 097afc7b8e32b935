"""A fitted chain as files, the command line and other programs see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.chain_crf.coefficients import ChainCoefficients
from proxqn.estimators.chain_crf.description import describe
from proxqn.estimators.chain_crf.exports import to_crfsuite
from proxqn.estimators.chain_crf.file import check_columns, read, write
from proxqn.estimators.chain_crf.other_programs import OtherPrograms
from proxqn.estimators.chain_crf.prediction import ChainPredictor
from proxqn.estimators.chain_crf.training import edge_names, feature_names
from proxqn.estimators.model import Description, ModelReader, ModelWriter
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
        """Return what there is to see in the fitted model."""
        return describe(self)

    def exports(self) -> dict[str, Callable[[], Iterator[str]]]:
        """Return the lines of the forms of CRFsuite and CRF++, by program."""
        return {
            "crfsuite": partial(to_crfsuite, self, self.encoder_),
            "crfpp": self.crfpp_lines,
        }

    def to_file(self, file: ModelWriter) -> None:
        """Write what it is made of."""
        write(self, file)

    @classmethod
    def from_file(cls, file: ModelReader) -> Self:
        """Return the model of a file."""
        model: Self = read(cls, file)
        return model
