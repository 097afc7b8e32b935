"""Makes mutants of a kind of files, reads them in child processes, and counts what happens.

``python -m tests.fuzz chain --number 1000000 --jobs 16``. Kind, seed and number tell a mutant, so
that ``--only 1234`` makes it again. A worker that dies or hangs is replaced by one that goes on
behind the mutant it was at; ``--resume`` leaves out what an interrupted run has done.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
import warnings
from collections import Counter
from ctypes import c_double
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.fuzz import data_files, other_models, our_models
from tests.fuzz.kind import Kind

KINDS: dict[str, Kind] = our_models.KINDS | data_files.KINDS | other_models.KINDS
SPARE = 64 << 20  # bytes a reader may take beyond twice the file
ADDRESSES = 2 << 30  # bytes of address space a worker may take beyond what it has at the start
SLOW, HUNG = 1.0, 20.0  # seconds: of the processor; of the clock, after which a worker is ended
BLOCK = 2000  # mutants
OUT = Path("out/fuzz")
_FORK = get_context("fork")  # with all modules loaded


class Fuzzer:
    """One kind of files, one seed."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed, self.kind = name, seed, KINDS[name]
        self.files = self.kind.seeds()
        for file in self.files:
            self.kind.attempt(file)  # each is good, and what it imports takes its time
        self.used = _used()

    def mutant(self, number: int) -> bytes:
        """Return the mutant of a number."""
        rng = Random((self.seed << 48) + number)
        return self.kind.mutate(rng.choice(self.files), rng)

    def try_one(self, number: int, found: Counter[str]) -> None:
        """Make a mutant, read it and count what happened."""
        seconds, memory = self.used
        data = self.mutant(number)
        try:
            self.kind.attempt(data)
            found["read"] += 1
        except self.kind.refusals:
            found["refused"] += 1
        except Exception as error:
            path = self.keep(data, number)
            found[f"FAULT {type(error).__name__}: {error!s:.200} ({path})"] += 1
        self.used = _used()
        seconds, memory = self.used[0] - seconds, self.used[1] - memory
        if seconds > SLOW:
            found[f"SLOW {seconds:.1f} s ({self.keep(data, number)})"] += 1
        if not _sanitized() and memory > 2 * len(data) + SPARE:
            found[f"LARGE {memory >> 20} MB ({self.keep(data, number)})"] += 1

    def keep(self, data: bytes, number: int) -> Path:
        """Write a mutant that has to be looked at."""
        path = OUT / f"{self.name}-{self.seed}-{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


def _used() -> tuple[float, int]:
    """Return seconds of the processor, and the most memory, of this process until now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def _sanitized() -> bool:
    """Whether a sanitizer is loaded, which needs all addresses, and memory of its own."""
    return "asan" in os.environ.get("LD_PRELOAD", "") or "ASAN_OPTIONS" in os.environ


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _work(fuzzer: Fuzzer, first: int, last: int, at: Any, pipe: Any) -> None:
    """Try the mutants of a block; tells which it is at."""
    if not _sanitized():
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + ADDRESSES, most))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    found: Counter[str] = Counter()
    fuzzer.used = _used()  # of this process
    for number in range(first, last):
        at[:] = [number, time.monotonic()]
        fuzzer.try_one(number, found)
        if any(_is_fault(what) for what in found):  # told at once: the next one may end all
            pipe.send(found)
            found.clear()
    pipe.send(found)
    pipe.send(None)
    pipe.close()


def _is_fault(what: str) -> bool:
    return what[:2].isupper()


class Block:
    """Some mutants and the process that tries them, as often as one has to be started."""

    def __init__(self, fuzzer: Fuzzer, number: int, total: int) -> None:
        self.fuzzer, self.number = fuzzer, number
        self.begin, self.last = number * BLOCK, min((number + 1) * BLOCK, total)
        self.found: Counter[str] = Counter()
        self._start(self.begin)

    def _start(self, first: int) -> None:
        self.at = _FORK.Array(c_double, [first, time.monotonic()], lock=False)
        self.pipe, theirs = _FORK.Pipe(duplex=False)
        self.process = _FORK.Process(
            target=_work, args=(self.fuzzer, first, self.last, self.at, theirs), daemon=True
        )
        self.process.start()
        theirs.close()

    def is_over(self) -> bool:
        """Look after the process: whether all its mutants are done."""
        hung = time.monotonic() - self.at[1] > HUNG * (5 if _sanitized() else 1)
        if hung:
            self.process.kill()
            self.process.join()
        ended = not self.process.is_alive()  # before what it sent is looked for
        while self.pipe.poll():
            try:
                found = self.pipe.recv()
            except EOFError:
                break
            if found is None:
                self.process.join()
                return True
            self.found += found
        if not ended:
            return False
        number = int(self.at[0])
        path = self.fuzzer.keep(self.fuzzer.mutant(number), number)
        what = "HANG" if hung else f"CRASH {self.process.exitcode}"
        self.found[f"{what} ({path})"] += 1
        counted = sum(self.found.values()) - 1
        self.found["not counted, before a crash"] += number - self.begin - counted
        if number + 1 == self.last:
            return True
        self._start(number + 1)
        return False


def run(fuzzer: Fuzzer, total: int, jobs: int, *, resume: bool) -> Counter[str]:
    """Try all mutants; return how often each thing happened."""
    record = OUT / f"{fuzzer.name}-{fuzzer.seed}.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    done: dict[str, dict[str, int]] = {}
    if resume and record.exists():
        done = json.loads(record.read_text())
    waiting = [b for b in range(-(-total // BLOCK)) if str(b) not in done]
    running: list[Block] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Block(fuzzer, waiting.pop(0), total))
        for block in [block for block in running if block.is_over()]:
            running.remove(block)
            done[str(block.number)] = block.found
            record.write_text(json.dumps(done))
        time.sleep(0.01)
    return sum((Counter(found) for found in done.values()), Counter())


def sanitized(jobs: int, arguments: list[str]) -> int:
    """Do it on kernels built for the purpose, which end a worker where they find something."""
    from tests.proofs.builds import Build, levels_at_hand

    build = Build("address", levels_at_hand()[0])
    build.make(jobs)
    os.environ["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    return build.run(["-m", "tests.fuzz", *arguments]).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--number", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--resume", action="store_true", help="go on where a run was interrupted")
    parser.add_argument("--only", type=int, help="try this mutant here, and let its error through")
    parser.add_argument("--sanitize", action="store_true", help="on kernels built with ASan, UBSan")
    options = parser.parse_args()
    if options.sanitize:
        return sanitized(options.jobs, [word for word in sys.argv[1:] if word != "--sanitize"])
    fuzzer = Fuzzer(options.kind, options.seed)
    if options.only is not None:
        data = fuzzer.mutant(options.only)
        print(fuzzer.keep(data, options.only))
        fuzzer.kind.attempt(data)
        return 0
    began = time.monotonic()
    found = run(fuzzer, options.number, options.jobs, resume=options.resume)
    faults = sum(times for what, times in found.items() if _is_fault(what))
    print(f"{options.kind}, seed {options.seed}: {options.number:,} mutants, {faults:,} faults, "
          f"{time.monotonic() - began:.0f} s with {options.jobs} jobs")  # fmt: skip
    for what, times in found.most_common(40):
        print(f"{times:>12,} {what}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
