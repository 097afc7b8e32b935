"""Sequences of a file labelled by a model, batch after batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn.cli.encoding import in_file
from proxqn.cli.sequence_files import Reading
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import EncodedSequences
from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.chain_file import SavedChain
from proxqn.io.container import ModelFileError
from proxqn.io.readers import DataFileError

_BATCH = 2000  # sequences


@final
@dataclass(frozen=True)
class Batch:
    """Some sequences of a file as numbers."""

    records: list[SequenceRecord]
    encoded: EncodedSequences

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut one value (or row) a token by sequence."""
        return np.split(values, np.cumsum(self.encoded.lengths)[:-1])


@final
@dataclass(frozen=True)
class LabelledBatch:
    """Some sequences with predicted labels."""

    records: list[SequenceRecord]
    labels: list[list[str]]
    n_unseen: int


def batches(
    saved: SavedChain, records: Iterable[SequenceRecord], source: str, reading: Reading
) -> Iterator[Batch]:
    """Encode a stream of sequences with the features of the model."""
    encoder = saved.encoder
    if encoder is None:
        raise ModelFileError(
            "this model was saved without an encoder, so it cannot read files. Save it with "
            "proxqn.save(model, path, encoder=encoder)."
        )
    if reading.needs_templates != (encoder.templates is not None):
        wanted = "columns or conllu" if encoder.templates is not None else "crfsuite or jsonl"
        raise DataFileError(source, 0, f"the model was trained on {wanted}; see --format")
    stream = iter(records)
    while some := list(islice(stream, _BATCH)):
        yield Batch(some, in_file(some, source, reading, encoder.transform))


def predicted_labels(
    saved: SavedChain, records: Iterable[SequenceRecord], source: str, reading: Reading
) -> Iterator[LabelledBatch]:
    """Label a stream of sequences (Viterbi)."""
    for batch in batches(saved, records, source, reading):
        yield labelled(saved.model, batch)


def labelled(model: ChainCRF, batch: Batch) -> LabelledBatch:
    """Label some sequences."""
    encoded = batch.encoded
    flat: Any = model.predict(encoded.X, encoded.lengths, edges=encoded.edges)
    labels = [[str(label) for label in part.tolist()] for part in batch.split(flat)]
    return LabelledBatch(batch.records, labels, encoded.n_unseen)
