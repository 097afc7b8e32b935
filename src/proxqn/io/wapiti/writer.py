"""Writes Wapiti's model file, byte for byte as Wapiti does; `reader` describes its form."""

from __future__ import annotations

from collections.abc import Iterator

from proxqn.features.byte_text import bytes_of
from proxqn.io.pattern_model import PatternModel

__all__ = ["model_bytes"]


def model_bytes(model: PatternModel) -> Iterator[bytes]:
    """Yield the pieces of a model file."""
    templates = model.templates
    patterns = [] if templates is None else [template.text for template in templates]
    last_column = 0 if templates is None else max(0, templates.n_columns - 1)
    places, values = model.blocks.row(model.weights, model.edge_weights)
    yield b"#mdl#2#%d\n#rdr#%d/%d/0\n" % (len(values), len(patterns), last_column)
    yield from map(_netstring, patterns)
    for strings in (model.labels, model.names):
        yield b"#qrk#%d\n" % len(strings)
        yield from map(_netstring, strings)
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        yield f"{place}={_exact(value)}\n".encode()


def _netstring(text: str) -> bytes:
    raw = bytes_of(text)
    return b"%d:%s,\n" % (len(raw), raw)


def _exact(value: float) -> str:
    """Return a number in hexadecimal, as short as C writes it."""
    digits, _, exponent = value.hex().partition("p")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}"
