"""``train … --dev FILE --early-stop``: the best iterate is written, also after interruptions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from proxqn.io import container, model_file
from proxqn.io.container import Contents

from .conftest import TEMPLATE, corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sentences of many rare words and wrong labels, and others to judge by."""
    folder = tmp_path_factory.mktemp("early")
    (folder / "d").write_text(corpus(150, noise=0.4), encoding="utf-8")
    (folder / "dev").write_text(corpus(100, seed=1, noise=0.4), encoding="utf-8")
    (folder / "t").write_text(TEMPLATE)
    return folder


def arguments(folder, output, *more, tol="1e-9"):
    files = [folder / "d", "--template", folder / "t", "--dev", folder / "dev", "-o", output]
    return [str(a) for a in ("train", "chain", *files, "--lam", "0.02", "--tol", tol, *more)]


def events(result, kind):
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return [event for event in found if event["event"] == kind]


def weights(path):
    return model_file.read(path).model.coef_


def test_the_best_iterate_is_written_and_said(cli, folder, tmp_path):
    done = cli(*arguments(folder, tmp_path / "m", "--early-stop", "3"))
    assert done.exit_code == 0, done.output
    assert "dev F1" in done.stderr
    assert "3 looks brought nothing better" in done.stderr
    as_json = cli(*arguments(folder, tmp_path / "j", "--early-stop", "3", "--json"))
    (end,) = events(as_json, "done")
    chosen = end["early_stop"]
    shown = [e["dev"] for e in events(as_json, "iteration") if e["dev"] is not None]
    assert chosen["scores"] == shown[: len(chosen["scores"])]
    assert chosen["best_score"] == max(shown) == end["dev"]["overall"]["f1"]
    assert chosen["best_iteration"] < end["iterations"]
    assert end["status"] == "DEVELOPMENT"
    plain = cli(*arguments(folder, tmp_path / "p", "--max-iter", chosen["best_iteration"], "-q"))
    assert plain.exit_code == 0
    assert (weights(tmp_path / "p") != weights(tmp_path / "j")).nnz == 0
    assert (weights(tmp_path / "m") != weights(tmp_path / "j")).nnz == 0


def test_trees_stop_early_too(cli, tmp_path):
    rng = np.random.default_rng(0)

    def lines(n):
        rows = rng.integers(0, 2, (n, 12))
        names = np.where(rows[:, 0] ^ (rng.random(n) < 0.3), "a", "b")
        return "".join(
            f"{name} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) + "\n"
            for name, row in zip(names, rows, strict=True)
        )

    for name in ("d", "dev"):
        (tmp_path / name).write_text(lines(100))
    done = cli("train", "tree", tmp_path / "d", "--lam", "0.001", "--dev", tmp_path / "dev",
               "--early-stop", "-o", tmp_path / "m", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    (end,) = events(done, "done")
    chosen = end["early_stop"]
    assert len(set(chosen["scores"])) > 2
    assert chosen["best_score"] == max(chosen["scores"]) == end["dev"]["micro"]["f1"]


def test_a_resumed_run_ends_as_one_without_interruption(cli, folder, tmp_path):
    every = ("--checkpoint-every", 9, "--early-stop", 6, "--json")
    whole = cli(*arguments(folder, tmp_path / "w", "--checkpoint", tmp_path / "c1", *every))
    part = cli(*arguments(folder, tmp_path / "p", "--checkpoint", tmp_path / "c2",
                          *every, "--max-iter", 20))  # fmt: skip
    assert part.exit_code == 0, part.output
    assert container.read(tmp_path / "c2").meta["iteration"] == 18
    again = cli(*arguments(folder, tmp_path / "a", "--checkpoint", tmp_path / "c2",
                           *every, "--resume", tmp_path / "c2"))  # fmt: skip
    assert again.exit_code == 0, again.output
    (ends, expected) = (events(run, "done")[0] for run in (again, whole))
    assert ends["early_stop"] == expected["early_stop"]
    assert ends["iterations"] > 20
    assert (ends["objective"], ends["gap"]) == (expected["objective"], expected["gap"])
    assert (weights(tmp_path / "a") != weights(tmp_path / "w")).nnz == 0


def test_a_checkpoint_of_another_development_set_is_refused(cli, folder, tmp_path):
    options = ("--checkpoint", tmp_path / "c", "--checkpoint-every", 5, "--early-stop", 2)
    assert cli(*arguments(folder, tmp_path / "m", *options, "-q")).exit_code == 0
    (tmp_path / "other").write_text(corpus(30, seed=5, noise=0.4), encoding="utf-8")
    refused = cli(*arguments(folder, tmp_path / "n", "--early-stop", "--resume", tmp_path / "c",
                             "--dev", tmp_path / "other"))  # fmt: skip
    assert refused.exit_code != 0
    assert "Pass the development set of that run" in refused.stderr
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize(
    "change",
    [{"kept": 1}, {"scores": [0.5]}, {"iterations": "0"}, {"scores": ["x", "y"]}, {"kept": 10**9}],
)
def test_a_checkpoint_made_to_mislead_is_refused(cli, folder, tmp_path, change):
    options = ("--checkpoint", tmp_path / "c", "--checkpoint-every", 5, "--early-stop", 2)
    assert cli(*arguments(folder, tmp_path / "m", *options, "-q")).exit_code == 0
    found = container.read(tmp_path / "c")
    looks = found.meta["looks"] | {"iterations": [0, 1], "scores": [0.5, 0.1], "kept": 0} | change
    container.write(Contents(found.kind, found.arrays, found.meta | {"looks": looks}),
                    tmp_path / "c")  # fmt: skip
    refused = cli(*arguments(folder, tmp_path / "n", "--resume", tmp_path / "c", "--early-stop"))
    assert refused.exit_code != 0
    assert "checkpoint" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_weights_beyond_the_problem_are_refused(cli, folder, tmp_path):
    options = ("--checkpoint", tmp_path / "c", "--checkpoint-every", 5, "--early-stop", 2)
    assert cli(*arguments(folder, tmp_path / "m", *options, "-q")).exit_code == 0
    found = container.read(tmp_path / "c")
    arrays = found.arrays | {
        "kept.coordinates": np.array([2**40]), "kept.values": np.array([1.0])
    }  # fmt: skip
    container.write(Contents(found.kind, arrays, found.meta), tmp_path / "c")
    refused = cli(*arguments(folder, tmp_path / "n", "--resume", tmp_path / "c", "--early-stop"))
    assert refused.exit_code != 0
    assert "coordinates. Resume from another" in refused.stderr


def test_a_signal_writes_the_best_iterate(folder, tmp_path):
    options = ("--early-stop", "1000", "--json")
    command = [sys.executable, "-m", "proxqn",
               *arguments(folder, tmp_path / "m", *options, tol="1e-15")]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for line in process.stdout:
            if json.loads(line)["iteration"] >= 12:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    done = json.loads(out.splitlines()[-1])
    assert done["interrupted"]
    chosen = done["early_stop"]
    assert chosen["best_iteration"] < done["iterations"]
    assert model_file.read(tmp_path / "m").model.objective_ == done["objective"]


def test_without_a_development_set_it_is_refused(cli, folder, tmp_path):
    refused = cli("train", "chain", folder / "d", "--template", folder / "t", "--early-stop", "2",
                  "-o", tmp_path / "m")  # fmt: skip
    assert refused.exit_code == 2
    assert "--early-stop needs --dev FILE" in refused.output
    none = cli(*arguments(folder, tmp_path / "m", "--early-stop", "0"))
    assert none.exit_code == 2
    assert "--early-stop" in none.output
    (tmp_path / "empty").write_text("")
    empty = cli(*arguments(folder, tmp_path / "m", "--early-stop", "--dev", tmp_path / "empty"))
    assert empty.exit_code != 0
    assert "expected at least one sequence" in empty.stderr
    assert not (tmp_path / "m").exists()
