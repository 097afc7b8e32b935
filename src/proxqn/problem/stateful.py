"""The seam between models and solvers: an oracle whose methods have prices, and a penalty.

We minimise ``f(w) = ℓ(w) + Ω(w)`` where every value or gradient of ℓ needs inference (a pass of
forward-backward over all sequences, say) and Ω is separable and simple. A solver sees ℓ only
through an :class:`Oracle`. Its methods are ordered by what they cost, so that a solver can ask for
the cheapest thing that answers its question:

====================  =======================================================================
``move(direction)``   the change of the linear scores along a direction; sparse, no inference
``value_at(step)``    ℓ at ``w + step·direction``; one forward pass
``accept(step)``      makes that point the current one; one backward pass
``gradient(A)``       partial derivatives on the coordinates A; sparse, no inference
``sweep(level)``      all coordinates with ``|g_j| > level``; sparse, over all data
``sample_curvature``  a sparse J with ``E[JᵀJ] = ∇²ℓ`` on A; one forward pass and draws from it
====================  =======================================================================

Rejected trial steps therefore never pay for a backward pass, a partial gradient touches only the
data of its own features, and no method returns an array as long as the number of parameters.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import final

import numpy as np

from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep


class Oracle(ABC):
    """A smooth loss ℓ that is expensive to evaluate; convex, unless it says otherwise.

    An oracle has a current point, at first ``w = 0`` after :meth:`reset`. The calls for one step
    are ``move``, then ``value_at`` once per trial, then ``accept`` with the last trial's step;
    after ``accept`` the gradient methods refer to the new point until the next ``value_at``.

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

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """d, the number of weights of the model; may differ from the numbers in use."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """N, the number of terms in the loss."""

    @abstractmethod
    def reset(self) -> None:
        """Go to ``w = 0``. No inference: :meth:`value_at` and :meth:`accept` must follow."""

    @abstractmethod
    def move(self, direction: SparseVector) -> None:
        """Set the direction of the next trials."""

    @abstractmethod
    def value_at(self, step: float) -> float:
        """Return ℓ at the current point plus ``step`` times the direction: one forward pass.

        Infinite where that point is out of its range; a shorter step may do.
        """

    @abstractmethod
    def accept(self, step: float) -> None:
        """Move to the point of the last :meth:`value_at`: one backward pass."""

    def start_at(self, weights: SparseVector) -> float:
        """Go to these weights from anywhere, and return ℓ there: a forward and a backward pass."""
        self.reset()
        self.move(weights)
        value = self.value_at(1.0)
        self.accept(1.0)
        return value

    @abstractmethod
    def gradient(self, coordinates: Ints) -> Floats:
        """Return the partial derivatives of ℓ at the current point."""

    @abstractmethod
    def sweep(self, level: float) -> Sweep:
        """Return all partial derivatives larger than ``level`` in absolute value."""

    def sweep_with(self, level: float, kept: Ints) -> Sweep:
        """As :meth:`sweep`, with the derivatives of ``kept``, ascending, whatever their size."""
        sweep = self.sweep(level)
        return Sweep(sweep.gradient.including(kept, self.gradient), sweep.largest)

    @abstractmethod
    def sample_losses(self) -> tuple[Floats, Floats | None] | None:
        """Return ``-log P(y_i | x_i)`` and sample weights, or None for any other kind of loss.

        With them the solver computes a duality gap (``solvers/certificate/bound.py``). A loss
        that is not convex has none.
        """

    @property
    def convex(self) -> bool:
        """Whether ℓ is convex. If not, a solver can end at a stationary point, with no bound."""
        return True

    @property
    def pass_cost(self) -> float:
        """Multiply-adds of a forward and a backward pass, roughly: the inner problem's budget."""
        return math.inf

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return a rough diagonal of the Hessian, up to a common factor; no inference.

        It is the starting point of the quasi-Newton model. Ones say that nothing is known.
        """
        return np.ones(len(coordinates))

    def sample_curvature(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        """Return a random J with ``E[JᵀJ] = ∇²ℓ`` on the coordinates, or None where there is none.

        Parameters
        ----------
        coordinates : array
            Ascending.
        n_rows : int
            Of J, about, or more where they are cheap: the variance falls with their number.
        """
        return None

    @property
    def single(self) -> bool:
        """Whether it works in single precision now: faster, right to six digits or so."""
        return False

    def set_single(self, single: bool) -> None:  # noqa: B027 - most oracles know one precision
        """Work in single precision from now on, if it can, or in double; ``reset`` must follow."""

    def subsample(self, share: float, seed: int) -> Oracle | None:
        """Return an estimate of ℓ from a random share of the samples, or None where there is none.

        Its coordinates have the same numbers, and its loss is scaled to the size of the whole, so
        that weights, curvature and λ carry over.
        """
        return None


class Penalty(ABC):
    """A separable penalty Ω with a kink at zero.

    Attributes
    ----------
    lam : float
        λ: a zero coordinate stays at zero while its partial derivative is at most this.
    l2 : float
        The second derivative of Ω away from zero.
    """

    lam: float
    l2: float

    @abstractmethod
    def value(self, w: Floats) -> float:
        """Return Ω(w)."""

    @abstractmethod
    def change(self, w: Floats, d: Floats) -> Floats:
        """Return ``Ω(w + d) - Ω(w)`` for each coordinate, exact to rounding of d, not of w."""

    @abstractmethod
    def prox(self, v: Floats, curvature: Floats | float) -> Floats:
        """Return argmin_w ``Σ_j curvature_j/2 (w_j - v_j)² + Ω(w)``."""

    @abstractmethod
    def min_norm_subgradient(self, w: Floats, g: Floats) -> Floats:
        """Return the smallest element of ∂f(w), given g = ∇ℓ(w): zero exactly at the optimum."""

    @abstractmethod
    def conjugate(self, g: Floats) -> float:
        """Return Ω*(g) given the entries of g above λ (the others contribute nothing)."""


OPERATIONS = ("move", "forward", "backward", "gradient", "sweep", "draw")


@final
@dataclass
class Calls:
    """How often each oracle method was called, and the seconds spent in it.

    A call on a subsample counts as its share of the data.
    """

    counts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(OPERATIONS, 0.0))
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(OPERATIONS, 0.0))


@final
class MeteredOracle(Oracle):
    """An oracle that counts and times the calls made to another one.

    Parameters
    ----------
    calls : Calls, optional
        An account to add to.
    share : float
        What a call counts for: below 1 for a subsample.
    """

    def __init__(self, oracle: Oracle, calls: Calls | None = None, share: float = 1.0) -> None:
        self.oracle, self.n_jobs = oracle, oracle.n_jobs
        self.calls = Calls() if calls is None else calls
        self.share = share

    def _charge(self, operation: str, started: float) -> None:
        self.calls.counts[operation] += self.share
        self.calls.seconds[operation] += time.perf_counter() - started

    @property
    def n_coordinates(self) -> int:
        """As in the oracle inside."""
        return self.oracle.n_coordinates

    @property
    def n_parameters(self) -> int:
        """As in the oracle inside."""
        return self.oracle.n_parameters

    @property
    def n_samples(self) -> int:
        """As in the oracle inside."""
        return self.oracle.n_samples

    def reset(self) -> None:
        """Not counted: no work on the data."""
        self.oracle.reset()

    def move(self, direction: SparseVector) -> None:
        """Count a move."""
        started = time.perf_counter()
        self.oracle.move(direction)
        self._charge("move", started)

    def value_at(self, step: float) -> float:
        """Count a forward pass."""
        started = time.perf_counter()
        value = self.oracle.value_at(step)
        self._charge("forward", started)
        return value

    def accept(self, step: float) -> None:
        """Count a backward pass."""
        started = time.perf_counter()
        self.oracle.accept(step)
        self._charge("backward", started)

    def start_at(self, weights: SparseVector) -> float:
        """Count a move, a forward and a backward pass; the seconds are the forward pass's."""
        started = time.perf_counter()
        value = self.oracle.start_at(weights)
        self._charge("forward", started)
        for operation in ("move", "backward"):
            self._charge(operation, time.perf_counter())
        return value

    def gradient(self, coordinates: Ints) -> Floats:
        """Count a partial gradient."""
        started = time.perf_counter()
        g = self.oracle.gradient(coordinates)
        self._charge("gradient", started)
        return g

    def sweep(self, level: float) -> Sweep:
        """Count a sweep."""
        started = time.perf_counter()
        found = self.oracle.sweep(level)
        self._charge("sweep", started)
        return found

    def sweep_with(self, level: float, kept: Ints) -> Sweep:
        """Count a sweep."""
        started = time.perf_counter()
        found = self.oracle.sweep_with(level, kept)
        self._charge("sweep", started)
        return found

    def sample_losses(self) -> tuple[Floats, Floats | None] | None:
        """Not counted: the forward pass left them."""
        return self.oracle.sample_losses()

    @property
    def convex(self) -> bool:
        """As in the oracle inside."""
        return self.oracle.convex

    @property
    def pass_cost(self) -> float:
        """As in the oracle inside."""
        return self.oracle.pass_cost

    def curvatures(self, coordinates: Ints) -> Floats:
        """Not counted: known from the data."""
        return self.oracle.curvatures(coordinates)

    def sample_curvature(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        """Count a draw."""
        started = time.perf_counter()
        found = self.oracle.sample_curvature(coordinates, n_rows, seed)
        if found is not None:
            self._charge("draw", started)
        return found

    @property
    def single(self) -> bool:
        """As in the oracle inside."""
        return self.oracle.single

    def set_single(self, single: bool) -> None:
        """Not counted: no work on the data."""
        self.oracle.set_single(single)

    def subsample(self, share: float, seed: int) -> MeteredOracle | None:
        """Return a subsample that charges to the same account."""
        part = self.oracle.subsample(share, seed)
        return None if part is None else MeteredOracle(part, self.calls, share * self.share)
