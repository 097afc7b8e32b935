"""Chains in Wapiti's model files."""

from __future__ import annotations

import os
from typing import Any

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.template_dialect import Dialect
from proxqn.io.pattern_chain import chain_of, pattern_model_of
from proxqn.io.wapiti.reader import read_model
from proxqn.io.wapiti.writer import model_bytes
from proxqn.replacing import write_atomically


def read_chain(path: str | os.PathLike[str]) -> ChainCRF:
    """Read a model that Wapiti has written."""
    return chain_of(read_model(path), path)


def write_chain(crf: Any, path: str | os.PathLike[str], *, compact: bool = True) -> None:
    """Write a fitted chain as Wapiti would; the file is the old one or the whole new one."""
    model = pattern_model_of(crf, Dialect.WAPITI, compact=compact)
    write_atomically(b"".join(model_bytes(model)), path)
