"""A chain as the contents of a model file: ``docs/model-format.md`` is its description."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.base import check_settings
from proxqn.estimators.chain_crf.problem import ChainPenalty
from proxqn.estimators.model import (
    ModelReader,
    ModelWriter,
    read_feature_names,
    write_feature_names,
)
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import Templates
from proxqn.features.vocabulary import Vocabulary
from proxqn.losses.chain.oracle import Pairs
from proxqn.penalties.bounded import Bounded

_PARAMETERS = ("end_weights", "pairs")
_NEWER = ("lam_transitions", "lam_intercept")  # their models are of version 3
_GIVEN = ("transition_pairs", "max_weight", *_NEWER)
_PAIR_BYTES = 12  # of a pair of labels, in memory
_SMALL = 32 << 20  # bytes; a table beyond is stored in full, so that the file pays for what it asks


def write(model: Any, file: ModelWriter) -> None:
    """Write a fitted chain; features without a weight go, where they have names."""
    file.parameters(model, *_PARAMETERS, given=_GIVEN)
    file.labels("labels", model.classes_)
    coef, edges = sp.csr_array(model.coef_), sp.csr_array(model.edge_coef_)
    encoder: SequenceEncoder | None = model.encoder_
    if encoder is None:
        write_feature_names(file, model)
    else:
        file.value("encoder", _packed(encoder))
        if encoder.templates is not None and encoder.templates.dialect is not Dialect.CRFPP:
            file.needs(4)
        coef = _write_names(file, "features", coef, encoder.vocabulary, at_least=1)
        if len(encoder.edge_vocabulary):
            edges = _write_names(file, "edge_features", edges, encoder.edge_vocabulary)
    file.value("n_features", coef.shape[1])
    file.matrix("coef", coef)
    full = _PAIR_BYTES * model.transitions_.size > _SMALL
    file.matrix("transitions", model.transitions_, full=full)
    file.matrix("ends", np.stack([model.start_weights_, model.end_weights_]))
    if edges.shape[1]:
        file.needs(2)
        file.value("n_edge_features", edges.shape[1])
        file.matrix("edges", edges)
    if model.fit_intercept:
        file.needs(3)
        file.value("fit_intercept", True)
        file.matrix("intercept", model.intercept_[None, :])
    if any(getattr(model, name) is not None for name in _NEWER):
        file.needs(3)
    if model.max_weight is not None:
        file.needs(4)


def read(estimator: Any, file: ModelReader) -> Any:
    """Build the model from a file's contents."""
    intercept = file.value("fit_intercept", False)
    model = estimator(**file.parameters(*_PARAMETERS, *_GIVEN), fit_intercept=intercept)
    _check_parameters(model)
    model.classes_ = file.labels("labels")
    n_labels, n_features = len(model.classes_), file.count("n_features")
    n_edges = file.count("n_edge_features", 0)
    if n_labels < 2:
        raise ValueError("expected two labels or more")
    file.afford(_PAIR_BYTES * n_labels**2, f"the pairs of {n_labels:,} labels")
    model.n_features_in_ = n_features
    model.coef_ = file.matrix("coef", (n_labels, n_features))
    model.transitions_ = file.matrix("transitions", (n_labels, n_labels)).toarray()
    model.start_weights_, model.end_weights_ = file.matrix("ends", (2, n_labels)).toarray()
    model.intercept_ = np.zeros(n_labels)
    if intercept:
        model.intercept_ = file.matrix("intercept", (1, n_labels)).toarray()[0]
    model.edge_coef_ = sp.csr_array((n_labels**2, 0))
    if n_edges:
        model.edge_coef_ = file.matrix("edges", (n_labels**2, n_edges))
    read_feature_names(file, model)
    packed = file.value("encoder", None)
    model.encoder_ = None if packed is None else _encoder(packed, file, n_features, n_edges)
    if model.encoder_ is not None:  # so that a clone reads sequences alike
        model.templates, model.min_freq = model.encoder_.templates, model.encoder_.min_freq
        model.sequence_id = model.encoder_.sequence_id
    return model


def _check_parameters(model: Any) -> None:
    """Refuse what ``fit`` would refuse."""
    check_settings(model)
    own = {name: getattr(model, name) for name in _NEWER}
    penalty = ChainPenalty.of(model.lam, model.l2, **own)
    if model.max_weight is not None:
        Bounded(penalty.rest, model.max_weight)
    for pairs in (model.pairs, model.transition_pairs or "all"):
        Pairs(pairs)
    for flag in (model.fit_intercept, model.end_weights):
        if not isinstance(flag, bool | None):
            raise TypeError(f"expected true, false or null, got {flag!r:.40}")


def check_columns(coef: sp.csr_array, n_names: int, what: str) -> None:
    """Refuse an encoder that names other columns."""
    if n_names != coef.shape[1]:
        raise ValueError(
            f"the encoder has {n_names} {what}, but the model was fitted with {coef.shape[1]}. "
            "Pass the encoder that made the model's data."
        )


def _write_names(
    file: ModelWriter, name: str, coef: sp.csr_array, names: Vocabulary, at_least: int = 0
) -> sp.csr_array:
    """Write the names of the columns with a weight, and return these columns."""
    used: NDArray[np.int64] = np.unique(coef.indices[coef.data != 0.0]).astype(np.int64)
    if len(used) < at_least:  # a matrix needs a column
        used = np.zeros(at_least, np.int64)
    if len(used) < len(names):
        coef, names = sp.csr_array(sp.csc_array(coef)[:, used]), names.subset(used)
    if len(used):
        file.names(name, names)
    return coef


def _packed(encoder: SequenceEncoder) -> dict[str, Any]:
    packed = {
        "templates": None if encoder.templates is None else str(encoder.templates),
        "min_freq": int(encoder.min_freq),
        "sequence_id": encoder.sequence_id,
    }
    if encoder.templates is not None and encoder.templates.dialect is not Dialect.CRFPP:
        packed["dialect"] = encoder.templates.dialect.value
    return packed


def _encoder(
    packed: dict[str, Any], file: ModelReader, n_features: int, n_edges: int
) -> SequenceEncoder:
    """Return the encoder with the names of the file; refuse names that are not as many."""
    names, edge_names = file.names("features"), file.names("edge_features")
    if names is None or len(names) != n_features:
        found = "none" if names is None else len(names)
        raise ValueError(f"expected {n_features} names of features, got {found}.")
    if edge_names is not None and len(edge_names) != n_edges:
        raise ValueError(f"expected {n_edges} names of edge features, got {len(edge_names)}.")
    try:
        lines, dialect = packed["templates"], packed.get("dialect", Dialect.CRFPP)
        templates = None
        if lines is not None:
            templates = Templates.parse(lines, "the model's templates", dialect)
        return SequenceEncoder(
            templates,
            min_freq=_minimum(packed["min_freq"]),
            sequence_id=_column_name(packed["sequence_id"]),
            vocabulary=names,
            edge_vocabulary=Vocabulary.from_names([]) if edge_names is None else edge_names,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"the encoder cannot be read ({error}).") from None


def _minimum(min_freq: Any) -> int:
    if type(min_freq) is not int:
        raise TypeError(f"min_freq is {min_freq!r:.40}")
    return min_freq


def _column_name(name: Any) -> str | None:
    if not isinstance(name, str | None):
        raise TypeError(f"sequence_id is {name!r:.40}")
    return name
