"""Quick experiments, run once; a small LSHTC folder; runs made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from replication.commands import replication

HIERARCHY = "1 2\n1 3\n4 5\n4 6\n"
LEAVES = (2, 3, 5, 6)


def documents(n: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    lines = []
    for i, leaf in enumerate(rng.choice(LEAVES, n)):
        words = sorted({int(leaf), 10 + int(rng.integers(5)), 20 + int(rng.integers(9))})
        lines.append(f"{leaf} 0:{i} " + " ".join(f"{word}:1" for word in words))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def challenge(tmp_path_factory) -> Path:
    """A folder laid out like the challenge's, without Task 1's train.txt."""
    folder = tmp_path_factory.mktemp("challenge")
    (folder / "cat_hier.txt").write_text(HIERARCHY)
    task = folder / "Task1_Train_Test"
    task.mkdir()
    (task / "validation.txt").write_text(documents(80, 0))
    (task / "test.txt").write_text(documents(40, 1))
    return folder


def experiment(*arguments: object) -> Result:
    result = CliRunner().invoke(replication, [*map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="session")
def quick_ocr(tmp_path_factory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("ocr") / "made for it"
    return folder, experiment("ocr", "--quick", "--out", folder)


@pytest.fixture(scope="session")
def quick_lshtc(tmp_path_factory, challenge) -> tuple[Path, Result]:
    """Both the data at hand and generated documents, two processes side by side."""
    folder = tmp_path_factory.mktemp("lshtc")
    options = ("--quick", "--lam", 1, "--jobs", 2, "--seconds", 0.2)
    return folder, experiment(
        "lshtc", "--data", challenge, "--generated", *options, "--out", folder
    )


@pytest.fixture(scope="session")
def quick_theory(tmp_path_factory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("theory")
    return folder, experiment("theory", "--quick", "--out", folder)
