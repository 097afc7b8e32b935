"""The programs themselves, run and timed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import final

VARIABLE = "PROXQN_PEERS"


class MissingProgramsError(FileNotFoundError):
    """The programs are not there; the message says how to get them."""


def programs() -> Path:
    """Return the folder with wapiti, crf_learn and crf_test, named by PROXQN_PEERS.

    Raises
    ------
    MissingProgramsError
        If one of them is not there.
    """
    folder = Path(os.environ.get(VARIABLE, ""))
    missing = [n for n in ("wapiti", "crf_learn", "crf_test") if not (folder / n).is_file()]
    if VARIABLE not in os.environ or missing:
        raise MissingProgramsError(
            f"{', '.join(missing) or 'the programs'}: not there. Build Wapiti and CRF++ and set "
            f"{VARIABLE} to the folder of wapiti, crf_learn and crf_test; make stand-ins-peers "
            "does so from ../shared/peers."
        )
    return folder


@final
@dataclass(frozen=True)
class Run:
    """How a command ended."""

    seconds: float  # of CPU
    elapsed: float  # by the clock
    output: bytes
    errors: bytes


def run(*command: str | Path) -> Run:
    """Run a command to its end; refuse one that fails."""
    before = os.times()
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    after = os.times()
    if done.returncode:
        told = done.stderr.decode(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {told}")
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return Run(spent, after.elapsed - before.elapsed, done.stdout, done.stderr)


def ours(*arguments: str | Path) -> Run:
    """Run proxqn's command."""
    return run(sys.executable, "-m", "proxqn", *arguments)
