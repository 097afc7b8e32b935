"""A chain CRF, with or without the encoder that made its features, as the contents of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import TemplateError, Templates
from proxqn.features.vocabulary import Vocabulary
from proxqn.io import pieces
from proxqn.io.container import Arrays, Contents, ModelFileError
from proxqn.io.fit_record import pack_fit, pack_parameters, restore_fit

KIND = "chain"


@final
@dataclass(frozen=True)
class SavedChain:
    """A chain CRF and what is needed to go from text to its features.

    With an encoder, features without a weight are left out of both: the model's columns are those
    of the encoder's vocabulary, and other features count as unseen.
    """

    model: ChainCRF
    encoder: SequenceEncoder | None = None
    reading: dict[str, Any] | None = None  # how the command line read the training file


def pack(saved: SavedChain) -> Contents:
    """Turn a fitted model into contents; features without a weight go, where they have names."""
    model, encoder = saved.model, saved.encoder
    coef = sp.csr_array(model.coef_)
    arrays: dict[str, NDArray[Any]] = {}
    meta: dict[str, Any] = {
        "parameters": pack_parameters(model)
        | {"end_weights": model.end_weights, "pairs": model.pairs}
        | ({} if model.transition_pairs is None else {"transition_pairs": model.transition_pairs}),
        "fit": pack_fit(model),
        "labels": pieces.pack_labels(model.classes_),
    }
    edges = sp.csr_array(model.edge_coef_)
    if encoder is not None:
        used = _used_columns(coef, len(encoder.vocabulary), "features")
        used = used if len(used) else np.zeros(1, np.int64)  # a matrix needs a column
        coef, names = _with_weight(coef, encoder.vocabulary, used)
        arrays |= pieces.pack_names("features", names)
        meta["encoder"] = _pack_encoder(encoder)
        if len(encoder.edge_vocabulary):
            used = _used_columns(edges, len(encoder.edge_vocabulary), "edge features")
            edges, names = _with_weight(edges, encoder.edge_vocabulary, used)
            arrays |= pieces.pack_names("edge_features", names) if len(used) else {}
    elif hasattr(model, "feature_names_in_"):
        given = Vocabulary.from_names(model.feature_names_in_.tolist())
        arrays |= pieces.pack_names("feature_names_in", given)
    if saved.reading is not None:
        meta["reading"] = saved.reading
    meta["n_features"] = coef.shape[1]
    arrays |= pieces.pack_matrix("coef", coef)
    arrays |= pieces.pack_matrix("transitions", model.transitions_)
    arrays |= pieces.pack_matrix("ends", np.stack([model.start_weights_, model.end_weights_]))
    if not edges.shape[1]:
        return Contents(KIND, arrays, meta)
    meta["n_edge_features"] = edges.shape[1]
    return Contents(KIND, arrays | pieces.pack_matrix("edges", edges), meta, version=2)


def unpack(contents: Contents) -> SavedChain:
    """Build the model from a file's contents."""
    arrays, meta = contents.arrays, contents.meta
    try:
        parameters, fit, labels = meta["parameters"], meta["fit"], meta["labels"]
        n_features, packed_encoder = int(meta["n_features"]), meta.get("encoder")
        n_edge_features = int(meta.get("n_edge_features", 0))
        model = ChainCRF(**parameters)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the model's description cannot be read ({error}).") from None
    model.classes_ = pieces.unpack_labels(labels)
    n_labels = len(model.classes_)
    model.n_features_in_ = n_features
    model.coef_ = pieces.unpack_matrix("coef", arrays, (n_labels, n_features))
    transitions = pieces.unpack_matrix("transitions", arrays, (n_labels, n_labels))
    ends = pieces.unpack_matrix("ends", arrays, (2, n_labels))
    model.transitions_ = transitions.toarray()
    model.start_weights_, model.end_weights_ = ends.toarray()
    model.edge_coef_ = sp.csr_array((n_labels**2, 0))
    if n_edge_features:
        shape = (n_labels**2, n_edge_features)
        model.edge_coef_ = pieces.unpack_matrix("edges", arrays, shape)
    nnz = model.coef_.nnz + transitions.nnz + ends.nnz + model.edge_coef_.nnz
    restore_fit(model, fit, nnz)
    if "feature_names_in.sizes" in arrays:
        names = pieces.unpack_names("feature_names_in", arrays).names()
        if len(names) != n_features:
            raise ModelFileError(f"expected {n_features} feature names, got {len(names)}.")
        model.feature_names_in_ = np.array(names, dtype=object)
    encoder = None if packed_encoder is None else _unpack_encoder(packed_encoder, arrays)
    if encoder is not None and len(encoder.vocabulary) != n_features:
        raise ModelFileError(f"expected {n_features} names, got {len(encoder.vocabulary)}.")
    if encoder is not None and len(encoder.edge_vocabulary) not in (0, n_edge_features):
        raise ModelFileError(
            f"expected {n_edge_features} names of edge features, got "
            f"{len(encoder.edge_vocabulary)}."
        )
    model.encoder_ = encoder
    if encoder is not None:  # so that a clone reads sequences alike
        model.templates, model.min_freq = encoder.templates, encoder.min_freq
        model.sequence_id = encoder.sequence_id
    return SavedChain(model, encoder, meta.get("reading"))


def _used_columns(coef: sp.csr_array, n_names: int, what: str) -> NDArray[np.int64]:
    if n_names != coef.shape[1]:
        raise ValueError(
            f"the encoder has {n_names} {what}, but the model was fitted with {coef.shape[1]}. "
            "Pass the encoder that made the model's data."
        )
    has_weight = np.zeros(coef.shape[1], dtype=bool)
    has_weight[coef.indices[coef.data != 0.0]] = True
    return np.flatnonzero(has_weight)


def _with_weight(
    coef: sp.csr_array, names: Vocabulary, used: NDArray[np.int64]
) -> tuple[sp.csr_array, Vocabulary]:
    if len(used) == len(names):
        return coef, names
    return sp.csr_array(sp.csc_array(coef)[:, used]), names.subset(used)


def _pack_encoder(encoder: SequenceEncoder) -> dict[str, Any]:
    return {
        "templates": None if encoder.templates is None else str(encoder.templates),
        "min_freq": int(encoder.min_freq),
        "sequence_id": encoder.sequence_id,
    }


def _unpack_encoder(packed: dict[str, Any], arrays: Arrays) -> SequenceEncoder:
    try:
        templates = packed["templates"]
        return SequenceEncoder(
            None if templates is None else Templates.parse(templates, "the model's templates"),
            min_freq=int(packed["min_freq"]),
            sequence_id=packed["sequence_id"],
            vocabulary=pieces.unpack_names("features", arrays),
            edge_vocabulary=pieces.unpack_names("edge_features", arrays)
            if "edge_features.sizes" in arrays
            else Vocabulary.from_names([]),
        )
    except (KeyError, TypeError, AttributeError, TemplateError) as error:
        raise ModelFileError(f"the encoder cannot be read ({error}).") from None
