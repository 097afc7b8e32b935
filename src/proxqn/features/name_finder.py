"""Sequences to columns of a vocabulary, without making a Python string of every feature.

A name only has to be found, or numbered where the vocabulary grows: ``cpp/names/`` finds those of
templates by their pieces, literals and texts of the tokens, and those of items where they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from proxqn import _kernels
from proxqn.features.items import Item, rows_of_items
from proxqn.features.named_entries import FoundEntries
from proxqn.features.templates import Command, Template, Templates

__all__ = ["NameFinder"]


@final
class NameFinder:
    """Templates or items, and the vocabularies in which their features are looked up.

    Parameters
    ----------
    templates : Templates or None
        None for items: dicts, lists of strings, strings.
    names, edge_names : _kernels.Names or _kernels.GrowingNames
        The features of tokens and of edges: known ones, or those of vocabularies that take up new
        ones.

    Attributes
    ----------
    has_edges : bool
        Whether templates make features of edges.

    Examples
    --------
    >>> from proxqn.features.vocabulary import Vocabulary
    >>> vocabulary = Vocabulary.from_names(["U0:_B-1/DT", "U0:the/NN"])
    >>> templates = Templates.parse("U0:%x[-1,0]/%x[0,1]")
    >>> finder = NameFinder(templates, vocabulary.index.kernel, _kernels.GrowingNames())
    >>> tokens, _ = finder.find([[["the", "DT"], ["dog", "NN"], ["barks", "VBZ"]]], None)
    >>> tokens.columns.tolist(), tokens.start.tolist(), tokens.n_unseen
    ([0, 1], [0, 1, 2, 2], 1)
    """

    def __init__(
        self,
        templates: Templates | None,
        names: _kernels.NameColumns,
        edge_names: _kernels.NameColumns,
    ) -> None:
        self._names, self._edge_names = names, edge_names
        self._templates = templates
        self.has_edges = templates is not None and bool(templates.edge)
        self._good_columns: set[tuple[int, int | None]] = set()
        self._sources: dict[tuple[Any, ...], tuple[int, Command | None]] = {}
        if templates is not None:
            self._unigram = self._prepared(templates.unigram)
            self._edge = self._prepared(templates.edge)

    def find(
        self, sequences: list[Any], label_column: int | None
    ) -> tuple[FoundEntries, FoundEntries | None] | None:
        """Entries of the tokens and of the edges, in rows with ascending columns.

        None for sequences that are not of the usual forms, or have something wrong with them: to be
        read, or refused, in the slow way.
        """
        if self._templates is None:
            listed = all(issubclass(kind, list | tuple) for kind in set(map(type, sequences)))
            return (self.find_items(sequences), None) if listed and label_column is None else None
        width = _kernels.row_width(sequences)
        if width is None:
            return None
        if (width, label_column) not in self._good_columns:
            self._templates.check_columns(width, label_column)
            self._good_columns.add((width, label_column))
        sources = []
        for column, command in self._sources.values():
            results = None
            if command is not None:
                texts = {row[column] for sequence in sequences for row in sequence}
                if any(type(text) is not str for text in texts):
                    return None
                results = {text: command.apply(text) for text in texts}
            sources.append((column, results))
        tokens = self._unigram.find(self._names, sequences, sources, skip_first_tokens=False)
        if tokens is None:
            return None
        if not self.has_edges:
            return FoundEntries(*tokens), None
        edges = self._edge.find(self._edge_names, sequences, sources, skip_first_tokens=True)
        return FoundEntries(*tokens), FoundEntries(*edges)

    def find_items(
        self, sequences: Sequence[Sequence[Item]], *, first_sequence: int = 0
    ) -> FoundEntries:
        """Entries of tokens that are dicts, lists of strings or strings; refuse what is wrong.

        ``first_sequence`` is the number of the first one, for messages.
        """
        return rows_of_items(self._names, sequences, first_sequence=first_sequence)

    def _prepared(self, templates: tuple[Template, ...]) -> Any:
        return _kernels.Templates(
            [
                (list(template.literals), [self._command(c) for c in template.commands])
                for template in templates
            ]
        )

    def _command(self, command: Command) -> tuple[int, int, bool, list[str]]:
        """Source, row and the markers of the places beyond the ends that it can look at."""
        changes = command.fold or command.pattern is not None
        key = (command.column, command.kind, command.fold, command.pattern) if changes else ()
        source = self._sources.setdefault(
            (command.column, *key), (command.column, command if changes else None)
        )
        number = list(self._sources.values()).index(source)
        sign = -1 if command.row < 0 else 1
        markers = [
            command.beyond(-d if sign < 0 else d - 1, 0) for d in range(1, abs(command.row) + 1)
        ]
        return number, command.row, command.absolute, markers
