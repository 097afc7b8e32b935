"""The attributes of a sequence's tokens, spelled out once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

from proxqn.compat.attributes import attributes_of


@final
class ItemSequence:
    """Tokens whose attributes are spelled out, to be passed on more than once.

    Parameters
    ----------
    pyseq : sequence of tokens
        Dicts of strings to numbers, bools, strings, lists, sets or dicts; or lists of strings. See
        `proxqn.compat.attributes`.

    Examples
    --------
    >>> seq = ItemSequence([{"foo": 1, "bar": 0}, {"foo": 1.5, "baz": {"x": "y"}}])
    >>> seq
    <ItemSequence of size 2>
    >>> seq.items()
    [{'foo': 1.0, 'bar': 0.0}, {'foo': 1.5, 'baz:x:y': 1.0}]
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        self._tokens: list[tuple[list[str], list[float]]] = [
            (names, list(map(float, values))) for names, values in attributes_of(pyseq)
        ]

    def items(self) -> list[dict[str, float]]:
        """Return the attributes of each token, ``{name: value}``."""
        return [dict(zip(names, values, strict=True)) for names, values in self._tokens]

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Any:
        """Tokens as dicts; an attribute that stands twice counts twice, as in CRFsuite's sums."""
        for names, values in self._tokens:
            token: dict[str, float] = {}
            for name, value in zip(names, values, strict=True):
                token[name] = token.get(name, 0.0) + value
            yield token

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"
