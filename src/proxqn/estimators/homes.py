"""Where each kind of model lives: those of this package, and those that others have installed.

A package of one's own brings its models to ``save``, ``load`` and the command line by an entry
point, whose name is the kind and whose object is a :class:`Home`:

    [project.entry-points."proxqn.models"]
    pixels = "pixels:HOME"

Nothing of it is imported before a model of its kind is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Final, final

GROUP: Final = "proxqn.models"


@final
@dataclass(frozen=True)
class Home:
    """Where a kind of model lives, by module and name; imported when it is called for.

    Parameters
    ----------
    estimator : str
        ``"module:Class"`` of the estimator, which offers ``estimators/model.py``'s protocol.
    commands : str, optional
        ``"module:OBJECT"`` of its side of the command line (``cli/kind.py``).
    """

    estimator: str
    commands: str | None = None

    @property
    def name(self) -> str:
        """The estimator's name."""
        return self.estimator.rpartition(":")[2]

    def find_estimator(self) -> Any:
        """Import the estimator."""
        return _found(self.estimator)

    def find_commands(self) -> Any:
        """Import its side of the command line; None where it has none."""
        return None if self.commands is None else _found(self.commands)


OURS: Final[Mapping[str, Home]] = MappingProxyType(
    {
        "chain": Home("proxqn.estimators.chain_crf:ChainCRF", "proxqn.cli.chain:COMMANDS"),
        "tree": Home(
            "proxqn.estimators.hierarchical:HierarchicalClassifier", "proxqn.cli.tree:COMMANDS"
        ),
    }
)
"""Kinds of models of this package, by the name they have in files and on the command line."""


def kinds() -> list[str]:
    """Return all kinds that are installed, ours first."""
    others = {entry.name for entry in entry_points(group=GROUP)}
    return [*OURS, *sorted(others - set(OURS))]


def home_of(kind: str) -> Home | None:
    """Return where a kind lives; None where no installed package has it.

    Examples
    --------
    >>> home_of("tree").name
    'HierarchicalClassifier'
    """
    if kind in OURS:
        return OURS[kind]
    for entry in entry_points(group=GROUP, name=kind):
        found = entry.load()
        if not isinstance(found, Home):
            raise TypeError(
                f"the entry point {kind!r} of {GROUP} is {entry.value}, a {type(found).__name__}; "
                "expected a proxqn.estimators.homes.Home."
            )
        return found
    return None


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
