"""A model file as the text of ``crfsuite dump``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import scipy.sparse as sp

from proxqn.io.crfsuite.format import HEADER, STATE, TRANSITION, CRFsuiteModel

_FIELDS = (
    "magic", "size", "type", "version", "num_features", "num_labels", "num_attrs", "off_features",
    "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs",
)  # fmt: skip


def header_fields(data: bytes) -> dict[str, str]:
    """Return the header of a file as the dump shows it."""
    values = zip(_FIELDS, HEADER.unpack_from(data), strict=True)
    return {name: _shown(name, value) for name, value in values}


def _shown(name: str, value: bytes | int) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return f"0x{value:X}" if name.startswith("off_") else str(value)


def header_without_file(model: CRFsuiteModel) -> dict[str, str]:
    """Return the header of a model that is in no file: without sizes and offsets."""
    counts = {"num_labels": len(model.labels), "num_attrs": len(model.attributes)}
    named = {"magic": "lCRF", "type": "FOMC", "version": "100", "num_features": "0"}
    return named | {name: str(count) for name, count in counts.items()}


def dump_lines(model: CRFsuiteModel, header: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the dump of a model under a header, with their ends."""
    names = model.attributes.names()
    yield from _block("FILEHEADER", (f"{n}: {value}" for n, value in header.items()))
    yield from _block("LABELS", (f"{i:5d}: {name}" for i, name in enumerate(model.labels)))
    yield from _block("ATTRIBUTES", (f"{i:5d}: {name}" for i, name in enumerate(names)))
    steps = _weights(TRANSITION, model.labels, model.labels, model.transitions)
    yield from _block("TRANSITIONS", steps)
    yield from _block("STATE_FEATURES", _weights(STATE, names, model.labels, model.state))


def _block(name: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{name} = {{\n"
    for line in lines:
        yield f"  {line}\n"
    yield "}\n\n"


def _weights(
    kind: int, sources: Sequence[str], labels: Sequence[str], matrix: sp.csr_array
) -> Iterator[str]:
    entries = matrix.tocoo()
    rows, columns = entries.coords
    found = zip(rows.tolist(), columns.tolist(), entries.data.tolist(), strict=True)
    for row, column, weight in found:
        yield f"({kind}) {sources[row]} --> {labels[column]}: {weight:f}"
