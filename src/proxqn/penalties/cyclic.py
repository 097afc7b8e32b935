"""λ by coordinate modulo K: one number for each label of a chain, or for each node of a tree."""

from __future__ import annotations

import math
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats, Ints


@final
class Cyclic(Penalty):
    """A penalty whose numbers repeat: coordinate j has those of ``j mod K``.

    Losses number their weights feature by feature, so that the weights of one label (or node) are
    K apart. Nothing as long as the weights are many is kept.

    Parameters
    ----------
    lam : array of shape (K,)
        λ of the first K coordinates, and of the next K again; 0 or above.
    l2 : number or array of shape (K,)
        Their ridge.
    size : int, optional
        How many coordinates there are; needed where a λ is 0, to tell which these are.

    Examples
    --------
    >>> penalty = Cyclic([1.0, 2.0, 0.0], size=7)
    >>> penalty.on(np.array([0, 4, 5])).lam, penalty.unpenalised
    (array([1., 2., 0.]), array([2, 5]))
    """

    def __init__(self, lam: ArrayLike, l2: ArrayLike = 0.0, *, size: int | None = None) -> None:
        self.lam: Floats = np.atleast_1d(np.asarray(lam, dtype=np.float64))
        self.l2: Floats = np.broadcast_to(np.asarray(l2, dtype=np.float64), self.lam.shape)
        for name, numbers in (("lam", self.lam), ("l2", self.l2)):
            if numbers.ndim != 1 or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
                raise ValueError(
                    f"{name} must be finite numbers, 0 or above, in a row; got {numbers.tolist()}."
                )
        if size is None and not self.lam.all():
            raise ValueError("size is needed where a lam is 0: the number of coordinates.")
        self.size = size

    def on(self, coordinates: Ints) -> Local:
        """Return the numbers of these coordinates."""
        place = coordinates % len(self.lam)
        return Local(self.lam[place], self.l2[place], _NO_LOWER, _NO_UPPER)

    @property
    def least(self) -> float:
        """The smallest λ above 0; infinite where all are 0."""
        return float(self.lam[self.lam > 0.0].min(initial=math.inf))

    @property
    def unpenalised(self) -> Ints:
        """The coordinates whose λ is 0."""
        free = np.flatnonzero(self.lam == 0.0)
        if self.size is None or not len(free):
            return np.empty(0, dtype=np.int64)
        starts = np.arange(0, self.size, len(self.lam))
        found = (starts[:, None] + free).ravel()
        return found[found < self.size]


_NO_LOWER, _NO_UPPER = np.array([-math.inf]), np.array([math.inf])
