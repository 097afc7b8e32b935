"""The kernels' random numbers, in Python."""

from __future__ import annotations


class SplitMix64:
    """The generator of ``cpp/base/random.hpp``, so that references make the kernels' choices."""

    _MASK = (1 << 64) - 1

    def __init__(self, seed: int) -> None:
        self.state = seed

    def __call__(self) -> int:
        """Return 64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & self._MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self._MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self._MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """Return a number from 0 to below 1."""
        return float(self() >> 11) * 2.0**-53

    def shuffle(self, order: list[int]) -> None:
        """Put a list in random order."""
        for i in range(len(order), 1, -1):
            j = (self() >> 32) * i >> 32
            order[i - 1], order[j] = order[j], order[i - 1]
