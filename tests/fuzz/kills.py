"""Kills trainings at random moments, and looks at what is left; ``make kill``.

``python -m tests.fuzz.kills --number 1000 --jobs 16``. A training that keeps checkpoints is killed
(SIGKILL), three times in a row at most, half of them while a checkpoint is being written; each time
it is resumed from what is there. In the end its model has to be the uninterrupted run's, bit for
bit. Then SIGINT and SIGTERM: how long it takes until the process has ended, and whether what it
leaves can be used. Trainings are forks of this process, which has most modules loaded: leave the
checkout as it is meanwhile, since another solver takes other steps.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from tests.fuzz.corpus import TEMPLATE, write_samples, write_sentences

from proxqn.cli.app import proxqn
from proxqn.cli.failures import Exit
from proxqn.io import checkpoint, container, model_file

TOGETHER = 3  # kills of one training, at most
PATIENCE = 120.0  # seconds until a training counts as hung
PROBLEMS = {  # what each is trained on, and how
    "chain": ["train", "chain", "sentences", "--template", "template", "--lam", "0.05",
              "--tol", "1e-13", "--max-iter", "40"],
    "tree": ["train", "tree", "samples", "--hierarchy", "tree", "--lam", "0.3", "--tol", "1e-13",
             "--max-iter", "60"],
}  # fmt: skip
EVERY = {"chain": "3", "tree": "4"}


def start(arguments: list[str], folder: Path, output: Path | None = None) -> int:
    """Begin a training in a fork, in a folder; return its process."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number, path in ((1, output or os.devnull), (2, folder / "errors")):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
        proxqn(arguments, standalone_mode=False)
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:
        code = Exit.INTERRUPTED if type(error).__name__ in ("KeyboardInterrupt", "Abort") else 1
        print(repr(error), file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(child: int) -> int:
    """Return the exit code; a training that hangs is ended, and told by a code of its own."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 999


def is_running(child: int) -> bool:
    """Whether a training has not ended, without taking its exit code."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


# --- SIGKILL -------------------------------------------------------------------------------------


def kill_and_resume(kind: str, whole: Path, seconds: float, rng: Random) -> Counter[str]:
    """Kill a training some times, resume it each time, and compare its model in the end."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="proxqn-kill-") as name:
        folder = Path(name)
        for file in ("sentences", "template", "samples", "tree"):
            os.symlink(whole / file, folder / file)
        arguments = [*PROBLEMS[kind], "-q", "-o", "model", "--checkpoint", "state"]
        arguments += ["--checkpoint-every", EVERY[kind]]
        for k in range(TOGETHER + 1):
            resumed = ["--resume", "state"] if (folder / "state").exists() else []
            child = start([*arguments, *resumed], folder)
            if k < TOGETHER:
                _until_a_moment(child, folder, seconds, rng)
                os.kill(child, signal.SIGKILL)
            code = wait(child)
            if code == 0:
                break
            if code != -signal.SIGKILL:
                found[f"FAULT {kind}: exit code {code}: {_errors(folder)}"] += 1
                return found
            found[f"{kind}: killed"] += 1
            found[f"{kind}: {_state(folder)}"] += 1
        same = (folder / "model").read_bytes() == (whole / f"{kind}.model").read_bytes()
        found[f"{kind}: resumed, the same bits" if same else f"FAULT {kind}: other bits"] += 1
    return found


def _until_a_moment(child: int, folder: Path, seconds: float, rng: Random) -> None:
    """Wait some time, or until a checkpoint is being written."""
    moment = time.monotonic() + rng.uniform(0.0, seconds)
    if rng.random() < 0.5:
        time.sleep(max(0.0, moment - time.monotonic()))
        return
    while is_running(child):
        writing = any(entry.name.endswith(".part") for entry in os.scandir(folder))
        if writing and time.monotonic() > moment:
            time.sleep(rng.choice((0.0, rng.uniform(0.0, 0.003))))
            return


def _state(folder: Path) -> str:
    """Say what is there; what cannot be read raises."""
    half = any(file.name.endswith(".part") for file in folder.iterdir())
    if not (folder / "state").exists():
        return "before the first checkpoint" + ", in its write" * half
    checkpoint.read_checkpoint(container.read(folder / "state"), "state")
    return "in a checkpoint's write" if half else "between checkpoints"


def _errors(folder: Path) -> str:
    return (folder / "errors").read_text()[-300:]


# --- SIGINT and SIGTERM --------------------------------------------------------------------------


def interrupt(kind: str, whole: Path, seconds: float, rng: Random) -> dict[str, Any]:
    """Send a signal at a random moment; return what came of it, and after how long."""
    with tempfile.TemporaryDirectory(prefix="proxqn-stop-") as name:
        folder = Path(name)
        for file in ("sentences", "template", "samples", "tree"):
            os.symlink(whole / file, folder / file)
        number = rng.choice((signal.SIGINT, signal.SIGTERM))
        child = start([*PROBLEMS[kind], "--json", "-o", "model"], folder, folder / "events")
        while rng.random() < 0.99 and is_running(child) and not _iterations(folder):
            time.sleep(0.005)  # nearly always for the first iteration
        time.sleep(rng.uniform(0.0, 0.7 * seconds))
        os.kill(child, number)
        sent = time.monotonic()
        before = len(_iterations(folder))
        code = wait(child)
        latency = time.monotonic() - sent
        times = _iterations(folder)
        longest = max((b - a for a, b in pairwise(times)), default=0.0)
        what = _left(folder, kind, code)
        if "usable" in what and len(times) > before + 1:
            what = f"FAULT {kind}: {len(times) - before} iterations after the signal"
        return {"what": what, "latency": latency, "iteration": longest}


def _iterations(folder: Path) -> list[float]:
    """Return when each iteration had ended, as far as they are told of."""
    text = (folder / "events").read_text() if (folder / "events").exists() else ""
    events = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [event["seconds"] for event in events if event["event"] == "iteration"]


def _left(folder: Path, kind: str, code: int) -> str:
    """Say what a signal left behind."""
    if code == 0:
        return f"{kind}: had ended"
    if code not in (Exit.INTERRUPTED, -signal.SIGTERM, -signal.SIGINT):
        return f"FAULT {kind}: exit code {code}: {_errors(folder)}"
    if not (folder / "model").exists():
        return f"{kind}: before the first iteration, nothing written"
    model = model_file.read(folder / "model").model
    row = [[["the1", "D"]]] if kind == "chain" else [[0.0] * model.n_features_in_]
    assert len(model.predict(row)) == 1
    return f"{kind}: a usable model"


# --- all of it -----------------------------------------------------------------------------------


def _prepare(folder: Path, sentences: int) -> dict[str, float]:
    """Write the data, and the models of uninterrupted runs; return how long these took."""
    write_sentences(folder / "sentences", sentences)
    (folder / "template").write_text(TEMPLATE)
    write_samples(folder / "samples", folder / "tree", 5 * sentences)
    seconds = {}
    for kind, arguments in PROBLEMS.items():
        legs = ["--checkpoint", f"{kind}.state", "--checkpoint-every", EVERY[kind]]
        for _ in range(2):  # the first one loads what later ones have
            began = time.monotonic()
            code = wait(start([*arguments, "-q", "-o", f"{kind}.model", *legs], folder))
            seconds[kind] = time.monotonic() - began
            if code:
                raise RuntimeError(f"the uninterrupted {kind} failed: {_errors(folder)}")
    return seconds


def _task(task: tuple[Callable[..., Any], str, Path, float, int]) -> Any:
    work, kind, whole, seconds, number = task
    return work(kind, whole, seconds, Random(number))


def _load() -> None:
    """Import what trainings import, once for all forks."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=1000, help="kills")
    parser.add_argument("--signals", type=int, default=200, help="SIGINT and SIGTERM")
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    _load()
    whole = Path(tempfile.mkdtemp(prefix="proxqn-whole-"))
    seconds = _prepare(whole, options.sentences)
    print("uninterrupted:", ", ".join(f"{k} {s:.2f} s" for k, s in seconds.items()), flush=True)
    kinds, counts, stops = list(PROBLEMS), Counter[str](), []
    try:
        with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=50) as pool:
            number = options.seed << 32
            while (killed := sum(counts[f"{kind}: killed"] for kind in kinds)) < options.number:
                more = -(-(options.number - killed) // TOGETHER)
                tasks = [(kill_and_resume, kinds[i % 2], whole, seconds[kinds[i % 2]], number + i)
                         for i in range(more)]  # fmt: skip
                number += more
                for found in pool.imap_unordered(_task, tasks):
                    counts += found
                if any("FAULT" in what for what in counts):
                    break
            tasks = [(interrupt, kinds[i % 2], whole, seconds[kinds[i % 2]], number + i)
                     for i in range(options.signals)]  # fmt: skip
            stops = list(pool.imap_unordered(_task, tasks))
    finally:
        shutil.rmtree(whole)
    print(f"{sum(counts[f'{kind}: killed'] for kind in kinds):,} kills, seed {options.seed}")
    counts += Counter(stop["what"] for stop in stops)
    for what, times in sorted(counts.items()):
        print(f"{times:>8,} {what}")
    _print_latencies([stop for stop in stops if "usable" in stop["what"]])
    return 1 if any("FAULT" in what for what in counts) else 0


def _print_latencies(stops: list[dict[str, Any]]) -> None:
    if not stops:
        return
    latencies = sorted(1000 * stop["latency"] for stop in stops)
    longest = max(1000 * stop["iteration"] for stop in stops)
    print(f"{len(stops)} signals, none with more than the iteration under way after it. From the "
          f"signal to the end of the process, model written: median {median(latencies):.0f} ms, "
          f"worst {latencies[-1]:.0f} ms; the longest iteration {longest:.0f} ms")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
