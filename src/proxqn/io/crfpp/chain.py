"""Chains in CRF++'s model files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.byte_text import text_of
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.template_dialect import Dialect
from proxqn.io.crfpp.reader import read_model
from proxqn.io.crfpp.writer import model_bytes, model_lines
from proxqn.io.pattern_chain import chain_of, pattern_model_of
from proxqn.replacing import write_atomically


def read_chain(path: str | os.PathLike[str]) -> ChainCRF:
    """Read a model that CRF++ has written, of either form."""
    return chain_of(read_model(path), path)


def lines(crf: Any, encoder: SequenceEncoder | None = None) -> Iterator[str]:
    """Yield the lines, with their ends, of a chain as text; an encoder may take its own's place."""
    model = pattern_model_of(crf, Dialect.CRFPP, compact=True, encoder=encoder)
    return (text_of(line) for line in model_lines(model))


def write_chain(
    crf: Any, path: str | os.PathLike[str], *, text: bool = False, compact: bool = True
) -> None:
    """Write a fitted chain as CRF++ would; the file is the old one or the whole new one."""
    model = pattern_model_of(crf, Dialect.CRFPP, compact=compact)
    write_atomically(b"".join(model_lines(model)) if text else model_bytes(model), path)
