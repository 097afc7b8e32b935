"""What a model file holds, as :meth:`Tagger.info` returns it."""

from __future__ import annotations

from typing import final

from proxqn.io.crfsuite import CRFsuiteModel
from proxqn.io.crfsuite.dump import header_fields


@final
class ParsedDump:
    """The contents of a model.

    Attributes
    ----------
    header : dict
        The file's header, name to text.
    labels, attributes : dict
        Name to number, as text.
    transitions : dict
        ``{(label, next label): weight}``.
    state_features : dict
        ``{(attribute, label): weight}``.
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}

    @classmethod
    def of(cls, model: CRFsuiteModel, data: bytes) -> ParsedDump:
        """Take it from the model and the bytes of its file."""
        found = cls()
        found.header = header_fields(data)
        found.labels = {name: str(i) for i, name in enumerate(model.labels)}
        names = model.attributes.names()
        found.attributes = {name: str(i) for i, name in enumerate(names)}
        for weights, sources, matrix in (
            (found.transitions, model.labels, model.transitions),
            (found.state_features, names, model.state),
        ):
            entries = matrix.tocoo()
            rows, columns = entries.coords
            for row, column, weight in zip(
                rows.tolist(), columns.tolist(), entries.data.tolist(), strict=True
            ):
                weights[sources[row], model.labels[column]] = weight
        return found
