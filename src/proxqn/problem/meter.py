"""Counting and timing what is asked of an oracle: inference calls are the currency.

A metered oracle, point or line is of a class made for the class inside: everything public that it
has is there, forwarded, so that an ability cannot be forgotten; what :data:`PRICES` names is
counted and timed on the way, and what comes back is metered in turn.
"""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, final

from proxqn.problem.oracle import Line, Oracle, Point

OPERATIONS = ("move", "forward", "backward", "gradient", "sweep", "draw")

# What a call counts as; its seconds are those of the first.
PRICES = {
    "at": ("forward", "move", "backward"),
    "along": ("move",),
    "value": ("forward",),
    "accept": ("backward",),
    "gradient": ("gradient",),
    "sweep": ("sweep",),
    "draw": ("draw",),
}


def _zeros() -> dict[str, float]:
    return dict.fromkeys(OPERATIONS, 0.0)


@final
@dataclass
class Calls:
    """How often each operation was asked for, and the seconds spent in it.

    A call on a subsample counts as its share of the samples.
    """

    counts: dict[str, float] = field(default_factory=_zeros)
    seconds: dict[str, float] = field(default_factory=_zeros)

    def charge(self, operations: tuple[str, ...], share: float, seconds: float) -> None:
        """Count a call of these operations."""
        for operation in operations:
            self.counts[operation] += share
        self.seconds[operations[0]] += seconds


_T = TypeVar("_T", bound=Oracle | Point | Line)


def metered(inside: _T, calls: Calls, share: float = 1.0) -> _T:
    """Return an oracle, point or line that does what this one does, and charges it to an account.

    Parameters
    ----------
    share : float
        What a call counts for; below 1 for a subsample.

    Examples
    --------
    >>> import numpy as np
    >>> from proxqn.problem.oracle import DensePoint
    >>> from proxqn.problem.sparse import SparseVector
    >>> class Squares(Oracle):
    ...     n_coordinates = 1
    ...     def at(self, w):
    ...         return DensePoint(self, w, float((w.dense(1) ** 2).sum()), 2.0 * w.dense(1))
    >>> calls = Calls()
    >>> point = metered(Squares(), calls).at(SparseVector.empty())
    >>> point.value, calls.counts["forward"], calls.counts["backward"]
    (0.0, 1.0, 1.0)
    """
    kind: Any = type(inside)
    found: _T = _metered_class(kind)(inside, calls, share)
    return found


@cache
def _metered_class(kind: Any) -> Any:
    """Make the class whose instances stand in for those of ``kind``."""
    base = next(base for base in (Oracle, Point, Line) if issubclass(kind, base))
    members: dict[str, Any] = {
        name: _forwarded(kind, name) for name in dir(kind) if not name.startswith("_")
    }
    return type(f"Metered{kind.__name__}", (_Metered, base), members | {"__doc__": kind.__doc__})


class _Metered:
    """What is inside, whom to charge, and what a call counts for: below 1 for a subsample."""

    def __init__(self, inside: Any, calls: Calls, share: float) -> None:
        self._inside, self._calls, self._share = inside, calls, share

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inside, name)  # what instances have and their class has not


def _forwarded(kind: type, name: str) -> Any:
    """Return a property, or a method that is counted where it has a price."""
    if not inspect.isroutine(inspect.getattr_static(kind, name)):
        return property(lambda self: getattr(self._inside, name))

    def method(self: Any, *args: Any, **options: Any) -> Any:
        began = time.perf_counter()
        found = getattr(self._inside, name)(*args, **options)
        if name in PRICES and found is not None:
            self._calls.charge(PRICES[name], self._share, time.perf_counter() - began)
        if name == "at" and not isinstance(found, Point):
            raise TypeError(
                f"{kind.__name__}.at(w) must return a Point, got a {type(found).__name__}; from a "
                "value and a gradient, return DensePoint(self, w, value, gradient)."
            )
        if isinstance(found, Oracle):
            part = found.n_samples / self._inside.n_samples
            return metered(found, self._calls, self._share * part)
        if isinstance(found, Point | Line):
            return metered(found, self._calls, self._share)
        return found

    method.__name__, method.__doc__ = name, getattr(kind, name).__doc__
    return method
