"""Damaged copies of a file, for readers that must refuse or read them, and nothing else.

``python -m tests.io.mutants crfsuite --number 1000000`` tries that many, on all processors, each
worker with little memory to spare; ``make fuzz-files`` does.
"""

from __future__ import annotations

import argparse
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from proxqn.io.foreign import ForeignFileError

WORDS = (0, 1, 2, 3, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
MEMORY = 2 << 30  # bytes a worker may take beyond what it has at the start


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a copy with one to four changes, each of a kind that breaks readers."""
    copy = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        change = CHANGES[rng.integers(len(CHANGES))]
        change(copy, rng)
    return bytes(copy)


def _flip_bit(copy: bytearray, rng: np.random.Generator) -> None:
    if copy:
        copy[rng.integers(len(copy))] ^= 1 << int(rng.integers(8))


def _set_byte(copy: bytearray, rng: np.random.Generator) -> None:
    if copy:
        copy[rng.integers(len(copy))] = int(rng.integers(256))


def _set_word(copy: bytearray, rng: np.random.Generator) -> None:
    """Replace a number, mostly one of the first: those are sizes, counts and offsets."""
    if len(copy) >= 4:
        last = min(len(copy), int(rng.choice([48, len(copy)]))) - 4
        at = int(rng.integers(last + 1)) // 4 * 4
        near = struct.unpack_from("<I", copy, at)[0] + int(rng.integers(-9, 10))
        words = (*WORDS, len(copy), near, int(rng.integers(2**32)))
        struct.pack_into("<I", copy, at, words[rng.integers(len(words))] % 2**32)


def _cut(copy: bytearray, rng: np.random.Generator) -> None:
    del copy[rng.integers(len(copy) + 1) :]


def _grow(copy: bytearray, rng: np.random.Generator) -> None:
    copy += rng.bytes(int(rng.integers(1, 40)))


def _move(copy: bytearray, rng: np.random.Generator) -> None:
    """Copy a stretch to another place."""
    size = int(rng.integers(1, 41))
    if len(copy) > size:
        a, b = rng.integers(len(copy) - size, size=2)
        copy[b : b + size] = copy[a : a + size]


def _remove(copy: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(copy) + 1))
    del copy[at : at + int(rng.integers(1, 41))]


CHANGES = (_flip_bit, _flip_bit, _set_byte, _set_word, _set_word, _cut, _grow, _move, _remove)


def try_crfsuite(data: bytes) -> None:
    """Read a model, and label with it what could be read."""
    from proxqn.io.crfsuite import from_bytes
    from proxqn.io.crfsuite.chain import to_chain

    model = from_bytes(data)
    if len(model.labels) > 1:
        names = model.attributes.names()[:3]
        to_chain(model).predict([[names, [], names]])


def crfsuite_file(number: int) -> bytes:
    """Return a small model of CRFsuite's own; each number gives another."""
    import pycrfsuite

    rng = np.random.default_rng(number)
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.05, "max_iterations": 10})
    for _ in range(2 + 2 * number):
        words = rng.integers(3 + 4 * number, size=4)
        tokens = [{"w": str(w), "näher": 0.5, f"l{w % 3}": 1.0} for w in words]
        trainer.append(tokens, [f"L{w % (2 + number)}" for w in words])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        trainer.train(str(path))
        return path.read_bytes()


def try_wapiti(data: bytes) -> None:
    """Read a model, and label with it what could be read."""
    from proxqn.io.pattern_chain import chain_of
    from proxqn.io.wapiti import parse_model

    _label(chain_of(parse_model(data)))


def try_crfpp(data: bytes) -> None:
    """Read a model of either form, and label with it what could be read."""
    from proxqn.io.crfpp import parse_model
    from proxqn.io.pattern_chain import chain_of

    _label(chain_of(parse_model(data)))


def _label(crf: Any) -> None:
    templates = crf.encoder_.templates
    if templates is None:
        crf.predict([["a", "b"]])
    elif templates.n_columns < 100:
        crf.predict([[["The"] * max(1, templates.n_columns)] * 3])


def golden_file(*names: str) -> Callable[[int], bytes]:
    """Return what gives one of the programs' own small models."""
    folder = Path(__file__).parents[1] / "golden" / "other_programs"
    return lambda number: (folder / names[number % len(names)]).read_bytes()


KINDS = {
    "crfsuite": (try_crfsuite, crfsuite_file),
    "wapiti": (try_wapiti, golden_file("letters.wapiti", "compact.wapiti")),
    "crfpp": (try_crfpp, golden_file("letters.crfpp", "frequent.crfpp")),
    "crfpp-text": (try_crfpp, golden_file("letters.crfpp.txt")),
}


def _worker(kind: str, seed: int, number: int) -> Counter[str]:
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY, most))
    attempt, _ = KINDS[kind]
    attempt(FILES[0])  # what it imports takes its time
    found: Counter[str] = Counter()
    rng = np.random.default_rng(seed)
    for _ in range(number):
        data = mutant(FILES[rng.integers(len(FILES))], rng)
        start = time.process_time()
        try:
            attempt(data)
            found["read"] += 1
        except ForeignFileError:
            found["refused"] += 1
        except Exception as error:
            path = Path(tempfile.gettempdir()) / f"mutant-{kind}-{seed}-{found.total()}"
            path.write_bytes(data)
            found[f"{type(error).__name__}: {error} ({path})"] += 1
        found["slow (> 1 s)"] += time.process_time() - start > 1.0
    return found


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


FILES: list[bytes] = []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--number", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    FILES[:] = [KINDS[options.kind][1](number) for number in range(4)]
    share = 5000
    seeds = [options.seed * 10**6 + i for i in range(-(-options.number // share))]
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(_worker, options.kind, seed, share) for seed in seeds]
        for task in tasks:
            total += task.result()
    tried = total["read"] + total["refused"]
    print(f"{options.kind}: {len(seeds) * share:,} mutants")
    for what, times in total.most_common():
        print(f"{times:>12,} {what}")
    return 0 if tried == len(seeds) * share and not total["slow (> 1 s)"] else 1


if __name__ == "__main__":
    sys.exit(main())
