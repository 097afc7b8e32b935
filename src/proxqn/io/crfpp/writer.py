"""Writes CRF++'s model files; `reader` describes their form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from proxqn.features.byte_text import bytes_of
from proxqn.io.crfpp.double_array import build
from proxqn.io.crfpp.reader import HEADER, VERSION, blocks_of
from proxqn.io.pattern_model import PatternModel
from proxqn.problem import Floats

__all__ = ["model_bytes", "model_lines"]


def model_bytes(model: PatternModel) -> bytes:
    """Return a model file, for ``crf_test -m``."""
    weights = _weights(model)
    names = sorted((bytes_of(name), i) for i, name in enumerate(model.names))
    starts = blocks_of(model.names, len(model.labels)).starts
    units = build([name for name, _ in names], starts[[i for _, i in names]]).tobytes()
    labels, templates = (
        b"".join(text + b"\0" for text in texts)
        for texts in (map(bytes_of, model.labels), _templates(model))
    )
    templates += bytes(-(len(labels) + len(templates)) % 4)
    head = HEADER.pack(VERSION, 0, 1.0, len(weights), _columns(model), len(units))
    strings = (len(part).to_bytes(4, "little") + part for part in (labels, templates))
    return b"".join([head, *strings, units, weights.astype("<f4").tobytes()])


def model_lines(model: PatternModel) -> Iterator[bytes]:
    """Yield the lines of a text model, for ``crf_learn -C``."""
    weights = _weights(model)
    yield b"version: %d\ncost-factor: 1\nmaxid: %d\n" % (VERSION, len(weights))
    yield b"xsize: %d\n\n" % _columns(model)
    yield from (bytes_of(label) + b"\n" for label in model.labels)
    yield b"\n"
    yield from (line + b"\n" for line in _templates(model))
    yield b"\n"
    starts = blocks_of(model.names, len(model.labels)).starts
    names = map(bytes_of, model.names)
    for name, start in sorted(zip(names, starts.tolist(), strict=True)):
        yield b"%d %s\n" % (start, name)
    yield b"\n"
    yield from (b"%.16f\n" % weight for weight in weights.tolist())


def _weights(model: PatternModel) -> Floats:
    """Return all weights, zeros included, in the order of the names."""
    blocks = blocks_of(model.names, len(model.labels))
    places, values = blocks.row(model.weights, model.edge_weights)
    weights = np.zeros(blocks.end)
    weights[places] = values
    return weights


def _templates(model: PatternModel) -> list[bytes]:
    """Return the templates as CRF++ orders them, those of tokens first."""
    lines = [bytes_of(template.text) for template in model.templates or ()]
    return sorted(lines, key=lambda line: line[:1] != b"U")


def _columns(model: PatternModel) -> int:
    return max(1, 0 if model.templates is None else model.templates.n_columns)
