"""Standard streams that are closed, full or left by their reader: a sentence and a code."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
PREDICT, TEST = "predict {home}/model.proxqn", "{home}/test.txt"
TRAIN = "train chain {home}/train.txt --template {home}/t.txt --lam 1 -o {folder}/m"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (f"{PREDICT} {TEST} >&-", 74, "standard output: is closed"),
        ("inspect {home}/model.proxqn >&-", 74, "standard output: is closed"),
        (f"{PREDICT} - <&-", 65, "'standard input'"),
        (f"{PREDICT} {TEST} > /dev/full", 74, "No space left on device"),
        ("inspect {home}/model.proxqn > /dev/full", 74, "No space left on device"),
        (f"{PREDICT} {TEST} -q -o {{folder}}/out >&-", 0, ""),
        (f"{TRAIN} <&- >&- 2>&-", 0, ""),
        ("inspect nothing 2>&-", 66, ""),
        (f"{PREDICT} {TEST} -q | true", 0, ""),
        (f"evaluate {TEST} --model {{home}}/model.proxqn | true", 0, ""),
        ("inspect {home}/model.proxqn | true", 0, ""),
        (f"evaluate {TEST} --json | true", 0, ""),
        ("--help | true", 0, ""),
    ],
)
def test_what_is_said(home, tmp_path, line, code, said):
    line = line.format(home=home, folder=tmp_path)
    command = f"{sys.executable} -m proxqn {line}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == bool(said)
