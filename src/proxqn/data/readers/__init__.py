"""Readers of sequence files: each streams `SequenceRecord`s and names file and line in errors."""

from proxqn.data.readers.columns import read_columns
from proxqn.data.readers.conllu import CONLLU_COLUMNS, read_conllu
from proxqn.data.readers.crfsuite import read_crfsuite, write_crfsuite
from proxqn.data.readers.jsonl import read_jsonl
from proxqn.data.readers.record import DataFileError, SequenceRecord, Source

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
