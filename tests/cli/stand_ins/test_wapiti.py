"""`proxqn wapiti` writes what Wapiti writes, and trains by its objective."""

import math

import pytest
from tests.cli.conftest import run
from tests.io.golden_files import FOLDER, golden

from proxqn import ChainCRF
from proxqn.cli.failures import Exit
from proxqn.io.wapiti import read_model

MODEL, NEW = FOLDER / "letters.wapiti", FOLDER / "new.txt"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["label", "-s", "-m", MODEL, NEW], "wapiti-scores.txt"),
        (["l", "--score", "--post", "--model", MODEL, NEW], "wapiti-posteriors.txt"),
        (["label", "-s", "-n", "3", "-m", MODEL, NEW], "wapiti-3-best.txt"),
        (["label", "-s", "-p", "-n3", "-m", MODEL, NEW], "wapiti-posteriors-3-best.txt"),
        (["label", "--force", "-s", "-m", MODEL, FOLDER / "partly.txt"], "wapiti-forced.txt"),
        (["dump", MODEL], "wapiti-dump.txt"),
        (["d", "--all", "-p", "3", FOLDER / "compact.wapiti"], "wapiti-dump-all.txt"),
    ],
)
def test_output_is_wapitis_byte_for_byte(arguments, expected, tmp_path):
    done = run("wapiti", *arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout_bytes == golden(expected)
    assert run("wapiti", *arguments, tmp_path / "o").exit_code == 0
    assert (tmp_path / "o").read_bytes() == golden(expected)


def test_labels_alone_from_standard_input():
    done = run("wapiti", "label", "-l", "-m", MODEL, stdin=golden("new.txt"))
    behind = run("wapiti", "label", "-m", MODEL, NEW).stdout.split("\n")
    assert done.stdout.split("\n") == [line.split("\t")[-1] for line in behind]


def test_errors_are_told_as_wapiti_does():
    done = run("wapiti", "label", "-l", "-c", "-m", MODEL, FOLDER / "letters.txt")
    expected = [
        line
        for line in golden("wapiti-check.txt").decode().splitlines()
        if not line.startswith(("* Load", "* Label", "* Done"))
    ]
    assert done.stderr.splitlines() == expected


def train(tmp_path, *more):
    data, patterns = FOLDER / "letters.txt", FOLDER / "wapiti.patterns"
    done = run("wapiti", "train", "-1", "0.1", "-2", "0.01", "--tol", "1e-9", "-p", patterns, *more,
               data, tmp_path / "m")  # fmt: skip
    assert done.exit_code == 0, done.output
    return done, read_model(tmp_path / "m")


def test_training_finds_the_optimum_of_wapitis_objective(tmp_path):
    done, model = train(tmp_path)
    assert "obj=5.42 " in done.stderr  # Wapiti's, with -e 1e-9 -w 0: 5.42, 45 active
    assert "act=45 " in done.stderr.splitlines()[-2]
    assert model.weights.nnz + model.edge_weights.nnz == 45
    theirs = set(read_model(MODEL).names)  # with those of steps into first tokens, which are none
    assert set(model.names) == {name for name in theirs if not name.startswith("b07:_x-1")}


def test_compact_models_have_active_observations_alone(tmp_path):
    _, model = train(tmp_path, "--compact")
    assert all(
        model.weights[[i]].nnz or model.edge_weights[[i]].nnz for i in range(len(model.names))
    )


def test_an_earlier_model_is_where_it_starts(tmp_path):
    train(tmp_path)
    done, _ = train(tmp_path, "-m", tmp_path / "m")
    first = float(done.stderr.splitlines()[0].split("obj=")[1].split()[0])
    assert math.isclose(first, 5.42, abs_tol=0.01)


def test_errors_on_other_data_are_told_at_the_end(tmp_path):
    done, _ = train(tmp_path, "-d", FOLDER / "letters.txt")
    assert "Token error   :  0.00%" in done.stderr


def test_what_has_no_effect_is_named(tmp_path):
    done, _ = train(tmp_path, "-a", "rprop", "--stpmin", "1e-9", "-w", "9", "--clip", "-j", "64")
    assert "warning: --algo rprop" in done.stderr
    assert "warning: --stopwin, --clip, --stpmin: no effect" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "-T", "memm"], "CRFs alone"),
        (["train", "--me"], "CRFs alone"),
        (["train", "--sstate", "s"], "state of Wapiti's solver"),
        (["train", FOLDER / "letters.txt"], "--pattern is needed"),
        (["train", "-a", "adam"], "'adam' is not one of"),
        (["label", NEW], "Missing option '-m'"),
        (["label", "-c", "--force", "-m", MODEL], "cannot be used together"),
        (["label", "--force", "-n", "2", "-m", MODEL], "needs --post"),
        (["label", "--me", "-m", MODEL], "CRFs alone"),
    ],
)
def test_what_cannot_be_had_is_refused(arguments, message):
    done = run("wapiti", *arguments)
    assert done.exit_code == Exit.USAGE
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["label", "-m", NEW], b"", "expected #mdl#"),
        (["label", "-m", MODEL], b"a\n", "<stdin>, line 1: expected 2 columns at least, got 1"),
        (["label", "-c", "-m", MODEL], b"a b c\n\na\n", "line 3: expected columns and a label"),
        (["train", "-p", FOLDER / "wapiti.patterns"], b"", "at least one sequence"),
        (["dump"], b"x", "expected #mdl#"),
    ],
)
def test_bad_files_are_told_by_line(arguments, stdin, message):
    done = run("wapiti", *arguments, stdin=stdin)
    assert done.exit_code == Exit.DATA
    assert message in done.stderr


def test_plain_transitions_are_asked_for_once(tmp_path):
    (tmp_path / "p").write_text("u:%x[0,0]\nb\nb2\n")
    done = run("wapiti", "train", "-p", tmp_path / "p", FOLDER / "letters.txt", tmp_path / "m")
    assert done.exit_code == Exit.DATA
    assert "lines 2 and 3: both ask for plain transitions" in done.stderr


def test_patterns_without_b_give_no_transitions(tmp_path):
    (tmp_path / "p").write_text("u:%x[0,0]\n")
    done = run("wapiti", "train", "-1", "0.01", "-p", tmp_path / "p", FOLDER / "letters.txt",
               tmp_path / "m")  # fmt: skip
    assert done.exit_code == 0
    assert not ChainCRF.from_wapiti(tmp_path / "m").transitions_.any()


def test_a_fit_ends_where_the_objective_hardly_falls(tmp_path):
    """The proof of 1e-9 would take more than three times as many iterations."""
    long, _ = train(tmp_path, "-e", "0")
    short, _ = train(tmp_path, "-e", "0.02")
    counts = [sum("obj=" in line for line in done.stderr.splitlines()) for done in (long, short)]
    assert counts[1] < counts[0]
    assert "the objective fell by less than 0.0001" in short.stderr


def test_models_without_patterns_label_data_that_hold_the_features(tmp_path):
    """As Wapiti does; the step into each token has its transitions by the feature b."""
    strings = b"#rdr#0/0/0\n#qrk#2\n1:A,\n1:B,\n#qrk#3\n2:ux,\n2:uy,\n1:b,\n"
    (tmp_path / "m").write_bytes(b"#mdl#2#3\n" + strings + b"0=1.5\n3=0.5\n5=2.25\n")
    done = run("wapiti", "label", "-s", "-m", tmp_path / "m", stdin=b"ux b\nuy b\n")
    assert done.stdout == "# 0 4.250000\nux b\tA\tA/1.500000\nuy b\tB\tB/2.750000\n\n"
    done = run("wapiti", "label", "-m", tmp_path / "m", stdin=b"ux b\nuy\n")
    assert done.exit_code == Exit.DATA
    assert "line 2: expected 'b' among the features" in done.stderr
