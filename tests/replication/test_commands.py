"""The quick experiments, as a user would run them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from tests.replication.conftest import documents, experiment

from replication.runs.methods import FIVE, METHODS
from replication.runs.records import Store


def test_ocr_keeps_every_run_with_what_it_depends_on(quick_ocr):
    folder, result = quick_ocr
    assert result.exit_code == 0, result.output
    store = Store(folder)
    records = {record.plan.name: record for record in store.records()}
    for lam in ("5", "10"):
        for method in FIVE:
            assert not records[f"ocr.lam{lam}.{method}"].failed
    one = json.loads((folder / "runs" / "ocr.lam5.sgd.json").read_text())
    assert one["settings"]["solver"] == "SGD"
    assert one["settings"]["seed"] == 0
    assert one["origin"]["machine"]["cores"] >= 1
    assert one["origin"]["versions"]["proxqn"]
    assert 0 < one["cpu_seconds"] < one["wall_seconds"] + 1
    assert len(one["scored"]) > 2


def test_ocr_methods_head_for_the_same_optimum(quick_ocr):
    store = Store(quick_ocr[0])
    optimum = store.find("ocr.lam5.reference").objective
    for method in FIVE:
        trace = store.trace(f"ocr.lam5.{method}")
        assert trace["objective"].min() >= optimum * (1 - 1e-9)
        assert trace["objective"][-1] < 0.9 * trace["objective"][0]
    assert store.find("ocr.lam5.prox-qn").objective < optimum * (1 + 1e-5)


def test_ocr_page_has_tables_figures_and_words(quick_ocr):
    folder, result = quick_ocr
    page = (folder / "report.html").read_text()
    assert page.count("<figure>") == 2 * 2 + 2 + 1  # two a λ; log time, accuracy; passes
    figures = sorted(path.suffix for path in (folder / "figures").iterdir())
    assert figures.count(".png") == figures.count(".svg") == 7
    for method in FIVE:
        assert METHODS[method].title in page
    assert "python -m replication ocr --quick" in page
    assert str(folder) not in page
    assert "seconds of training" in result.output.lower()
    assert not re.search(
        r"\bnan\b|\binf\b|None", re.sub(r"<style>.*</style>|data:[^\"]*", "", page)
    )


def test_resume_makes_nothing_twice(quick_ocr):
    folder, _ = quick_ocr
    before = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    result = experiment("ocr", "--quick", "--out", folder, "--resume")
    assert result.exit_code == 0, result.output
    assert "0 runs to make" in result.output
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()} == before


def test_runs_are_not_overwritten_unasked(quick_ocr):
    folder, _ = quick_ocr
    result = experiment("ocr", "--quick", "--out", folder)
    assert result.exit_code == 2
    assert "--resume" in result.output


def test_lshtc_on_the_data_at_hand_and_on_generated_ones(quick_lshtc):
    folder, result = quick_lshtc
    assert result.exit_code == 0, result.output
    assert "not the paper's training file" in result.output
    records = Store(folder).records()
    assert {record.plan.problem for record in records} == {"lshtc", "generated"}
    assert not any(record.failed for record in records)
    at_hand = Store(folder).find("lshtc.lam1.prox-qn")
    assert at_hand.scores["accuracy"] > 0.9  # each leaf has a word of its own
    page = (folder / "report.html").read_text()
    assert "nothing about accuracy on real documents" in page
    assert "validation.txt stands in" in page


@pytest.fixture
def asked(monkeypatch):
    """Take note of the data an experiment would run on, and run nothing."""
    specs = []

    def run_all(title, given, *rest, **options):
        specs.extend(given)
        raise ValueError("not run")

    monkeypatch.setattr("replication.run_all.run_all", run_all)
    return specs


def test_lshtc_without_data_is_generated_and_says_so(asked, tmp_path):
    with pytest.raises(ValueError, match="not run"):
        experiment("lshtc", "--out", tmp_path)
    assert [(spec.kind, spec.folder) for spec in asked] == [("generated", None)]
    assert not asked[0].is_the_papers


def test_lshtc_uses_train_txt_where_there_is_one(asked, challenge, tmp_path):
    options = ("--data", tmp_path, "--out", tmp_path / "out")
    task = tmp_path / "Task1_Train_Test"
    task.mkdir()
    for file in ("validation.txt", "train.txt"):
        (task / file).write_text(documents(60, 2))
        with pytest.raises(ValueError, match="not run"):
            experiment("lshtc", *options)
    stand_in, own = asked
    assert (stand_in.train, own.train) == ("validation", "train")
    assert own.is_the_papers
    assert not stand_in.is_the_papers
    assert own.reported[2.0].nonzeros == 1505


def test_theory_holds_and_has_a_page(quick_theory):
    folder, result = quick_theory
    assert result.exit_code == 0, result.output
    assert "DOES NOT HOLD" not in result.output
    assert "<figure>" in (folder / "report.html").read_text()


@pytest.mark.parametrize("name", ["ocr", "lshtc", "theory"])
def test_help_has_an_example(name):
    result = experiment(name, "--help")
    assert f"python -m replication {name}" in result.output
    assert "--quick" in result.output


def test_unknown_methods_are_refused(tmp_path):
    result = experiment("ocr", "--methods", "prox-qn,magic", "--out", tmp_path)
    assert result.exit_code == 2
    assert "magic" in result.output
    assert experiment("ocr", "--lam", "-1", "--out", tmp_path).exit_code == 2


def test_the_installed_command_says_where_the_experiments_are():
    from proxqn.cli.app import proxqn

    result = CliRunner().invoke(proxqn, ["experiment", "ocr"])
    assert result.exit_code == 2
    assert "python -m replication" in result.output


def test_what_is_wrong_is_said_in_one_line(tmp_path):
    (tmp_path / "cat_hier.txt").write_text("1 2\n1 3\n")
    arguments = ["lshtc", "--data", tmp_path, "--quick", "--seconds", "0.1"]
    done = subprocess.run(
        [sys.executable, "-m", "replication", *map(str, arguments), "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "replication: no run was finished" in done.stderr
    assert "Traceback" not in done.stderr
