"""Chains in CRF++'s model files."""

from __future__ import annotations

import os
from typing import Any

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.template_dialect import Dialect
from proxqn.io.crfpp.reader import read_model
from proxqn.io.crfpp.writer import model_bytes, model_lines
from proxqn.io.pattern_chain import chain_of, pattern_model_of
from proxqn.io.replacing import write_atomically


def read_chain(path: str | os.PathLike[str]) -> ChainCRF:
    """Read a model that CRF++ has written, of either form."""
    return chain_of(read_model(path), path)


def write_chain(
    crf: Any, path: str | os.PathLike[str], *, text: bool = False, compact: bool = True
) -> None:
    """Write a fitted chain as CRF++ would; the file is the old one or the whole new one."""
    model = pattern_model_of(crf, Dialect.CRFPP, compact=compact)
    write_atomically(b"".join(model_lines(model)) if text else model_bytes(model), path)
