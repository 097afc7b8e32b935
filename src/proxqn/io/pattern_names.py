"""Templates and the names they make, from one program's dialect to the other's.

CRF++ and Wapiti differ in the first letter's case, in ``*``, and in what stands for places beyond
the ends of a sequence (`template_dialect`): so a name is taken apart by its template, and the
stand-ins in it are exchanged.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Final, final

from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import Command, Template, Templates

__all__ = ["Translation"]

_FARTHEST_ROW: Final = 8  # CRF++ looks no farther


@final
class Translation:
    """From the templates of a model to those of a program.

    Parameters
    ----------
    templates : Templates
        The model's.
    to : Dialect
        The program's.

    Raises
    ------
    ValueError
        Where the program cannot hold a template; it is named.

    Examples
    --------
    >>> to_wapiti = Translation(Templates.parse("U05:%x[-1,0]/%x[0,0]"), Dialect.WAPITI)
    >>> to_wapiti.line(to_wapiti.templates[0]), to_wapiti.names("U05:_B-1/the")
    (['u05:%x[-1,0]/%x[0,0]'], ['u05:_x-1/the'])
    """

    def __init__(self, templates: Templates, to: Dialect) -> None:
        self.templates, self.to = templates, to
        for template in templates:
            _check(template, to)
        self._exchanges = templates.dialect is not to
        if self._exchanges and to is Dialect.WAPITI and any(map(_looks_inside, templates)):
            warnings.warn(
                "Wapiti's %t, %m and %X know bytes, the model's know characters, and what stands "
                "beyond the ends differs: texts beyond ASCII, and ends, may get other features "
                "there. Templates.parse(text, dialect='wapiti') trains on what Wapiti sees.",
                stacklevel=4,
            )
        self._mark = "_B" if templates.dialect is Dialect.CRFPP else "_x"
        self._forms = [(t, _form(t, self._mark)) for t in templates if any(map(_rows, t.commands))]

    def line(self, template: Template) -> list[str]:
        """Return the lines that say in the program what a template says here."""
        return self._letters(template.text)

    def plain(self) -> list[str]:
        """Return the line that asks for plain transitions."""
        return self._letters("b")

    def names(self, name: str) -> list[str]:
        """Return what the program calls a feature: several where its stand-ins are finer."""
        found = self._with_marks(name) if self._exchanges and self._mark in name else [name]
        return [letters for one in found for letters in self._letters(one)]

    def _with_marks(self, name: str) -> list[str]:
        """Exchange the stand-ins; of templates that make the same names one is enough."""
        for template, form in self._forms:
            pieces = form.fullmatch(name)
            if pieces:
                found = list(self._exchanged(template, pieces.groups()))
                if found != [name]:
                    return found
        return [name]

    def _letters(self, text: str) -> list[str]:
        if self.to is Dialect.WAPITI:
            return [text[0].lower() + text[1:]]
        if text[0] == "*":
            return [f"U{text}", f"B{text}"]
        return [text[0].upper() + text[1:]]

    def _exchanged(self, template: Template, pieces: tuple[str, ...]) -> Iterator[str]:
        spelt = [""]
        literals = iter(template.literals[1:])
        for piece, command in zip(pieces, template.commands, strict=True):
            literal = next(literals)
            spelt = [a + b + literal for a in spelt for b in self._others(piece, command)]
        yield from (template.literals[0] + one for one in spelt)

    def _others(self, piece: str, command: Command) -> list[str]:
        """Return the program's stand-ins for one of ours; any other text as it is."""
        sign, distance = piece[2:3], piece[3:]
        farthest = abs(command.row) if sign in _directions(command) else 0
        if not piece.startswith(self._mark):
            return [piece]
        if distance == "#":
            return [f"_B{sign}{step}" for step in range(5, farthest + 1)] or [piece]
        if not distance.isdecimal() or int(distance) > farthest:
            return [piece]
        if self.to is Dialect.CRFPP:
            return [f"_B{piece[2:]}"]
        return [self.to.marker(-int(distance) if sign == "-" else int(distance) - 1, 0)]


def _check(template: Template, to: Dialect) -> None:
    text = template.text
    if to is Dialect.WAPITI:
        if "#" in text and template.commands and template.commands[0].dialect is not to:
            raise ValueError(f"Wapiti cannot hold the template {text!r}: # begins a comment there.")
        return
    for command in template.commands:
        if command.pattern is not None or command.fold or command.absolute:
            raise ValueError(
                f"CRF++ cannot hold the template {text!r}, nor the weights of its features: it "
                "knows %x with an offset from the token alone. Put what it computes into a column."
            )
        if abs(command.row) > _FARTHEST_ROW:
            raise ValueError(
                f"CRF++ cannot hold the template {text!r}, nor the weights of its features: it "
                f"looks at most {_FARTHEST_ROW} tokens to either side."
            )


def _looks_inside(template: Template) -> bool:
    return any(command.fold or command.pattern is not None for command in template.commands)


def _rows(command: Command) -> bool:
    """Whether a command may look beyond the ends of a sequence, and give what stands there."""
    return command.row != 0 and command.pattern is None


def _directions(command: Command) -> str:
    """Return the signs of the places beyond the ends that it may look at; no sign is the token."""
    if not _rows(command):
        return " "
    return "-" if (command.row < 0) else "+"


def _form(template: Template, mark: str) -> re.Pattern[str]:
    """Return what matches the names of a template, a group for each command's text."""
    marker = rf"{mark}[-+](?:[1-9]\d{{0,3}}|#)"
    parts = [re.escape(template.literals[0])]
    for command, literal in zip(template.commands, template.literals[1:], strict=True):
        parts.append(f"({marker}|.*)" if _rows(command) else "(.*)")
        parts.append(re.escape(literal))
    return re.compile("".join(parts), re.DOTALL)
