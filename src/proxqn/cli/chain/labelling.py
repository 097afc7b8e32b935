"""Sequences of a file labelled by a model, batch after batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

from proxqn.cli.chain.files import Reading, in_file
from proxqn.cli.streaming import batched
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.container import ModelFileError
from proxqn.io.readers import DataFileError

_BATCH = 2000  # sequences


@final
@dataclass(frozen=True)
class Batch:
    """Some sequences of a file as numbers."""

    records: list[SequenceRecord]
    encoded: EncodedSequences


@final
@dataclass(frozen=True)
class LabelledBatch:
    """Some sequences with predicted labels."""

    records: list[SequenceRecord]
    labels: list[list[str]]
    n_unseen: int


def batches(
    encoder: SequenceEncoder | None,
    records: Iterable[SequenceRecord],
    source: str,
    reading: Reading,
) -> Iterator[Batch]:
    """Encode a stream of sequences with the features of the model."""
    if encoder is None:
        raise ModelFileError(
            "this model was saved without an encoder, so it cannot read files. Save it with "
            "proxqn.save(model, path, encoder=encoder)."
        )
    if reading.needs_templates != (encoder.templates is not None):
        wanted = "columns or conllu" if encoder.templates is not None else "crfsuite or jsonl"
        raise DataFileError(source, 0, f"the model was trained on {wanted}; see --format")
    for some in batched(records, source, _BATCH):
        yield Batch(some, in_file(some, source, reading, encoder.transform))


def labelled(model: Any, batch: Batch) -> LabelledBatch:
    """Label some sequences (Viterbi)."""
    found = model.predict(batch.encoded)
    labels = [[str(label) for label in part.tolist()] for part in found]
    return LabelledBatch(batch.records, labels, batch.encoded.n_unseen)
