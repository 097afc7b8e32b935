"""λ, ridge and bounds for each weight: what a penalty can be, as arrays."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, final

import numpy as np

from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats, Ints

_RANGES = {  # smallest and largest allowed; whether infinite is
    "lam": (0.0, math.inf, False),
    "l2": (0.0, math.inf, False),
    "lower": (-math.inf, 0.0, True),
    "upper": (0.0, math.inf, True),
}
_WORDS = {
    "lam": "finite, 0 or above (0: not penalised)",
    "l2": "finite, 0 or above",
    "lower": "0 or below (-inf: no bound): a weight at zero must be allowed",
    "upper": "0 or above (inf: no bound): a weight at zero must be allowed",
}


@final
class Separable(Penalty):
    """``Ω(w) = Σ_j lam_j |w_j| + (l2_j/2) w_j²`` with ``lower_j ≤ w_j ≤ upper_j``.

    Parameters
    ----------
    lam : float or array of shape (n_coordinates,)
        λ_j, against the sum of the losses; 0 leaves a weight unpenalised.
    l2 : float or array
        Ridge terms.
    lower, upper : float or array
        Bounds, ``lower ≤ 0 ≤ upper``. ``lower=0`` asks for weights that are not negative.

    Examples
    --------
    >>> penalty = Separable(np.array([1.0, 0.0, 2.0]), lower=0.0)
    >>> penalty.unpenalised, penalty.least
    (array([1]), 1.0)
    >>> penalty.on(np.array([0, 2])).prox(np.array([3.0, -5.0]), curvature=1.0)
    array([2., 0.])
    """

    def __init__(
        self,
        lam: Any,
        l2: Any = 0.0,
        lower: Any = -math.inf,
        upper: Any = math.inf,
    ) -> None:
        given = {"lam": lam, "l2": l2, "lower": lower, "upper": upper}
        self._all = Local(**{name: _checked(value, name) for name, value in given.items()})
        sizes = {len(x) for x in self._all.arrays if len(x) != 1}
        if len(sizes) > 1:
            raise ValueError(
                f"lam, l2 and bounds must be numbers or arrays of one length, got lengths {sizes}."
            )
        self.size = sizes.pop() if sizes else None

    def on(self, coordinates: Ints) -> Local:
        """Return the coordinates' entries."""
        return self._all.take(coordinates)

    def check_size(self, n_coordinates: int) -> None:
        """Raise unless there is an entry for each coordinate."""
        if self.size not in (None, n_coordinates):
            raise ValueError(
                f"lam, l2 and bounds must have an entry for each of {n_coordinates} coordinates, "
                f"got {self.size}. Pass a number for all, or arrays of shape ({n_coordinates},)."
            )
        if len(self._all.lam) == 1 and self._all.lam[0] == 0.0:
            self._free = np.arange(n_coordinates)

    @cached_property
    def least(self) -> float:
        """The smallest λ_j above 0; infinite where there is none."""
        positive = self._all.lam[self._all.lam > 0.0]
        return float(positive.min(initial=math.inf))

    @property
    def unpenalised(self) -> Ints:
        """Where λ_j = 0."""
        return self._free

    @cached_property
    def _free(self) -> Ints:
        if len(self._all.lam) == 1 and self._all.lam[0] == 0.0:
            raise ValueError(
                "lam is 0 for all weights, but how many there are is not known: call "
                "check_size(n_coordinates) first, or pass an array."
            )
        return np.flatnonzero(self._all.lam == 0.0)


def _checked(value: Any, name: str) -> Floats:
    try:
        numbers = np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of numbers, got {value!r}.") from None
    smallest, largest, infinite = _RANGES[name]
    good = (numbers >= smallest) & (numbers <= largest) & (np.isfinite(numbers) | infinite)
    if numbers.ndim != 1 or not good.all():
        at = int(np.argmin(good)) if numbers.ndim == 1 else 0
        where = f"{numbers[at]} at {at}" if numbers.ndim == 1 else f"shape {numbers.shape}"
        raise ValueError(f"{name} must be {_WORDS[name]}, for each weight; got {where}.")
    return numbers
