"""Sequences on the command line: train, predict, evaluate, inspect, export."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp

from proxqn.features.encoding import SequenceEncoder
from proxqn.features.vocabulary import Vocabulary
from proxqn.io.imported_chain import imported_chain
from proxqn.io.model_file import load_with_encoder, save


def test_predict_appends_a_column(home, cli):
    out = cli("predict", home / "model.proxqn", home / "test.txt").stdout
    given = (home / "test.txt").read_text(encoding="utf-8").splitlines()
    got = out.splitlines()
    assert [line.rsplit(" ", 1)[0] for line in got if line] == [line for line in given if line]
    assert {line.rsplit(" ", 1)[1] for line in got if line} <= {"B-NP", "I-NP", "B-VP", "O"}


def test_predict_reads_files_without_labels_and_standard_input(home, cli):
    rows = (home / "test.txt").read_text(encoding="utf-8").splitlines()
    bare = "\n".join(" ".join(row.split()[:2]) for row in rows).encode()
    with_labels = cli("predict", home / "model.proxqn", home / "test.txt").stdout
    without = cli("predict", home / "model.proxqn", "-", stdin=bare).stdout
    last = [line.split()[-1:] for line in without.splitlines()]
    assert last == [line.split()[-1:] for line in with_labels.splitlines()]


def test_predict_to_a_file(home, cli, tmp_path):
    to_screen = cli("predict", home / "model.proxqn", home / "test.txt").stdout
    cli("predict", home / "model.proxqn", home / "test.txt", "-o", tmp_path / "p.txt")
    assert (tmp_path / "p.txt").read_text(encoding="utf-8") == to_screen


def test_marginals_and_n_best(home, cli):
    best = cli("predict", home / "model.proxqn", home / "test.txt", "--marginals", "best").stdout
    p = [float(line.split()[-1]) for line in best.splitlines() if line]
    assert all(0 < x <= 1 for x in p)
    full = cli("predict", home / "model.proxqn", home / "test.txt", "--marginals", "all").stdout
    first = full.splitlines()[0].split()[4:]
    assert sum(float(cell.split("/")[1]) for cell in first) == pytest.approx(1.0, abs=1e-5)
    n_best = cli("predict", home / "model.proxqn", home / "test.txt", "--n-best", "2").stdout
    heads = [line.split() for line in n_best.splitlines() if line.startswith("# ")]
    assert [head[1] for head in heads] == ["0", "1"] * 10
    assert all(float(a[2]) >= float(b[2]) for a, b in zip(heads[::2], heads[1::2], strict=True))


def test_evaluate_agrees_with_seqeval_and_with_itself(home, cli, tmp_path):
    seqeval = pytest.importorskip("seqeval.metrics")
    scores = json.loads(
        cli("evaluate", home / "test.txt", "--model", home / "model.proxqn", "--json").stdout
    )
    cli("predict", home / "model.proxqn", home / "test.txt", "-o", tmp_path / "p.txt")
    blocks = (tmp_path / "p.txt").read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    true, guess = ([[row[k] for row in block] for block in rows] for k in (-2, -1))
    assert scores["overall"]["f1"] == pytest.approx(seqeval.f1_score(true, guess))
    from_columns = json.loads(cli("evaluate", tmp_path / "p.txt", "--json").stdout)
    assert from_columns["overall"] == scores["overall"]
    table = cli("evaluate", home / "test.txt", "--model", home / "model.proxqn").stdout
    assert "token accuracy" in table


def test_train_json_lines(home, cli, tmp_path):
    done = cli("train", "chain", home / "train.txt", "--template", home / "t.txt", "--lam", "0.2",
               "-o", tmp_path / "m", "--dev", home / "test.txt", "--json")  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["event"] for event in events} == {"iteration", "done"}
    last = events[-1]
    assert last["converged"]
    assert last["estimate"] <= 1e-4 * last["objective"]
    assert last["dev"]["token_accuracy"] > 0.9
    begins = {event["epoch"]: event["iteration"] for event in reversed(events[:-1])}
    scored = {event["iteration"] for event in events[:-1] if event["dev"] is not None}
    assert scored == set(begins.values())  # once an epoch, where it begins
    final = [event["dev"] for event in events[:-1] if event["dev"] is not None][-1]
    assert final == pytest.approx(last["dev"]["overall"]["f1"])
    assert (tmp_path / "m").read_bytes() == (home / "model.proxqn").read_bytes()


def test_train_says_what_it_does(home, cli, tmp_path):
    done = cli("train", "chain", home / "train.txt", "--template", home / "t.txt", "--lam", "0.2",
               "-o", tmp_path / "m", "--dev", home / "test.txt")  # fmt: skip
    assert done.stdout == ""
    assert "40 sequences" in done.stderr
    assert "dev F1 elapsed\n" in done.stderr
    assert "converged: the estimated error" in done.stderr
    assert "token accuracy" in done.stderr


def test_quiet_is_silent(home, cli, tmp_path):
    done = cli("train", "chain", home / "train.txt", "--template", home / "t.txt", "--lam", "0.2",
               "-o", tmp_path / "m", "--dev", home / "test.txt", "--quiet")  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")


def test_a_dev_file_that_cannot_be_read_is_refused_before_the_fit(home, cli, tmp_path):
    (tmp_path / "dev").write_text("one two\n")
    done = cli("train", "chain", home / "train.txt", "--template", home / "t.txt", "-o",
               tmp_path / "m", "--dev", tmp_path / "dev")  # fmt: skip
    assert done.exit_code == 65
    assert "reads column 1, which holds the label" in done.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
def test_a_terminal_gets_the_live_table(home, tmp_path):
    """The command on a pseudo-terminal of 80 x 24."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        files = [str(home / "train.txt"), "--template", str(home / "t.txt"), "-o"]
        command = [sys.executable, "-m", "proxqn", "train", "chain", *files, str(tmp_path / "m")]
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
        os.execve(command[0], [*command, "--dev", str(home / "test.txt")], environment)
    written = b""
    with suppress(OSError):  # how a pseudo-terminal says that its other end is gone
        while piece := os.read(terminal, 4096):
            written += piece
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode()).replace("\r", "")
    table = plain[plain.rindex("iteration") :].split("converged")[0].rstrip().splitlines()
    assert "\x1b[" in written.decode()
    assert len(table) > 2
    assert len({len(line) for line in table}) == 1


def test_not_converged_is_said(home, cli, tmp_path):
    done = cli("train", "chain", home / "train.txt", "--template", home / "t.txt", "--lam", "0.02",
               "--max-iter", "2", "-o", tmp_path / "m")  # fmt: skip
    assert done.exit_code == 0
    assert "stopped: max_iter iterations" in done.stderr


@pytest.mark.parametrize("kind", ["crfsuite", "jsonl", "conllu"])
def test_other_formats(cli, tmp_path, kind):
    text, more = {
        "crfsuite": ("N\tw=dog\nV\tw=barks\n\nN\tw=cat\tx:0.5\nV\tw=runs\n\n" * 5, []),
        "jsonl": ('{"tokens": [{"w": "dog"}, ["a", "b"]], "labels": ["N", "V"]}\n' * 9, []),
        "conllu": (
            ("1\tDogs\tdog\tNOUN" + "\t_" * 6 + "\n2\tbark\tbark\tVERB" + "\t_" * 6 + "\n\n") * 9,
            ["--template", tmp_path / "t.txt"],
        ),
    }[kind]
    (tmp_path / "t.txt").write_text("U0:%x[0,1]\nB")
    (tmp_path / "d").write_text(text)
    done = cli("train", "chain", tmp_path / "d", "--format", kind, *more, "--lam", "0.1", "-o",
               tmp_path / "m", "-q")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    scores = json.loads(cli("evaluate", tmp_path / "d", "--model", tmp_path / "m", "--json").stdout)
    assert scores["token_accuracy"] == 1.0
    predicted = cli("predict", tmp_path / "m", tmp_path / "d").stdout.splitlines()
    if kind == "jsonl":
        assert json.loads(predicted[0])["predicted"] == ["N", "V"]
    else:
        assert predicted[0].split("\t")[-1] in ("N", "NOUN")


def test_constrained_labels(home, cli):
    out = cli("predict", home / "model.proxqn", home / "test.txt", "--scheme", "BIO").stdout
    labels = [line.split()[-1] if line else "O" for line in out.splitlines()]
    for before, label in zip(["O", *labels], labels, strict=False):
        assert label != "I-NP" or before in ("B-NP", "I-NP")


def test_transitions_of_many_labels_are_not_drawn(tmp_path, cli):
    n = 1000  # a million cells
    names, none = Vocabulary.from_names(["a"]), Vocabulary.from_names([])
    encoder = SequenceEncoder(vocabulary=names, edge_vocabulary=none)
    labels = [f"{'x' * 500}{i:04d}" for i in range(n)]
    weights = sp.csr_array((n, 1)), np.eye(n)
    save(imported_chain("made here", labels, encoder, *weights), tmp_path / "m")
    shown = cli("inspect", tmp_path / "m", "--html", tmp_path / "page")
    assert shown.exit_code == 0
    assert "too many labels to draw" in (tmp_path / "page").read_text()
    assert (tmp_path / "page").stat().st_size < 10_000
    assert "too many labels to draw" in cli("inspect", tmp_path / "m").stdout
    found = json.loads(cli("inspect", tmp_path / "m", "--json").stdout)
    assert np.array_equal(found["transitions"], np.eye(n))


def test_inspect_text_and_json(home, cli):
    text = cli("inspect", home / "model.proxqn", "--top", "2").stdout
    assert "above the optimum" in text
    assert "transitions" in text
    found = json.loads(cli("inspect", home / "model.proxqn", "--json", "--top", "3").stdout)
    saved = load_with_encoder(home / "model.proxqn")
    assert np.allclose(found["transitions"], saved.model.transitions_)
    weights = found["weights"][0]
    i = saved.model.classes_.tolist().index(weights["label"])
    name, value = weights["positive"][0]
    assert saved.model.coef_[[i], [saved.encoder.vocabulary[name]]] == value
    only = json.loads(cli("inspect", home / "model.proxqn", "--json", "--label", "O").stdout)
    assert [label["label"] for label in only["weights"]] == ["O"]


def test_page_escapes_names(cli, tmp_path):
    evil = '<script>alert("x")</script>'
    (tmp_path / "d").write_text(f"{evil} {evil}\nplain O\n\n" * 9)
    (tmp_path / "t").write_text("U0:%x[0,0]\nB")
    cli("train", "chain", tmp_path / "d", "--template", tmp_path / "t", "--lam", "0.1", "-o",
        tmp_path / "m", "-q")  # fmt: skip
    done = cli("inspect", tmp_path / "m", "--html", tmp_path / "p.html")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(&quot;x&quot;)" in page
    assert "http://" not in page
    assert "src=" not in page.replace("default-src", "").replace("style-src", "")


def test_export(home, cli, tmp_path):
    dump = cli("export", home / "model.proxqn", "--to", "crfsuite").stdout
    assert "STATE_FEATURES = {" in dump
    cli("export", home / "model.proxqn", "--to", "crfpp", "-o", tmp_path / "m.txt")
    assert (tmp_path / "m.txt").read_text(encoding="utf-8").startswith("version: 100\n")


def test_real_pipe(home):
    """The commands as a shell runs them."""
    command = [sys.executable, "-m", "proxqn"]
    predicted = subprocess.run(
        [*command, "predict", str(home / "model.proxqn"), "-", "-q"],
        input=(home / "test.txt").read_bytes(), capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    scored = subprocess.run(
        [*command, "evaluate", "-"], input=predicted.stdout, capture_output=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert b"token accuracy" in scored.stdout
    assert predicted.stderr == b""


def test_help_is_quick_and_has_examples(cli):
    program = (
        "import sys\nfrom proxqn.cli.app import proxqn\n"
        "try:\n    proxqn(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert not {'sklearn', 'scipy', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True, capture_output=True)
    for command in ("train chain", "train tree", "predict", "evaluate", "inspect", "export"):
        text = cli(*command.split(), "--help").stdout
        assert "Example" in text
        assert f"proxqn {command}" in text
