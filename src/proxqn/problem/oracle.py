"""The seam between losses and solvers: points and lines, ordered by what they cost.

We minimise ``f(w) = ℓ(w) + Ω(w)`` where every value or gradient of ℓ needs inference (a pass of
forward-backward over all sequences, say) and Ω is separable and simple. A solver sees ℓ only
through an :class:`Oracle`, which it asks for points; what it may ask of a point, and of a line from
it, has a price:

=========================  =================================================================
``oracle.at(w)``           the point w: a forward and a backward pass
``point.value``            ℓ(w); nothing more to pay
``point.gradient(A)``      partial derivatives on the coordinates A; their data only
``point.sweep(level, A)``  all coordinates with ``|g_j| > level``, and those of A; all data
``point.conjugate(s)``     an upper bound of ℓ*(s·∇ℓ(w)), or None; nothing more to pay
``point.along(d)``         the line w + αd: the change of the linear scores, a sparse product
``line.value(α)``          ℓ(w + αd); a forward pass
``line.accept(α)``         that point: a backward pass
=========================  =================================================================

Rejected trial steps therefore never pay for a backward pass, a partial gradient touches only the
data of its own features, and no method returns an array as long as the number of parameters.

A loss of one's own needs :meth:`Oracle.at` and ``n_coordinates`` alone: :class:`DensePoint` makes a
point of a value and a gradient (``docs/guides/write-a-loss.md``). What an oracle or a point *may*
offer beside this stands in ``abilities.py``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, final

import numpy as np

from proxqn.problem.sparse import Floats, Ints, SparseVector, Sweep

_ROUNDOFF = 2.0**-52

NOTHING: Ints = np.empty(0, dtype=np.int64)


class SpentPointError(RuntimeError):
    """A point was asked for what it no longer has."""


class Oracle(ABC):
    """A smooth loss ℓ that is expensive to evaluate; convex, unless it says otherwise.

    Attributes
    ----------
    n_jobs : int
        Threads that it uses, and that a solver may use beside it.
    """

    n_jobs: int = 1

    @property
    @abstractmethod
    def n_coordinates(self) -> int:
        """Coordinates are numbered from 0 to ``n_coordinates - 1``."""

    @abstractmethod
    def at(self, w: SparseVector) -> Point:
        """Return the point w: a forward and a backward pass.

        An oracle whose points share its memory holds one at a time: those of before are spent.
        """

    @property
    def n_parameters(self) -> int:
        """d, the number of weights of the model; may differ from the numbers in use."""
        return self.n_coordinates

    @property
    def n_samples(self) -> int:
        """N, the number of terms in the loss; 1 where nothing is known of the sum inside."""
        return 1

    @property
    def convex(self) -> bool:
        """Whether ℓ is convex. If not, a solver can end at a stationary point, with no bound."""
        return True


class Point(ABC):
    """ℓ at some weights.

    Attributes
    ----------
    value : float
        ℓ(w).
    """

    value: float

    @abstractmethod
    def gradient(self, coordinates: Ints) -> Floats:
        """Return the partial derivatives on ascending coordinates."""

    @abstractmethod
    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        """Return all derivatives larger than ``level`` in absolute value, and those of ``keep``.

        ``keep`` ascends; ``level`` may be infinite. The sweep's ``largest`` is the largest absolute
        derivative of all, whatever the level.
        """

    @abstractmethod
    def along(self, direction: SparseVector) -> Line:
        """Return the line from here in a direction."""

    def conjugate(self, scale: float) -> float | None:
        """Return an upper bound of ``ℓ*(scale·∇ℓ(w))``, ``scale`` in [0, 1]; None if unknown.

        It is all that a loss contributes to a proof: every certificate (``solvers/certificate``)
        is made of it and of the penalty.
        """
        return None


class Line(ABC):
    """The points ``w + αd``, α > 0, from an evaluated point w.

    A trial may use the memory in which the point's derivatives stand: ask for these before. The
    point is spent once a trial is accepted; to go along another line instead is always possible.
    """

    @abstractmethod
    def value(self, alpha: float) -> float:
        """Return ``ℓ(w + αd)``; infinite where that is out of range. A shorter step may do."""

    @abstractmethod
    def accept(self, alpha: float) -> Point:
        """Return the point at α, that of the last trial: the old one is spent."""


@final
class DensePoint(Point):
    """A point made of a value and a whole gradient, for losses that have them anyway.

    Parameters
    ----------
    oracle : Oracle
        Whose ``at`` makes the points of a line.
    w : SparseVector
        Where it is.
    value : float
        ℓ(w).
    gradient : array of shape (n_coordinates,)
        ∇ℓ(w).
    lower_bound : float, optional
        A number that a convex ℓ nowhere falls below, such as 0 for a sum of squares. With it every
        answer has a proof: ``ℓ*(s∇ℓ(w)) ≤ s (⟨w, ∇ℓ(w)⟩ - ℓ(w)) - (1-s) lower_bound``.
    conjugate : callable, optional
        ``conjugate(s)``, an upper bound of ``ℓ*(s∇ℓ(w))`` that is better than this one.
    line : callable, optional
        ``line(point, d)`` makes a :class:`Line` whose trials cost less than points do; its
        ``accept`` calls ``point.spend()``.

    Examples
    --------
    >>> class Squares(Oracle):
    ...     n_coordinates = 2
    ...     def at(self, w):
    ...         residual = w.dense(2) - np.array([3.0, 0.5])
    ...         return DensePoint(self, w, 0.5 * float(residual @ residual), residual, 0.0)
    >>> line = Squares().at(SparseVector.empty()).along(SparseVector.of_dense(np.array([2.0, 0.0])))
    >>> line.value(1.0), line.accept(1.0).gradient(np.array([0, 1]))
    (0.625, array([-1. , -0.5]))
    """

    def __init__(
        self,
        oracle: Oracle,
        w: SparseVector,
        value: float,
        gradient: Floats,
        lower_bound: float | None = None,
        *,
        conjugate: Callable[[float], float] | None = None,
        line: Callable[[DensePoint, SparseVector], Line] | None = None,
    ) -> None:
        gradient = np.asarray(gradient, dtype=np.float64)
        if gradient.shape != (oracle.n_coordinates,):
            raise ValueError(
                f"a gradient of shape ({oracle.n_coordinates},) is needed, got {gradient.shape}; "
                "it is that of the smooth part, without the penalty."
            )
        self.value = float(value)
        self._oracle, self._w, self._gradient = oracle, w, gradient
        self._lower_bound, self._conjugate, self._line = lower_bound, conjugate, line
        self._spent = False

    def gradient(self, coordinates: Ints) -> Floats:
        """Return entries of the gradient."""
        return self._live()[coordinates]

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        """Return the entries of the gradient above the level."""
        g = self._live()
        size = np.abs(g)
        above = np.flatnonzero(size > level)
        found = SparseVector(above, g[above]).including(keep, g.take)
        return Sweep(found, float(size.max(initial=0.0)))

    def along(self, direction: SparseVector) -> Line:
        """Return the line it was given, or one each of whose trials is a point of its own."""
        self._live()
        if self._line is not None:
            return self._line(self, direction)
        return _LineOfPoints(self._oracle, self, self._w, direction)

    def conjugate(self, scale: float) -> float | None:
        """Return the bound it was given, or what follows from a lower bound of ℓ."""
        gradient = self._live()
        if self._conjugate is not None:
            return self._conjugate(scale)
        if self._lower_bound is None:
            return None
        inner = float(gradient[self._w.coordinates] @ self._w.values)
        return scale * (inner - self.value) - (1.0 - scale) * self._lower_bound

    def conjugate_error(self, scale: float) -> float:
        """Return by how much our own sums may have made that too small.

        Of what the loss computes itself nothing is known.
        """
        terms = self._live()[self._w.coordinates] * self._w.values
        size = (len(terms) + 4.0) * float(np.abs(terms).sum()) + 8.0 * abs(self.value)
        return _ROUNDOFF * (scale * size + 4.0 * abs(self._lower_bound or 0.0))

    def errors(self, coordinates: Ints) -> Floats:
        """Return zeros: derivatives are taken as they were given."""
        return np.zeros(len(coordinates))

    def largest_error(self) -> float:
        """Return 0."""
        return 0.0

    def spend(self) -> None:
        """Let nothing more be asked of it."""
        self._spent = True

    def _live(self) -> Floats:
        if self._spent:
            raise SpentPointError(spent_message())
        return self._gradient


@final
class _LineOfPoints(Line):
    """A line whose trials are evaluated whole, value and gradient; the last one is kept."""

    def __init__(self, oracle: Oracle, point: DensePoint, w: SparseVector, d: SparseVector) -> None:
        self._oracle, self._point, self._w, self._d = oracle, point, w, d
        self._trial: tuple[float, Point] | None = None

    def value(self, alpha: float) -> float:
        found = self._oracle.at(self._w.plus(self._d, alpha))
        self._trial = alpha, found
        return found.value if math.isfinite(found.value) else math.inf

    def accept(self, alpha: float) -> Point:
        if self._trial is None or self._trial[0] != alpha:
            self.value(alpha)
        assert self._trial is not None
        self._point.spend()
        return self._trial[1]


@final
class Lease:
    """Which point an oracle's memory is about, for oracles whose points share it.

    Examples
    --------
    >>> lease = Lease()
    >>> one, other = object(), object()
    >>> lease.give(one)
    >>> lease.give(other)
    >>> lease.check(one)
    Traceback (most recent call last):
        ...
    proxqn.problem.oracle.SpentPointError: this point is spent: ...
    """

    def __init__(self) -> None:
        self._holder: Any = None  # whose derivatives stand in memory
        self._place: Any = None  # the point from which lines may begin

    def give(self, point: Any) -> None:
        """Memory is this point's: all others are spent."""
        self._holder = self._place = point

    def overwrite(self) -> None:
        """Note that a trial has overwritten the derivatives; lines may begin where they did."""
        self._holder = None

    def check(self, point: Any) -> None:
        """Raise unless the derivatives of this point stand in memory."""
        if self._holder is not point:
            raise SpentPointError(spent_message())

    def check_place(self, point: Any) -> None:
        """Raise unless lines may begin at this point."""
        if self._place is not point:
            raise SpentPointError(spent_message())


def spent_message() -> str:
    """Return what a point says that no longer has what it is asked for."""
    return (
        "this point is spent: its oracle has moved on, by a trial of a line from it, a line's "
        "accept(), or another at(). Ask for what you need of a point before you go on, or go back "
        "with oracle.at(w)."
    )
