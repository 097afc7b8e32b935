"""Measured ceilings of one core: multiply-adds, reading, scalar loads and stores.

Each is a bound on what any loop can do, not the speed of a loop like ours: a gather is held against
the rate of bare loads, a scatter against that of bare stores.

``ceilings.c`` is compiled with the machine's own instructions for this purpose only (the package
itself is built without ``-march=native``). CPU time, the best of several repetitions.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("ceilings.c")
REPETITIONS = 7
TARGET_SECONDS = 0.03  # of one repetition
L1, L2, L3 = 16 << 10, 256 << 10, 8 << 20  # bytes that surely fit each cache and not the smaller
DRAM = 256 << 20


@dataclass(frozen=True)
class Ceilings:
    """Rates of one core, per second."""

    fma: float  # multiply-adds of doubles
    read_l1: float  # bytes
    read_l2: float
    read_l3: float
    read_dram: float
    load: float  # scalar loads from L1
    store: float  # scalar stores to L1

    def read(self, n_bytes: float) -> float:
        """Return the bytes per second of reading an array of this size again and again."""
        for size, rate in ((L1, self.read_l1), (2 * L2, self.read_l2), (2 * L3, self.read_l3)):
            if n_bytes <= size:
                return rate
        return self.read_dram


def rate(work: Callable[[int], Any], amount: float) -> float:
    """Return ``amount`` per second, where ``work(rounds)`` does ``rounds`` times the amount."""
    rounds = 1
    while _taken(work, rounds) < TARGET_SECONDS:
        rounds *= 2
    return amount * rounds / min(_taken(work, rounds) for _ in range(REPETITIONS))


def _taken(work: Callable[[int], Any], rounds: int) -> float:
    began = time.process_time()
    work(rounds)
    return time.process_time() - began


def measure() -> Ceilings:
    """Compile and run the loops."""
    with tempfile.TemporaryDirectory(prefix="proxqn-ceilings-") as folder:
        library = Path(folder, "ceilings.so")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, str(SOURCE), "-o", str(library)], check=True)
        loops: Any = ctypes.CDLL(str(library))
        return _measure(loops)


def streaming(n_threads: int) -> float:
    """Return the bytes per second that so many threads read and write beside each other.

    Each adds one array to another, which no cache holds; wall-clock time.
    """
    pairs = [np.ones((2, DRAM // 16)) for _ in range(n_threads)]

    def add(pair: Any) -> None:
        np.add(pair[0], pair[1], out=pair[1])

    with ThreadPoolExecutor(n_threads) as pool:
        seconds = []
        for _ in range(REPETITIONS):
            began = time.perf_counter()
            list(pool.map(add, pairs))
            seconds.append(time.perf_counter() - began)
    return n_threads * 1.5 * DRAM / min(seconds)


def _measure(loops: Any) -> Ceilings:
    for name in ("fma_rounds", "read_all"):
        getattr(loops, name).restype = ctypes.c_double
    n_fma = 10_000
    return Ceilings(
        fma=rate(lambda n: loops.fma_rounds(ctypes.c_int64(n * n_fma)), 128 * n_fma),
        read_l1=_reading(loops, L1),
        read_l2=_reading(loops, L2),
        read_l3=_reading(loops, L3),
        read_dram=_reading(loops, DRAM),
        load=_scalar(loops.load_all),
        store=_scalar(loops.store_all),
    )


def _reading(loops: Any, n_bytes: int) -> float:
    array = _aligned(n_bytes // 8)
    size = ctypes.c_int64(len(array))
    return rate(
        lambda n: loops.read_all(ctypes.c_void_p(array.ctypes.data), size, ctypes.c_int64(n)),
        n_bytes,
    )


def _scalar(loop: Any) -> float:
    array = _aligned(L1 // 8)
    place, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_int64(len(array))
    return rate(lambda n: loop(place, size, ctypes.c_int64(n)), len(array))


def _aligned(n: int) -> Any:
    raw = np.ones(n + 8)
    offset = (-raw.ctypes.data // 8) % 8
    return raw[offset : offset + n]
