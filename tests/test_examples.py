"""The examples run as a user would run them, on less work."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_ocr_demo(tmp_path):
    command = [sys.executable, "examples/ocr.py", "--degree", "1", "--lam", "1000"]
    done = subprocess.run(
        [*command, "--tol", "1e-2", "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "test accuracy" in done.stdout
    assert "sweep (gradient, all weights)" in done.stdout
    assert "converged: the duality gap" in done.stderr
    assert (tmp_path / "ocr-lambda-1000.png").exists()
