"""Apply feature templates to many tokens at once, column by column.

`Template.expand` says what a template means; this file computes the same for a whole stretch of
tokens.  Each column's texts are numbered once; a template's features are then combinations of
whole numbers, and only the distinct ones are spelt out as names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxqn.features.named_entries import NamedEntries
from proxqn.features.templates import Command, Template

__all__ = ["ColumnStretch"]


class _Coded(NamedTuple):
    """Texts of n tokens: token i has ``texts[codes[i]]``."""

    codes: NDArray[np.int64]
    texts: list[str]


class ColumnStretch:
    """Some whole sequences, token after token, as numbered columns.

    Parameters
    ----------
    rows : sequence of rows
        ``rows[i][c]`` is column c of token i, over all sequences.
    lengths : int array of shape (n_sequences,)

    Examples
    --------
    >>> from proxqn.features.templates import Templates
    >>> stretch = ColumnStretch([["the", "DT"], ["dog", "NN"]], np.array([2]))
    >>> stretch.entries(Templates.parse("U0:%x[-1,0]/%x[0,1]").unigram).names
    ['U0:_B-1/DT', 'U0:the/NN']
    """

    def __init__(self, rows: Sequence[Sequence[str]], lengths: NDArray[np.int64]) -> None:
        self._columns = list(zip(*rows, strict=True))
        self._n_tokens = len(rows)
        starts = np.cumsum(lengths) - lengths
        self._start = np.repeat(starts, lengths)  # (n_tokens,) first token of its sequence
        self._length = np.repeat(lengths, lengths)  # (n_tokens,) length of its sequence
        self._coded_columns: dict[int, _Coded] = {}
        self._coded_commands: dict[Command, _Coded] = {}

    def entries(
        self, templates: Sequence[Template], *, skip_first_tokens: bool = False
    ) -> NamedEntries:
        """Features of all templates at all tokens, in the order of `Template.expand` in a loop.

        Parameters
        ----------
        templates : sequence of Template
        skip_first_tokens : bool, default=False
            Leave the first token of each sequence without features: it has no edge into it.
        """
        applies = np.arange(self._n_tokens)
        if skip_first_tokens:
            applies = applies[applies != self._start]
        if not len(applies):
            nothing = np.zeros(0, np.int64)
            return NamedEntries([], nothing, None, np.zeros(self._n_tokens, np.int64))
        groups = [self._distinct(template, applies) for template in templates]
        n_templates = len(templates)
        # A naive loop over tokens and templates would meet the names in this order.
        first_met = [first * n_templates + k for k, (_, first, _) in enumerate(groups)]
        order = np.argsort(np.concatenate([np.empty(0, np.int64), *first_met]), kind="stable")
        spelt = [name for _, _, names in groups for name in names]
        table: dict[str, int] = {}  # two templates, or two splits of one, may spell one name
        code_of = np.empty(len(spelt), np.int64)
        code_of[order] = [table.setdefault(spelt[i], len(table)) for i in order.tolist()]
        codes = np.empty((len(applies), n_templates), np.int64)
        begin = 0
        for k, (group, first, _) in enumerate(groups):
            codes[:, k] = code_of[begin + group]
            begin += len(first)
        row_sizes = np.zeros(self._n_tokens, np.int64)
        row_sizes[applies] = n_templates
        return NamedEntries(list(table), codes.ravel(), None, row_sizes)

    def _distinct(
        self, template: Template, applies: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """Group the tokens by their results: group of each, first token and name of each group."""
        coded = [self._coded_command(command) for command in template.commands]
        group = np.zeros(len(applies), np.int64)
        first = np.zeros(min(1, len(applies)), np.int64)
        n_groups = 1
        for codes, texts in coded:
            group, first = _regroup(group * len(texts) + codes[applies], n_groups * len(texts))
            n_groups = len(first)
        at_first = applies[first]
        parts = [[texts[c] for c in codes[at_first].tolist()] for codes, texts in coded]
        if not parts:
            return group, first, [template.join([])] * len(first)
        spell = "{}".join(_as_format(literal) for literal in template.literals).format
        return group, first, list(map(spell, *parts))

    def _coded_column(self, column: int) -> _Coded:
        if column not in self._coded_columns:
            table: dict[str, int] = {}
            codes = [table.setdefault(text, len(table)) for text in self._columns[column]]
            self._coded_columns[column] = _Coded(np.array(codes, np.int64), list(table))
        return self._coded_columns[column]

    def _coded_command(self, command: Command) -> _Coded:
        """Results of a command at every token."""
        if command in self._coded_commands:
            return self._coded_commands[command]
        codes, texts = self._coded_column(command.column)
        results = texts
        if command.fold or command.pattern is not None:
            table: dict[str, int] = {}
            moved = [table.setdefault(command.apply(text), len(table)) for text in texts]
            codes, results = np.array(moved, np.int64)[codes], list(table)
        inside = np.arange(self._n_tokens) - self._start
        if not command.absolute:
            at = inside + command.row
        else:
            at = self._length + command.row if command.row < 0 else 0 * inside + command.row - 1
        in_range = (at >= 0) & (at < self._length)
        looked_at = codes[np.where(in_range, self._start + at, 0)]
        # Beyond the ends: −1, −2, … before the first token, 1, 2, … after the last.
        beyond = np.where(at < 0, at, at - self._length + 1)
        distances, which = np.unique(beyond[~in_range], return_inverse=True)
        looked_at[~in_range] = len(results) + which
        results = results + [command.beyond(d if d < 0 else d - 1, 0) for d in distances.tolist()]
        self._coded_commands[command] = _Coded(looked_at, results)
        return self._coded_commands[command]


def _as_format(literal: str) -> str:
    return literal.replace("{", "{{").replace("}", "}}")


def _regroup(keys: NDArray[np.int64], n_keys: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the distinct keys numbers 0, 1, …: each entry's, and the first entry of each number.

    ``keys`` are from 0 to n_keys − 1.
    """
    n = len(keys)
    if n_keys > 4 * n + 1024:
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        return number, first
    # Few possible keys: a table over all of them, no sorting.
    first_entry = np.full(n_keys, -1, np.int64)
    first_entry[keys[::-1]] = np.arange(n - 1, -1, -1)  # the last written is the first entry
    present = np.flatnonzero(first_entry >= 0)
    first = first_entry[present]
    first_entry[present] = np.arange(len(present))
    return first_entry[keys], first
