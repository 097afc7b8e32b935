"""``B`` templates with an observation on the command line, from file to file."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from proxqn.features.templates import Templates
from proxqn.io.model_file import load_with_encoder

# CRF++'s documentation: "B01:%x[0,0]" makes features of the current word and a pair of labels.
TEMPLATE = "U00:%x[0,0]\nB\nB01:%x[0,1]\n"


def switching(n_sentences: int, seed: int) -> str:
    """A sign "+" keeps the label of the token before, "-" changes it: only edges can tell."""
    rng = random.Random(seed)
    blocks = []
    for _ in range(n_sentences):
        label, rows = "A", ["begin . A"]
        for _ in range(rng.randrange(3, 9)):
            sign = rng.choice("+-")
            if sign == "-":
                label = "B" if label == "A" else "A"
            rows.append(f"w{rng.randrange(5)} {sign} {label}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, run=None):
    from tests.cli.conftest import run

    folder = tmp_path_factory.mktemp("edges")
    (folder / "train.txt").write_text(switching(80, 0))
    (folder / "test.txt").write_text(switching(30, 1))
    (folder / "t.txt").write_text(TEMPLATE)
    (folder / "plain.txt").write_text("U00:%x[0,0]\nU01:%x[0,1]\nB\n")
    for name, template in (("m", "t.txt"), ("plain", "plain.txt")):
        done = run("train", "chain", folder / "train.txt", "--template", folder / template,
                   "--lam", "0.1", "-o", folder / f"{name}.proxqn")  # fmt: skip
        assert done.exit_code == 0, done.output
    return folder


def accuracy(cli, folder, model):
    done = cli("evaluate", folder / "test.txt", "--model", folder / model, "--json")
    return json.loads(done.stdout)["token_accuracy"]


def test_edges_learn_what_plain_transitions_cannot(folder, cli):
    assert accuracy(cli, folder, "m.proxqn") == 1.0
    assert accuracy(cli, folder, "plain.proxqn") < 0.9


def test_predict_labels_marginals_and_n_best(folder, cli):
    out = cli("predict", folder / "m.proxqn", folder / "test.txt", "--marginals", "best").stdout
    rows = [line.split() for line in out.splitlines() if line]
    assert all(row[2] == row[3] for row in rows)
    assert all(0.5 < float(row[4]) <= 1.0 for row in rows)
    n_best = cli("predict", folder / "m.proxqn", folder / "test.txt", "--n-best", "2").stdout
    first = [line.split()[3] for line in n_best.split("# 1 ")[0].splitlines()[1:] if line]
    assert first == [row[3] for row in rows][: len(first)]


def test_inspect_shows_edges(folder, cli, tmp_path):
    text = cli("inspect", folder / "m.proxqn").stdout
    assert "edge features" in text
    assert "B01:- A → B" in text
    found = json.loads(cli("inspect", folder / "m.proxqn", "--json").stdout)
    assert found["sizes"]["edge features"] == 2
    assert found["edges"]["positive"][0][1] > 0
    cli("inspect", folder / "m.proxqn", "--html", tmp_path / "m.html")
    assert "B01:- A → B" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_train_says_how_many_edge_features(folder, cli, tmp_path):
    done = cli("train", "chain", folder / "train.txt", "--template", folder / "t.txt", "--lam",
               "0.1", "-o", tmp_path / "m")  # fmt: skip
    assert "2 edge features" in done.stderr
    assert (tmp_path / "m").read_bytes() == (folder / "m.proxqn").read_bytes()


def test_resume_from_a_model_and_from_a_checkpoint(folder, cli, tmp_path):
    base = ("train", "chain", folder / "train.txt", "--template", folder / "t.txt", "--lam", "0.1")
    done = cli(*base, "--resume", folder / "m.proxqn", "-o", tmp_path / "m", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["iterations"] <= 10  # it started from the solution, edges included
    cli(*base, "--checkpoint", tmp_path / "c", "--checkpoint-every", 5, "--tol", "1e-6",
        "-o", tmp_path / "whole")  # fmt: skip
    cli(*base, "--checkpoint", tmp_path / "c", "--checkpoint-every", 5, "--tol", "1e-6",
        "--max-iter", "10", "-o", tmp_path / "half")  # fmt: skip
    cli(*base, "--resume", tmp_path / "c", "--tol", "1e-6", "-o", tmp_path / "rest")
    whole, rest = (load_with_encoder(tmp_path / name).model for name in ("whole", "rest"))
    np.testing.assert_array_equal(whole.edge_coef_.toarray(), rest.edge_coef_.toarray())
    other = cli(*base[:-1], "0.2", "--resume", tmp_path / "c", "-o", tmp_path / "x")
    assert other.exit_code != 0


def test_export_to_crfpp(folder, cli):
    out = cli("export", folder / "m.proxqn", "--to", "crfpp").stdout
    assert "B01:-" in out
    done = cli("export", folder / "m.proxqn", "--to", "crfsuite")
    assert done.exit_code != 0
    assert "CRFsuite has no transitions that look" in done.stderr


def test_b_templates_are_routed_into_edges():
    templates = Templates.parse(TEMPLATE)
    assert [t.text for t in templates.edge] == ["B01:%x[0,1]"]
    assert templates.has_transitions


@pytest.mark.parametrize("steps", ["observed", "all"])
def test_transition_pairs(folder, cli, tmp_path, steps):
    done = cli("train", "chain", folder / "train.txt", "--template", folder / "t.txt", "--lam",
               "0.1", "--transition-pairs", steps, "-o", tmp_path / "m", "-q")  # fmt: skip
    assert done.exit_code == 0
    model = load_with_encoder(tmp_path / "m").model
    assert (model.pairs, model.transition_pairs) == ("observed", steps)
