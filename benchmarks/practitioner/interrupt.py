"""Signals at random moments: a valid model or the previous file, and resuming to the same bits."""

from __future__ import annotations

import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.data import REPOSITORY, data_file
from benchmarks.practitioner.processes import ENVIRONMENT, PROXQN, run
from benchmarks.problems import TEMPLATES
from benchmarks.tables import markdown

import proxqn
from proxqn.io.readers import read_columns

SENTENCES, RESUMED_EVERY = 200, 5
OPTIONS = ("--lam", "1", "--tol", "1e-9", "--max-iter", "250", "--checkpoint-every", "50", "-q")


def measure(moments: int = 50, seed: int = 0) -> dict[str, Any]:
    """Kill as many training runs, look at what is left, and resume some of them."""
    with tempfile.TemporaryDirectory(prefix="proxqn-interrupt-") as name:
        folder = Path(name)
        _write_corpus(folder / "train.txt")
        whole = run(_command(folder, "whole", "whole.ck"))
        expected, previous = (folder / "whole").read_bytes(), _previous(folder)
        rng, counts = random.Random(seed), Counter[str]()
        for k in range(moments):
            (folder / "model").write_bytes(previous)
            (folder / "ck").unlink(missing_ok=True)
            number = signal.SIGKILL if k % 2 else signal.SIGINT
            moment = rng.uniform(0.0, 1.1 * whole.wall_seconds)
            code = _interrupted(_command(folder, "model", "ck"), number, moment)
            counts[f"{number.name}, exit code {code}"] += 1
            counts[_state(folder / "model", previous, expected)] += 1
            if (folder / "ck").exists() and k % RESUMED_EVERY == 1:
                run([*_command(folder, "model", "ck"), "--resume", folder / "ck"])
                same = (folder / "model").read_bytes() == expected
                counts["resumed, the same bits" if same else "RESUMED, OTHER BITS"] += 1
    return {
        "moments": moments,
        "seconds_of_a_whole_run": whole.wall_seconds,
        "counts": dict(sorted(counts.items())),
    }


def _write_corpus(path: Path) -> None:
    records = islice(read_columns(data_file("conll2000", "train.txt")), SENTENCES)
    blocks = ["".join(" ".join(row) + "\n" for row in record.tokens) for record in records]
    path.write_text("\n".join(blocks), encoding="utf-8")


def _command(folder: Path, model: str, checkpoint: str) -> list[Any]:
    files = [folder / "train.txt", "--template", TEMPLATES, "-o", folder / model]
    return [*PROXQN, "train", "chain", *files, "--checkpoint", folder / checkpoint, *OPTIONS]


def _previous(folder: Path) -> bytes:
    """Return a model of before: of three iterations."""
    run([*_command(folder, "old", "old.ck"), "--max-iter", 3])
    return (folder / "old").read_bytes()


def _interrupted(command: list[Any], number: signal.Signals, moment: float) -> int:
    arguments = [str(a) for a in command]
    process = subprocess.Popen(
        arguments, cwd=REPOSITORY, env=ENVIRONMENT, stderr=subprocess.DEVNULL,
        preexec_fn=_hear_sigint,
    )  # fmt: skip
    time.sleep(moment)
    process.send_signal(number)  # does nothing where the run has ended
    return process.wait(timeout=120)


def _hear_sigint() -> None:
    """Undo what a shell does to its background processes, which are born deaf to SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _state(path: Path, previous: bytes, expected: bytes) -> str:
    """Say what is in the file; a broken one raises."""
    content = path.read_bytes()
    if content == previous:
        return "the previous file"
    model = proxqn.load(path)  # refuses a file with a wrong bit
    model.predict([[["word", "NN"]]])
    return "the whole run's model" if content == expected else "a model of fewer iterations"


def table(found: dict[str, Any]) -> str:
    """Return how often each thing happened."""
    rows = [[what, str(n)] for what, n in found["counts"].items()]
    return markdown([f"{found['moments']} random moments", "times"], rows)
