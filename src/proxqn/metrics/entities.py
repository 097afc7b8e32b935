"""Entities (chunks) in label sequences: where they begin, where they end, what they are.

Two readings.  The lenient one, the default of conlleval and seqeval, takes whatever labels come
and starts an entity wherever one plausibly starts, such as at an ``I-`` after ``O``.  The strict
one follows one labelling scheme and counts only entities that are well-formed under it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["Entity", "Scheme", "extract_entities", "mark_entities"]


class Entity(NamedTuple):
    """Tokens ``start`` to ``stop − 1`` are an entity of this type."""

    type: str
    start: int
    stop: int


class Scheme(enum.Enum):
    """How labels mark entities; a member's value is the prefixes it uses beside O."""

    IOB1 = "IB"
    """``I-`` inside; ``B-`` only where an entity directly follows another of its type."""
    IOB2 = "BI"
    """``B-`` at every beginning, ``I-`` after it."""
    IOBES = "BIES"
    """``B-``, ``I-``, ``E-`` at the end, ``S-`` for an entity of one token; also called BIOES."""

    @classmethod
    def of(cls, scheme: Scheme | str) -> Scheme:
        """Give the scheme with a name: IOB1, IOB2 (also BIO), IOBES (also BIOES).

        Examples
        --------
        >>> Scheme.of("bioes").name
        'IOBES'
        """
        if isinstance(scheme, Scheme):
            return scheme
        name = {"BIOES": "IOBES", "BIO": "IOB2"}.get(scheme.upper(), scheme.upper())
        if name not in cls.__members__:
            msg = f"expected the scheme IOB1, IOB2 (BIO) or IOBES (BIOES), got {scheme!r}"
            raise ValueError(msg)
        return cls[name]

    def starts(self, prev: str, prefix: str, *, same: bool) -> bool:
        """Whether an entity starts here: prefixes before and here, types the same or not."""
        match self:
            case Scheme.IOB1:
                if prefix == "I":
                    return prev in "OB" or not same
                return prefix == "B" and prev in "IB" and same
            case Scheme.IOB2:
                return prefix == "B"
            case Scheme.IOBES:
                return prefix in "BS"

    def continues(self, prev: str, prefix: str, *, same: bool) -> bool:
        """Whether the entity of the token before goes on here."""
        inside = "IE" if self is Scheme.IOBES else "I"
        return same and prev in "BI" and prefix in inside

    def ends(self, prev: str, prefix: str, *, same: bool) -> bool:
        """Whether an entity that does not go on here was complete."""
        match self:
            case Scheme.IOB1:  # a B- after another type's B- is no IOB1: neither is counted
                return not (prev == "B" and prefix == "B" and not same)
            case Scheme.IOB2:
                return True
            case Scheme.IOBES:
                return prev in "ES"


def mark_entities(labels: Iterable[object]) -> bool:
    """Tell whether a set of labels is one of entities: O, and B- or the like with a type.

    Examples
    --------
    >>> mark_entities(["B-PER", "I-PER", "O"]), mark_entities(["NOUN", "VERB"])
    (True, False)
    """
    others = [label for label in labels if label != "O"]
    return bool(others) and all(
        isinstance(label, str) and label[:2] in ("B-", "I-", "E-", "S-") for label in others
    )


def extract_entities(labels: Sequence[str], *, scheme: Scheme | str | None = None) -> list[Entity]:
    """Give the entities of one label sequence.

    Parameters
    ----------
    labels : sequence of str
    scheme : Scheme or str, optional
        The scheme to follow strictly; the lenient reading by default.

    Examples
    --------
    >>> extract_entities(["B-PER", "I-PER", "O", "I-LOC"])
    [Entity(type='PER', start=0, stop=2), Entity(type='LOC', start=3, stop=4)]
    >>> extract_entities(["B-PER", "I-PER", "O", "I-LOC"], scheme="IOB2")
    [Entity(type='PER', start=0, stop=2)]
    """
    chosen = None if scheme is None else Scheme.of(scheme)
    if list(labels).count("O") == len(labels):  # most sentences of most data
        return []
    if set(map(type, labels)) != {str} or "" in labels:
        refuse_others(labels)
    return list(_lenient(labels) if chosen is None else _strict(labels, chosen))


def refuse_others(labels: Sequence[object]) -> None:
    """Refuse what is no text, or empty."""
    for t, label in enumerate(labels):
        if not isinstance(label, str) or not label:
            msg = f"position {t}: expected a label such as 'B-NP' or 'O', got {label!r}"
            raise ValueError(msg)


Mark = tuple[str, str]  # a label's prefix and type
BEFORE: Mark = "O", ""  # the first token


def mark_of(label: str) -> Mark:
    """Take a label apart."""
    return label[0], label[1:].split("-", 1)[-1] or "_"


def ends(before: Mark, here: Mark) -> bool:
    """Whether an entity ends before this token, as conlleval reads labels."""
    (prev, prev_type), (prefix, type_) = before, here
    return (
        prev in "ES"
        or (prev in "BI" and prefix in "BSO")
        or (prev not in "O." and type_ != prev_type)
    )


def starts(before: Mark, here: Mark) -> bool:
    """Whether an entity starts at this token, as conlleval reads labels."""
    (prev, prev_type), (prefix, type_) = before, here
    return (
        prefix in "BS"
        or (prev in "ESO" and prefix in "EI")
        or (prefix not in "O." and type_ != prev_type)
    )


def _lenient(labels: Sequence[str]) -> Iterator[Entity]:
    """Read as conlleval does; ``entity_counts.py`` has the same for many sequences at once."""
    before, start = BEFORE, 0
    for t, label in enumerate([*labels, "O"]):
        here = mark_of(label)
        if ends(before, here):
            yield Entity(before[1], start, t)
        if starts(before, here):
            start = t
        before = here


def _strict(labels: Sequence[str], scheme: Scheme) -> Iterator[Entity]:
    tags = [_strict_tag(label, t, scheme) for t, label in enumerate(labels)]
    tags.append(("O", "_"))
    start: int | None = None  # of the entity we are in
    prev, prev_type = "O", "_"
    for t, (prefix, type_) in enumerate(tags):
        same = type_ == prev_type
        if start is not None and not scheme.continues(prev, prefix, same=same):
            if scheme.ends(prev, prefix, same=same):
                yield Entity(tags[start][1], start, t)
            start = None
        if start is None and scheme.starts(prev, prefix, same=same):
            start = t
        prev, prev_type = prefix, type_


def _strict_tag(label: str, t: int, scheme: Scheme) -> tuple[str, str]:
    prefix = label[0]
    if prefix not in "O" + scheme.value:
        prefixes = " or ".join(f"{p}-" for p in scheme.value)
        msg = f"position {t}: expected O, or {prefixes} and a type ({scheme.name}), got {label!r}"
        raise ValueError(msg)
    return prefix, label[1:].strip("-") or "_"
