"""Entities of many sequences at once, as arrays: the lenient reading of ``entities.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.metrics.entities import BEFORE, Mark, ends, mark_of, refuse_others, starts

_Ints = NDArray[np.int64]


@final
@dataclass(frozen=True)
class FlatEntities:
    """Entities, told apart by where they stop: positions count one after each sequence, too."""

    stops: NDArray[np.bool_]  # [n_positions]
    first: _Ints  # [n_positions] of the entity that stops there
    type_: _Ints  # [n_positions] its type's number

    @property
    def number(self) -> int:
        """How many there are."""
        return int(self.stops.sum())

    def shared_with(self, other: FlatEntities) -> int:
        """How many are in both: the same type, beginning and end."""
        same = self.stops & other.stops & (self.first == other.first)
        return int((same & (self.type_ == other.type_)).sum())


@final
class EntityReader:
    """Reads sequences of labels, of which there are few kinds: a table says what each pair does."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}  # of labels, from 1; 0 is what stands before a sequence
        self._marks: list[Mark] = [BEFORE]
        self._types: dict[str, int] = {}

    def read(self, sequences: Sequence[Sequence[str]], name: str) -> FlatEntities:
        """Return the entities of some sequences; refuse what is no label."""
        self._know(sequences, name)
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        flat = chain.from_iterable(chain(sequence, "O") for sequence in sequences)
        n = int(lengths.sum()) + len(lengths)
        label = np.fromiter(map(self._number.__getitem__, flat), np.int64, n)
        begins = np.cumsum(lengths + 1) - lengths - 1
        before = np.roll(label, 1)
        before[begins] = 0
        ends_here, starts_here = self._judged(before, label)
        starts_here[begins] = True  # where none starts, the first token stands for it
        last = np.maximum.accumulate(np.where(starts_here, np.arange(n), 0))
        types = [self._types.setdefault(type_, len(self._types)) for _, type_ in self._marks]
        return FlatEntities(ends_here, np.roll(last, 1), np.array(types, np.int64)[before])

    def _judged(self, before: _Ints, label: _Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where an entity ends and where one starts."""
        pairs, place = np.unique(before * len(self._marks) + label, return_inverse=True)
        marks = self._marks
        found = [divmod(pair, len(marks)) for pair in pairs.tolist()]
        end = np.array([ends(marks[a], marks[b]) for a, b in found], dtype=bool)
        start = np.array([starts(marks[a], marks[b]) for a, b in found], dtype=bool)
        return end[place], start[place]

    def _know(self, sequences: Sequence[Sequence[str]], name: str) -> None:
        """Give new labels a number."""
        for s, sequence in enumerate(sequences):
            if not self._number.keys() >= set(sequence):
                try:
                    refuse_others(sequence)
                except ValueError as error:
                    raise ValueError(f"{name}, sequence {s}, {error}") from None
                for label in sequence:
                    self._add(label)
        self._add("O")

    def _add(self, label: str) -> None:
        if label not in self._number:
            self._number[label] = len(self._marks)
            self._marks.append(mark_of(label))
