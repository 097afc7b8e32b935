"""What a kind of files brings to the fuzzer: seeds, changes, and what is done with a mutant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.fuzz.damage import mutant


@dataclass(frozen=True)
class Kind:
    """A format of files.

    Parameters
    ----------
    seeds : callable
        Gives some good files, as bytes.
    attempt : callable
        Reads a file and uses what it could read, as a user would; raises what a reader may raise.
    refusals : tuple of types
        What a reader may raise. Anything else is a fault.
    mutate : callable
        Makes a mutant of a seed.
    """

    seeds: Callable[[], Sequence[bytes]]
    attempt: Callable[[bytes], None]
    refusals: tuple[type[Exception], ...]
    mutate: Callable[[bytes, Random], bytes] = mutant
