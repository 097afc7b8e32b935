r"""Feature templates: CRF++'s language with Wapiti's extensions.

One template a line; ``#`` at the start of a line makes it a comment::

    U02:%x[0,0]               the word itself: at "the", the feature "U02:the"
    U05:%x[-1,0]/%x[0,1]      the word before and this token's part of speech
    U30:%t[0,0,"^\u"]         "true" or "false": does the regular expression match?
    U31:%m[0,0,".?.?.?$"]     the text it matches: a suffix of up to three characters
    U32:%X[0,0]               an upper-case command puts its result into lower case
    U33:%x[@1,0]              @ counts from the sequence: 1 is its first token, -1 its last
    B                         label pairs (transitions)
    B01:%x[0,1]               label pairs that also look at the observation: edge features
    *40:%x[0,0]               both a U and a B template

The first letter decides what a feature is joined with: U with the label, B with the label and the
one before it, ``*`` with either.  Beyond the ends of a sequence stand CRF++'s markers: ``_B-1``,
``_B-2``, … before the first token and ``_B+1``, … after the last.  See `template_regex` for the
regular expressions, `template_dialect` for how Wapiti reads the same lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Self, overload

from proxqn.features.template_dialect import Dialect
from proxqn.features.template_regex import WapitiRegex
from proxqn.file_error import FileError

__all__ = ["Command", "Template", "TemplateError", "Templates", "read_template_file"]

Rows = Sequence[Sequence[str]]
"""One sequence: rows[t][c] is column c of token t."""


class TemplateError(FileError):
    """A template that cannot be read, or that asks for a column the data do not have."""


@dataclass(frozen=True, slots=True)
class Command:
    """One ``%x``, ``%t`` or ``%m`` of a template.

    Attributes
    ----------
    kind : str
        'x' (the token's text), 't' (does the pattern match) or 'm' (the matched text).
    row : int
        Offset from the current token; if ``absolute``, 1 is the first token and −1 the last.
    column : int
        Column of the data, from 0.
    fold : bool
        Whether the result is put into lower case.
    absolute : bool
        Whether ``row`` counts from the ends of the sequence.
    pattern : WapitiRegex or None
        The regular expression of 't' and 'm'.
    dialect : Dialect
        Whose command it is.
    """

    kind: str
    row: int
    column: int
    fold: bool = False
    absolute: bool = False
    pattern: WapitiRegex | None = None
    dialect: Dialect = Dialect.CRFPP

    def position(self, t: int, length: int) -> int:
        """Token the command looks at from token t; outside 0 … length−1 beyond the ends."""
        if not self.absolute:
            return t + self.row
        return self.row - 1 if self.row > 0 else length + self.row

    def apply(self, text: str, *, is_marker: bool = False) -> str:
        """Give the result for a token's text, or for a marker of a place beyond the ends."""
        if self.pattern is not None:
            match = self.dialect.search(self.pattern, text)
            if self.kind == "t":
                return "false" if match is None else "true"
            text = match or ""
        return self.dialect.lower(text) if self.fold and not is_marker else text

    def beyond(self, position: int, length: int) -> str:
        """Give the result for a place before the first token or after the last."""
        return self.apply(self.dialect.marker(position, length), is_marker=True)


@dataclass(frozen=True, slots=True)
class Template:
    """One line of a template file, taken apart.

    Attributes
    ----------
    text : str
        The line as written.
    line : int
        Its number in the file, from 1.
    literals : tuple of str
        The text around the commands: one more than there are commands.
    commands : tuple of Command
    """

    text: str
    line: int
    literals: tuple[str, ...]
    commands: tuple[Command, ...]

    @property
    def is_unigram(self) -> bool:
        """Whether its features go with one label."""
        return self.text[0] in "Uu*"

    @property
    def is_bigram(self) -> bool:
        """Whether its features go with a pair of labels."""
        return self.text[0] in "Bb*"

    def join(self, results: Sequence[str]) -> str:
        """Feature name, from the results of the commands."""
        pairs = zip(results, self.literals[1:], strict=True)
        return self.literals[0] + "".join(result + literal for result, literal in pairs)

    def expand(self, rows: Rows, t: int) -> str:
        """Feature name at token t: the definition, in its slow and obvious form.

        Examples
        --------
        >>> rows = [["the", "DT"], ["Dog", "NN"]]
        >>> template, = Templates.parse("U00:%x[-1,1]/%X[0,0]")
        >>> template.expand(rows, 1), template.expand(rows, 0)
        ('U00:DT/dog', 'U00:_B-1/the')
        """
        return self.join([_result(command, rows, t) for command in self.commands])


def _result(command: Command, rows: Rows, t: int) -> str:
    at = command.position(t, len(rows))
    if 0 <= at < len(rows):
        return command.apply(rows[at][command.column])
    return command.beyond(at, len(rows))


@dataclass(frozen=True, slots=True)
class Templates(Sequence[Template]):
    r"""The templates of a file, in its order.

    Examples
    --------
    >>> templates = Templates.parse("U00:%x[0,0]\nB\nB01:%x[0,0]")
    >>> [t.text for t in templates.unigram], [t.text for t in templates.edge]
    (['U00:%x[0,0]'], ['B01:%x[0,0]'])
    >>> templates.has_transitions, templates.n_columns
    (True, 1)
    """

    items: tuple[Template, ...]
    source: str = field(default="template", compare=False)
    dialect: Dialect = Dialect.CRFPP

    @classmethod
    def parse(
        cls, text: str, source: str = "template", dialect: Dialect | str = Dialect.CRFPP
    ) -> Self:
        """Read templates from text; ``source`` names it in error messages."""
        dialect = Dialect(dialect)
        lines = ((n, dialect.line(line)) for n, line in enumerate(text.split("\n"), 1))
        items = tuple(_parse_line(line, n, source, dialect) for n, line in lines if line)
        if not items:
            raise TemplateError("expected at least one template, such as U00:%x[0,0]", source)
        return cls(items, source, dialect)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], dialect: Dialect | str = Dialect.CRFPP
    ) -> Self:
        """Read a template file (UTF-8), CRF++'s or, with ``dialect="wapiti"``, Wapiti's."""
        try:
            text = read_template_file(path).decode("utf-8-sig")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError as error:
            msg = f"expected UTF-8 text (byte {error.start})"
            raise TemplateError(msg, path) from None
        return cls.parse(text, os.fspath(path), dialect)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Template: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Template, ...]: ...
    def __getitem__(self, index: int | slice) -> Template | tuple[Template, ...]:
        return self.items[index]

    def __iter__(self) -> Iterator[Template]:
        return iter(self.items)

    def __str__(self) -> str:
        return "\n".join(template.text for template in self.items)

    @property
    def unigram(self) -> tuple[Template, ...]:
        """Templates whose features go with one label."""
        return tuple(template for template in self.items if template.is_unigram)

    @property
    def edge(self) -> tuple[Template, ...]:
        """Templates whose features go with a pair of labels and look at the observation."""
        return tuple(t for t in self.items if t.is_bigram and t.commands)

    @property
    def has_transitions(self) -> bool:
        """Whether a bare ``B`` (or ``*``) asks for plain label pairs."""
        return any(t.is_bigram and not t.commands for t in self.items)

    @property
    def n_columns(self) -> int:
        """How many columns the data must have at least."""
        return max((c.column + 1 for t in self.items for c in t.commands), default=0)

    def check_columns(self, n_columns: int, label_column: int | None = None) -> None:
        """Refuse data with too few columns, and templates that read the label.

        Raises
        ------
        TemplateError
            Naming the template's line.
        """
        for template in self.items:
            for command in template.commands:
                if command.column == label_column:
                    msg = (
                        f"{template.text!r} reads column "
                        f"{command.column}, which holds the label; use another column"
                    )
                    raise TemplateError(msg, self.source, template.line)
                if command.column >= n_columns:
                    msg = (
                        f"{template.text!r} reads column "
                        f"{command.column}, but the data have {n_columns} columns "
                        f"(0 to {n_columns - 1})"
                    )
                    raise TemplateError(msg, self.source, template.line)


def read_template_file(path: str | os.PathLike[str]) -> bytes:
    """Return what is in a file; refuse one that is too large for templates, or has no end."""
    with open(path, "rb") as file:
        found = file.read(_LARGEST + 1)
    if len(found) > _LARGEST:
        msg = f"expected a file of templates of at most {_LARGEST:,} bytes"
        raise TemplateError(msg, path)
    return found


_LARGEST = 16 << 20  # bytes
_INDEX = re.compile(r"\[(@?)([+-]?\d+),(\d+)")
_DIGITS = 4  # of an offset, its sign among them: each farther place has a marker of its own
_PATTERN = re.compile(r',"((?:[^"\\]|\\.)*)"')


def _parse_line(text: str, line: int, source: str, dialect: Dialect) -> Template:
    if text[0] not in "UuBb*":
        _fail(source, line, text, f"to start with U, B or *, not {text[0]!r}")
    literals, commands = [""], []
    at = 0
    while at < len(text):
        stop = text.find("%", at)
        literals[-1] += text[at:stop] if stop >= 0 else text[at:]
        if stop < 0:
            break
        command, at = _parse_command(text, stop, line, source, dialect)
        commands.append(command)
        literals.append("")
    return Template(text, line, tuple(literals), tuple(commands))


def _parse_command(
    text: str, at: int, line: int, source: str, dialect: Dialect
) -> tuple[Command, int]:
    """Read the command that starts with the '%' at a place; give it and the place after it."""
    kind = text[at + 1 : at + 2]
    if kind not in tuple("xtmXTM"):
        _fail(source, line, text, f"x, t or m after the % of {text[at:]!r}")
    index = _INDEX.match(text, at + 2)
    if index is None:
        _fail(source, line, text, f"[offset,column] after {text[at : at + 2]}, as in %x[-1,0]")
    absolute, row, column = index.groups()
    if len(row) > _DIGITS or len(column) > _DIGITS:
        _fail(source, line, text, f"an offset and a column of at most {_DIGITS} characters")
    if absolute and int(row) == 0:
        _fail(source, line, text, "an @ offset from 1 up, or from -1 down")
    end = index.end()
    pattern = None
    if kind in "tmTM":
        quoted = _PATTERN.match(text, end)
        if quoted is None:
            _fail(source, line, text, f'a quoted pattern, as in %{kind}[0,0,"^.?.?"]')
        try:
            pattern = dialect.regex(quoted.group(1))
        except ValueError as error:
            _fail(source, line, text, f"a regular expression, but {error}")
        end = quoted.end()
    if text[end : end + 1] != "]":
        _fail(source, line, text, f"']' after {text[at:end]!r}")
    fold = kind.isupper()
    place = int(row), int(column), fold, bool(absolute)
    return Command(kind.lower(), *place, pattern, dialect), end + 1


def _fail(source: str, line: int, text: str, expected: str) -> NoReturn:
    raise TemplateError(f"expected {expected} (in {text!r})", source, line)
