"""Errors against given labels, as Wapiti tells them."""

from __future__ import annotations

import math
from typing import final

import click
import numpy as np


@final
class ErrorRates:
    """Counts, sequence by sequence; labels that the model does not know count for nothing."""

    def __init__(self, labels: list[str]) -> None:
        self._labels, self._number = labels, {label: i for i, label in enumerate(labels)}
        self._given, self._found, self._right = np.zeros((3, len(labels)), np.int64)
        self._tokens = self._sequences = self._wrong = self._wrong_sequences = 0

    def add(self, given: list[str], found: list[int]) -> None:
        """Count a sequence."""
        known = [
            (self._number[y], z) for y, z in zip(given, found, strict=True) if y in self._number
        ]
        wrong = 0
        for y, z in known:
            self._given[y] += 1
            self._found[z] += 1
            self._right[y] += y == z
            wrong += y != z
        self._tokens += len(found)
        self._sequences += 1
        self._wrong += wrong
        self._wrong_sequences += wrong > 0

    def tell(self) -> None:
        """Write them to standard error."""
        rates = (
            ("Nb sequences  ", f"{self._sequences}"),
            ("Token error   ", f"{100 * _share(self._wrong, self._tokens):5.2f}%"),
            ("Sequence error", f"{100 * _share(self._wrong_sequences, self._sequences):5.2f}%"),
        )
        for what, value in rates:
            click.echo(f"    {what}: {value}", err=True)
        click.echo("* Per label statistics", err=True)
        counts = zip(self._labels, self._given, self._found, self._right, strict=True)
        for label, given, found, right in counts:
            recall, precision = _share(right, given), _share(right, found)
            f1 = _share(2 * precision * recall, precision + recall)
            numbers = f"Pr={precision:.2f}  Rc={recall:.2f}  F1={f1:.2f}"
            click.echo(f"    {label:<6}  {numbers}", err=True)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan
