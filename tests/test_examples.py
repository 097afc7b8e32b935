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


def test_choosing_lambda(tmp_path):
    picture = tmp_path / "path.svg"
    command = [sys.executable, "examples/choose_lambda.py", "--words", "200", "--eps", "0.2"]
    done = subprocess.run(
        [*command, "--out", str(picture)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "at every λ in between proved within" in done.stdout
    assert "within one standard error up to" in done.stdout
    assert picture.exists()
