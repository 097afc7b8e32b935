"""λ chosen on the command line: a path, a development file or folds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.conftest import corpus

from proxqn import Path, load


@pytest.fixture(scope="module")
def files(home, tmp_path_factory):
    """Noisy sentences, so that some λ is best."""
    folder = tmp_path_factory.mktemp("choice")
    (folder / "train.txt").write_text(corpus(60, noise=0.2), encoding="utf-8")
    (folder / "dev.txt").write_text(corpus(20, seed=3, noise=0.2), encoding="utf-8")
    return ["train", "chain", folder / "train.txt", "--template", home / "t.txt"], folder


def test_auto_takes_the_best_on_the_development_file(files, cli, tmp_path):
    command, folder = files
    model, path = tmp_path / "m", tmp_path / "p.npz"
    done = cli(*command, "--lam", "auto", "--dev", folder / "dev.txt", "-o", model, "--path", path,
               "--patience", 50, "--json")  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [event for event in events if event["event"] == "lam"]
    (chosen,) = (event for event in events if event["event"] == "chosen")
    assert chosen["score"] == max(row["dev"] for row in rows)
    kept = Path.load(path)
    assert kept.certified
    np.testing.assert_array_equal(kept.lams_, sorted((row["lam"] for row in rows), reverse=True))
    assert load(model).lam == chosen["lam"]
    assert load(model).objective_ == pytest.approx(kept.at(chosen["lam"]).fun, rel=2e-3)


def test_a_path_is_gone_on_with_and_only_with_its_data(files, cli, tmp_path):
    command, folder = files
    path = tmp_path / "p.npz"
    options = ["--lam", "8,4,2", "--dev", folder / "dev.txt", "-o", tmp_path / "m", "--path", path]
    cli(*command, *options, "-q")
    first, bits = Path.load(path), path.read_bytes()
    options[1] = "8,4,2,1"
    cli(*command, *options, "-q")
    again = Path.load(path)
    assert again.trace[:3] == first.trace
    assert len(again) == 4
    path.write_bytes(bits)
    done = cli(*command, *options, "-q", "--l2", 1)
    assert "other data or other options" in done.stderr
    for broken in (b"no path", bits[:-300], b""):
        path.write_bytes(broken)
        assert "holds no path" in cli(*command, *options, "-q").stderr


def test_folds_choose_among_given_lambdas(files, cli, tmp_path):
    command, _ = files
    done = cli(*command, "--lam", "9,3,0.3", "--cv", 3, "-o", tmp_path / "m", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    folds = {e["lam"]: e["score"] for e in events if e["event"] == "folds"}
    assert list(folds) == [9.0, 3.0, 0.3]
    assert load(tmp_path / "m").lam == max(folds, key=folds.get)


def test_it_is_a_table_for_people_and_a_picture(files, cli, tmp_path):
    pytest.importorskip("matplotlib")
    command, folder = files
    done = cli(*command, "--lam", "8,2", "--dev", folder / "dev.txt", "-o", tmp_path / "m",
               "--plot", tmp_path / "p.svg")  # fmt: skip
    assert "nonzeros" in done.stderr
    assert "dev F1" in done.stderr
    assert "2 λs from 8 to 2" in done.stderr
    assert (tmp_path / "p.svg").exists()


def test_without_a_better_score_it_ends_early(files, cli, tmp_path):
    command, folder = files
    lams = ",".join(f"{lam:.4g}" for lam in np.geomspace(8.0, 1e-3, 30))
    done = cli(*command, "--lam", lams, "--dev", folder / "dev.txt", "-o", tmp_path / "m",
               "--patience", 1, "--json")  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    scores = [row["dev"] for row in rows if row["event"] == "lam"]
    assert len(scores) < 30
    assert scores[-1] <= max(scores[:-1])


def test_trees_as_well(cli, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{'ab'[k % 2]} 1:{k % 2} 2:{rng.random():.3f} 3:1" for k in range(60)]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    cli("train", "tree", tmp_path / "t.svm", "--lam", "auto", "--cv", 3, "-o", tmp_path / "m", "-q")
    assert load(tmp_path / "m").kind == "tree"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lam", "auto"], "give one"),
        (["--lam", "auto", "--cv", 3, "--dev", "x"], "give one"),
        (["--lam", "1", "--cv", 3], "--cv is for several"),
        (["--lam", "1", "--plot", "p.png"], "--plot is for several"),
        (["--lam", "1,2", "--cv", 3, "--resume", "m"], "--resume is for a single"),
        (["--lam", "1,2", "--dev", "d", "--early-stop", 3], "--early-stop is for a single"),
        (["--lam", "1,two"], "numbers with commas"),
    ],
)
def test_options_that_do_not_go_together(files, cli, tmp_path, options, message):
    command, _ = files
    done = cli(*command, *options, "-o", tmp_path / "m")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "m").exists()
