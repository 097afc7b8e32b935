"""What `make out-of-memory` proves at every place, at a few."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from tests.proofs.builds import ROOT

compiler = pytest.mark.skipif(
    shutil.which("g++") is None or sys.platform != "linux", reason="needs g++ and Linux"
)


@compiler
def test_memory_and_threads_may_be_refused():
    command = [sys.executable, "-m", "tests.proofs.out_of_memory", "predict", "fit tree", "threads"]
    done = subprocess.run(
        [*command, "--jobs", "1", "--every", "230"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("MemoryError") == 2
    assert "threads: the same bits" in done.stdout
