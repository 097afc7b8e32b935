"""Chains in CRFsuite's binary files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.estimators.model import feature_namer
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.vocabulary import Vocabulary
from proxqn.io.crfsuite.dump import dump_lines, header_without_file
from proxqn.io.crfsuite.format import CRFsuiteModel
from proxqn.io.crfsuite.reader import read
from proxqn.io.crfsuite.writer import to_bytes
from proxqn.io.imported_chain import imported_chain
from proxqn.replacing import write_atomically


def read_chain(path: str | os.PathLike[str]) -> ChainCRF:
    """Read a model that CRFsuite has written."""
    return to_chain(read(path), path)


def write_chain(crf: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted chain as CRFsuite would; the file is the old one or the whole new one."""
    write_atomically(to_bytes(to_model(crf)), path)


def lines(crf: Any, encoder: SequenceEncoder | None = None) -> Iterator[str]:
    """Yield the lines of ``crfsuite dump``, with their ends: labels, attributes, nonzero weights.

    The offsets of CRFsuite's binary file, which do not exist here, are left out of the header.

    Parameters
    ----------
    crf : ChainCRF
        A fitted model; weights for which CRFsuite has no place are refused.
    encoder : SequenceEncoder, optional
        Names the features in place of the model's own; without any they are called x0, x1, …

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 4), ["A", "B"] * 4
    >>> crf = ChainCRF(lam=0.1).fit(X, y, lengths=[1] * 8)
    >>> [line[:15] for line in lines(crf) if line.startswith("  (0) x0 --> A")]
    ['  (0) x0 --> A:']
    """
    model = to_model(crf if encoder is None else crf.with_encoder(encoder))
    return dump_lines(model, header_without_file(model))


def to_chain(model: CRFsuiteModel, path: str | os.PathLike[str] = "the model") -> ChainCRF:
    """Return the chain of a file's weights."""
    encoder = SequenceEncoder(
        vocabulary=model.attributes, edge_vocabulary=Vocabulary.from_names([])
    )
    coef = sp.csr_array(model.state.T)
    return imported_chain(path, model.labels, encoder, coef, model.transitions.toarray())


def to_model(crf: Any, labels: Sequence[Any] | None = None) -> CRFsuiteModel:
    """Return a fitted chain as CRFsuite has it; refuse weights for which it has no place.

    Parameters
    ----------
    crf : ChainCRF
        A fitted model.
    labels : sequence, optional
        Its labels in the order in which CRFsuite is to number them; as in ``classes_`` by default.
    """
    _check(crf)
    classes = crf.classes_.tolist()
    given = classes if labels is None else list(labels)
    place = {label: number for number, label in enumerate(classes)}
    order = np.array([place[label] for label in given])
    coef = sp.csr_array(crf.coef_)
    coef.eliminate_zeros()
    used, place_of_entry = np.unique(coef.indices, return_inverse=True)
    parts: Any = (coef.data, place_of_entry, coef.indptr)  # there may be billions of columns
    small = sp.csr_array(parts, shape=(len(classes), len(used)))
    transitions = sp.csr_array(crf.transitions_[np.ix_(order, order)])
    return CRFsuiteModel(
        tuple(str(label) for label in given),
        _names(crf, used),
        _sorted(sp.csr_array(small[order].T)),
        _sorted(transitions),
    )


def _check(crf: Any) -> None:
    if crf.intercept_.any():
        raise ValueError(
            "CRFsuite has no intercept; train with fit_intercept=False, and with a feature that is "
            "always 1 instead."
        )
    if crf.start_weights_.any() or crf.end_weights_.any():
        raise ValueError(
            "CRFsuite has no weights for the ends of a sequence; train with end_weights=False to "
            "write the model."
        )
    if crf.edge_coef_.nnz:
        raise ValueError(
            f"CRFsuite has no transitions that look at the observation; the model has "
            f"{crf.edge_coef_.nnz:,} such weights. Write CRF++'s form, or train without edge "
            "features."
        )


def _names(crf: Any, columns: NDArray[Any]) -> Vocabulary:
    if crf.encoder_ is not None:
        found: Vocabulary = crf.encoder_.vocabulary
        return found.subset(columns)
    namer = feature_namer(getattr(crf, "feature_names_in_", None), "x")
    return Vocabulary.from_names([namer(j) for j in columns.tolist()])


def _sorted(matrix: sp.csr_array) -> sp.csr_array:
    matrix.sort_indices()
    return matrix
