"""Ranges of coordinates with a penalty each: features, transitions, intercepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Ints


@final
class Blocks(Penalty):
    """Penalties one after the other: the first for the first block of coordinates, and so on.

    Parameters
    ----------
    boundaries : sequence of int
        Where each block but the first begins, ascending.
    parts : sequence of Penalty
        One more than there are boundaries; each counts its coordinates from the block's beginning.

    Examples
    --------
    The weights of transitions, behind 10 weights of features, without a penalty:

    >>> from proxqn.penalties.cyclic import Cyclic
    >>> penalty = Blocks([10], [Cyclic([2.0]), Cyclic([0.0], size=4)])
    >>> penalty.on(np.array([3, 11])).lam, penalty.unpenalised
    (array([2., 0.]), array([10, 11, 12, 13]))
    """

    def __init__(self, boundaries: Sequence[int], parts: Sequence[Penalty]) -> None:
        self.starts: Ints = np.array([0, *boundaries], dtype=np.int64)
        self.parts = tuple(parts)
        if len(self.starts) != len(self.parts) or (np.diff(self.starts) < 0).any():
            raise ValueError(
                f"expected ascending boundaries, one fewer than the {len(self.parts)} parts; got "
                f"{list(boundaries)}."
            )

    def on(self, coordinates: Ints) -> Local:
        """Return what the blocks say of these, one after the other."""
        cuts = [*np.searchsorted(coordinates, self.starts).tolist(), len(coordinates)]
        pieces = [
            (part.on(coordinates[a:b] - start), b - a)
            for part, start, a, b in zip(self.parts, self.starts, cuts, cuts[1:], strict=False)
            if a < b
        ]
        if len(pieces) == 1:
            return pieces[0][0]
        if not pieces:
            return self.parts[0].on(coordinates)
        rows = zip(*(local.arrays for local, _ in pieces), strict=True)
        sizes = [size for _, size in pieces]
        return Local(
            *(
                np.concatenate([np.broadcast_to(x, n) for x, n in zip(row, sizes, strict=True)])
                for row in rows
            )
        )

    @property
    def least(self) -> float:
        """The smallest λ above 0."""
        return min(part.least for part in self.parts)

    @property
    def unpenalised(self) -> Ints:
        """The coordinates whose λ is 0."""
        found = [part.unpenalised + start
                 for part, start in zip(self.parts, self.starts, strict=True)]  # fmt: skip
        return np.concatenate(found)
