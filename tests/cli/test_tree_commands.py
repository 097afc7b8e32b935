"""Label trees on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from proxqn.cli.failures import report
from proxqn.io.model_file import load

DATA = "cat 1:1 3:1\ndog 1:1 4:1\noak 2:1 3:1\nfig 2:1 4:1\n" * 6
PATHS = "all animal cat\nall animal dog\nall plant oak\nall plant fig\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    (folder / "d.svm").write_text(DATA)
    (folder / "h.txt").write_text(PATHS)
    return folder


@pytest.fixture
def model(folder, cli):
    done = cli("train", "tree", folder / "d.svm", "--hierarchy", folder / "h.txt", "--lam", "0.3",
               "-o", folder / "m", "--dev", folder / "d.svm")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "hierarchical F1 1.0000" in done.stderr
    assert "working set hier. F1 elapsed" in done.stderr
    return folder / "m"


def test_train_and_evaluate(model, folder, cli):
    scores = json.loads(cli("evaluate", folder / "d.svm", "--model", model, "--json").stdout)
    assert scores["accuracy"] == 1.0
    assert scores["micro"]["f1"] == 1.0
    assert "leaf accuracy" in cli("evaluate", folder / "d.svm", "--model", model).stdout
    assert load(model).hierarchy_.names[0] == "all"


def test_predict_with_and_without_labels_and_unseen_features(model, cli):
    done = cli("predict", model, "-", stdin=b"2:1 4:1 99:5\ncat 1:1 3:1\n")
    assert done.stdout.split() == ["fig", "cat"]
    assert "1 occurrences of features without a weight" in done.stderr
    done = cli("predict", model, "-", "--n-best", "2", stdin=b"2:1 4:1\n")
    leaf, p, _, q = done.stdout.split()
    assert leaf == "fig"
    assert float(p) > float(q) > 0
    done = cli("predict", model, "-", "--marginals", "all", stdin=b"2:1 4:1\n")
    assert sum(float(c.split("/")[1]) for c in done.stdout.split()) == pytest.approx(1, abs=1e-5)


def test_inspect(model, cli):
    found = json.loads(cli("inspect", model, "--json").stdout)
    assert found["kind"] == "tree"
    assert found["sizes"]["nodes"] == 7
    assert cli("export", model, "--to", "crfsuite").exit_code == 65


def test_flat_labels_and_resume(folder, cli, tmp_path):
    args = ("train", "tree", folder / "d.svm", "--lam", "0.3", "-q", "-o")
    assert cli(*args, tmp_path / "m").exit_code == 0
    before = load(tmp_path / "m")
    assert cli(*args, tmp_path / "again", "--resume", tmp_path / "m").exit_code == 0
    assert load(tmp_path / "m").objective_ == pytest.approx(before.objective_, rel=1e-4)


@pytest.mark.parametrize(
    ("data", "paths", "message"),
    [
        ("cat 1:1\ncat,dog 2:1\n", PATHS, "d, line 2: several labels"),
        ("cat 1:1\ndog x:1\n", PATHS, "d, line 2: expected feature:value with numbers"),
        ("cat 1:1\ndog 2:nan\n", PATHS, "d, line 2: expected a finite number"),
        ("cat 1:1\ndog -3:1\n", PATHS, "d, line 2: expected a feature from 0"),
        ("cat 1:1\n2:1\n", PATHS, "sample 2: expected a label"),
        ("cat 1:1\ncow 2:1\n", PATHS, "label 'cow'"),
        ("", PATHS, "d: expected at least one sample"),
        ("cat 1:1\ndog 2:1\n", "", "h: expected paths of names"),
        ("cat 1:1\ndog 2:1\n", "a cat\nb cat\n", "h: "),
        ("cat 1:1\ncat 2:1\n", "cat\n", "h: expected two leaves or more"),
    ],
)  # fmt: skip
def test_bad_input(tmp_path, cli, data, paths, message):
    (tmp_path / "d").write_text(data)
    (tmp_path / "h").write_text(paths)
    done = cli("train", "tree", tmp_path / "d", "--hierarchy", tmp_path / "h", "-o", tmp_path / "m")
    assert done.exit_code == 65, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "m").exists()


def test_a_feature_far_out_takes_no_memory_for_those_before_it(tmp_path):
    """In 4 GB of addresses, where an array of eight bytes a column would take 16."""
    (tmp_path / "d").write_text("cat 2147483646:1 1:1\ndog 1:1\ncat 2147483646:1\ndog 2:1\n")
    command = f"{sys.executable} -m proxqn train tree d --lam 0.1 -q -o m && {sys.executable} -m"
    resumed = f"{sys.executable} -m proxqn train tree d --lam 0.1 -q -o n --resume m"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 4000000; {command} proxqn predict m d && {resumed}"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("cat\ndog\ncat\ndog\n", "")


def test_too_little_memory_is_a_sentence(monkeypatch):
    said = []
    monkeypatch.setattr("click.echo", lambda text, **_: said.append(text))
    assert report(MemoryError("Unable to allocate 16.0 GiB")) == 71
    assert said == ["proxqn: not enough memory (Unable to allocate 16.0 GiB); nothing was written."]
