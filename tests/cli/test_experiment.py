from __future__ import annotations

import numpy as np
import pytest

HIERARCHY = "1 2\n1 3\n4 5\n4 6\n"
LEAVES = (2, 3, 5, 6)


def documents(n: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    lines = []
    for i, leaf in enumerate(rng.choice(LEAVES, n)):
        words = sorted({int(leaf), 10 + int(rng.integers(5)), 20 + int(rng.integers(9))})
        lines.append(f"{leaf} 0:{i} " + " ".join(f"{word}:1" for word in words))
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cat_hier.txt").write_text(HIERARCHY)
    task = tmp_path / "Task1_Train_Test"
    task.mkdir()
    (task / "validation.txt").write_text(documents(80, 0))
    (task / "test.txt").write_text(documents(40, 1))
    return tmp_path


def test_lshtc_without_the_papers_file_says_so(folder, cli):
    result = cli("experiment", "lshtc", "--data", str(folder), "--lam", "1", "--lam", "0.7")
    assert result.exit_code == 0, result.output
    assert "not the paper's training file" in result.output
    header, _, one, other = result.output.splitlines()[-4:]
    assert "hier. F1" in header
    assert one.split()[0] == "1"
    assert "4,301" in one  # beside the paper's number
    assert "4,301" not in other
    assert float(one.split()[5]) > 0.9  # each leaf has a word of its own


def test_lshtc_uses_train_txt_where_there_is_one(folder, cli):
    (folder / "Task1_Train_Test" / "train.txt").write_text(documents(60, 2))
    result = cli("experiment", "lshtc", "--data", str(folder), "--lam", "2")
    assert result.exit_code == 0, result.output
    assert "not the paper's" not in result.output
