"""Readers of sequence files: each streams `SequenceRecord`s and names file and line in errors."""

from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.readers.columns import read_columns
from proxqn.io.readers.conllu import CONLLU_COLUMNS, read_conllu
from proxqn.io.readers.crfsuite import read_crfsuite, write_crfsuite
from proxqn.io.readers.jsonl import read_jsonl
from proxqn.io.readers.record import DataFileError, Source

__all__ = [
    "CONLLU_COLUMNS",
    "DataFileError",
    "SequenceRecord",
    "Source",
    "read_columns",
    "read_conllu",
    "read_crfsuite",
    "read_jsonl",
    "write_crfsuite",
]
