"""Bad input: which message, which exit code. Nothing is written then."""

from __future__ import annotations

import os
import pickle
import shutil

import pytest

TEMPLATE = "U0:%x[0,0]\nB\n"
GOOD = "a X O\nb Y B\n\n" * 3


def train(cli, folder, data, template=TEMPLATE, *more):
    (folder / "d").write_bytes(data if isinstance(data, bytes) else data.encode())
    (folder / "t").write_text(template)
    options = [] if template is None or "--format" in more else ["--template", folder / "t"]
    return cli("train", "chain", folder / "d", *options, "-o", folder / "m", *more)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a X O\nb Y\n", "d, line 2: expected 3 columns as in line 1, got 2"),
        (b"a X O\n\xff Y B\n", "d, line 2: expected utf-8 text"),
        ("", "d: expected at least one sequence, got none"),
        ("\n\n", "d: expected at least one sequence, got none"),
        ("a X O\nb Y O\n", "one class only"),
        (b"\x1f\x8bbroken", "d, line 1: cannot read on"),
    ],
)  # fmt: skip
def test_columns(cli, tmp_path, data, message):
    done = train(cli, tmp_path, data)
    assert done.exit_code == 65, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("Q:%x[0,0]", "t, line 1: expected to start with U, B or *"),
        ("U0:%x[0]", "t, line 1: expected [offset,column]"),
        ("U0:%x[0,7]\nB", "t, line 1: 'U0:%x[0,7]' reads column 7"),
        ("U0:%x[0,2]\nB", "t, line 1"),
        ('U0:%t[0,0]', "t, line 1: expected a quoted pattern"),
        ("# nothing\n", "t: expected at least one template"),
    ],
)  # fmt: skip
def test_templates(cli, tmp_path, template, message):
    done = train(cli, tmp_path, GOOD, template)
    assert done.exit_code == 65, done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("crfsuite", "A\tx:1\nB\ty:z\n", "d, line 2: expected a finite number"),
        ("crfsuite", "A\tx:1\nB\ty:nan\n", "d, line 2: expected a finite number"),
        ("crfsuite", "\tx\n", "d, line 1: expected a label"),
        ("jsonl", "{}\n", "d, line 1: expected an array under 'tokens'"),
        ("jsonl", '{"tokens": ["a"]}\n', "d, line 1: expected labels"),
        ("jsonl", '{"tokens": ["a"], "labels": []}\n', "d, line 1: expected as many labels"),
        ("jsonl", '{"tokens": [{"a": NaN}], "labels": ["x"]}\n', "d, line 1: expected finite"),
        ("jsonl", "[" * 100_000, "d, line 1: expected a sequence, got JSON nested too deeply"),
        ("jsonl", '["a"\n', "d, line 1: expected JSON"),
        ("jsonl", '{"tokens": ["b"], "labels": ["x"]}\n{"tokens": [3], "labels": ["x"]}\n',
         "d, line 2: token 0: expected a token"),
    ],
)  # fmt: skip
def test_other_formats(cli, tmp_path, kind, data, message):
    done = train(cli, tmp_path, data, TEMPLATE, "--format", kind)
    assert done.exit_code == 65, done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--lam", "-1"], 2, "expected finite numbers above 0, got -1"),
        (["--lam", "nan"], 2, "expected finite numbers above 0, got nan"),
        (["--lam", "1,0"], 2, "expected finite numbers above 0, got 0"),
        (["--lam", "x"], 2, "--lam"),
        (["--tol", "-1"], 2, "--tol"),
        (["--l2", "-1"], 2, "--l2"),
        (["--max-weight", "0"], 2, "--max-weight"),
        (["--max-iter", "-1"], 2, "--max-iter"),
        (["--solver", "magic"], 2, "'prox-qn'"),
        (["--label-column", "9"], 65, "expected a label in column 9"),
        (["--quiet", "--json"], 2, "exclude each other"),
        (["--checkpoint-every", "5"], 2, "--checkpoint FILE"),
        (["--resume", "nothing.proxqn"], 66, "nothing.proxqn: no such file"),
        (["--nonsense"], 2, "No such option"),
        (["--encoding", "foo"], 2, "no encoding 'foo' is known"),
        (["--seed", "-1"], 2, "--seed"),
        (["--jobs", "0"], 65, "n_jobs must be an integer other than 0"),
    ],
)  # fmt: skip
def test_options(cli, tmp_path, more, code, message):
    done = train(cli, tmp_path, GOOD, TEMPLATE, *more)
    assert done.exit_code == code, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "m").exists()


def test_missing_files_and_folders(cli, home, tmp_path):
    assert (
        "no such file" in cli("evaluate", tmp_path / "no", "--model", home / "model.proxqn").stderr
    )
    assert cli("inspect", tmp_path / "no").exit_code == 66
    assert cli("inspect", tmp_path).exit_code == 66
    assert cli("train", "chain", tmp_path / "no", "--template", home / "t.txt", "-o",
               tmp_path / "m").exit_code == 66  # fmt: skip
    done = train(cli, tmp_path, GOOD, TEMPLATE, "-o", tmp_path / "no" / "m")
    assert done.exit_code == 73
    assert "create it first" in done.stderr
    assert cli("train", "chain", home / "train.txt", "-o", tmp_path / "m").exit_code == 2


def test_model_files_that_are_none(cli, home, tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps([1]))
    done = cli("predict", tmp_path / "p", home / "test.txt")
    assert done.exit_code == 65
    assert "p: not a proxqn model" in done.stderr
    whole = (home / "model.proxqn").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-9])
    done = cli("inspect", tmp_path / "cut")
    assert done.exit_code == 65
    assert "damaged: the checksum" in done.stderr


def test_predicting_what_does_not_fit(cli, home):
    done = cli("predict", home / "model.proxqn", "-", stdin=b"word\n")
    assert done.exit_code == 65
    assert "reads column 1" in done.stderr
    done = cli("predict", home / "model.proxqn", "-", "--format", "jsonl", stdin=b'["a"]\n')
    assert done.exit_code == 65
    assert "trained on columns" in done.stderr
    done = cli("inspect", home / "model.proxqn", "--label", "none")
    assert done.exit_code == 65
    assert "no label 'none'" in done.stderr
    for kind in ("conllu", "crfsuite", "jsonl"):
        done = cli("evaluate", home / "test.txt", "--format", kind)
        assert done.exit_code == 2
        assert f"--model is needed: a file of {kind} has no column of predictions" in done.stderr
    done = cli("evaluate", "-", stdin=b"one\n")
    assert done.exit_code == 65


@pytest.mark.parametrize(
    "line",
    [
        "predict /dev/zero data", "predict model.proxqn /dev/zero", "inspect /dev/zero",
        "train chain data --template /dev/zero -o m", "train tree /dev/zero -o m",
        "train chain data --template t.txt --resume /dev/zero -o m", "evaluate /dev/zero",
        "train tree data --hierarchy /dev/zero -o m", "train chain /dev/zero --format jsonl -o m",
        "crf_test -m /dev/zero data", "crf_learn t.txt /dev/zero m", "wapiti dump /dev/zero m",
        "wapiti label -m /dev/zero data", "wapiti train -p /dev/zero data m",
        "crfsuite tag -m /dev/zero data", "crfsuite learn -m m /dev/zero",
    ],
)  # fmt: skip
def test_a_device_without_end_is_refused(cli, home, tmp_path, monkeypatch, line):
    shutil.copytree(home, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    os.rename("train.txt", "data")
    done = cli(*line.split())
    assert done.exit_code not in (0, 1), done.stdout
    assert "/dev/zero" in done.stderr
    assert not (tmp_path / "here" / "m").exists()
