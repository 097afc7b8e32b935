"""`proxqn crf_learn` and `crf_test` write what CRF++'s write, and train by its objective."""

import numpy as np
import pytest
from tests.cli.conftest import run
from tests.io.golden_files import FOLDER, golden

from proxqn.cli.failures import Exit
from proxqn.io.crfpp import parse_model, read_model

MODEL, NEW = FOLDER / "letters.crfpp", FOLDER / "new.txt"
TEMPLATE, DATA = FOLDER / "crfpp.template", FOLDER / "letters.txt"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-v", "2", "-m", MODEL, NEW], "crfpp-v2.txt"),
        (["-v1", "--cost-factor=0.5", "-m", MODEL, NEW], "crfpp-v1-half.txt"),
        (["--nbest=3", "--model", MODEL, NEW], "crfpp-3-best.txt"),
    ],
)
def test_output_is_crfpps_byte_for_byte(arguments, expected, tmp_path):
    done = run("crf_test", *arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout_bytes == golden(expected)
    assert run("crf_test", "-o", tmp_path / "o", *arguments).exit_code == 0
    assert (tmp_path / "o").read_bytes() == golden(expected)


def test_labels_alone_from_standard_input():
    labels = run("crf_test", "-m", MODEL, stdin=golden("new.txt")).stdout
    assert labels.startswith("A\tD\tB\nnaïve\tJ\tI\n")


@pytest.mark.parametrize(
    ("algorithm", "objective", "n_active"), [("CRF-L2", 11.8298, 444), ("crf-l1", 28.40477, 21)]
)
def test_training_finds_the_optimum_of_crfpps_objective(tmp_path, algorithm, objective, n_active):
    """The figures are those of crf_learn -e 1e-9."""
    done = run("crf_learn", "-a", algorithm, "-t", "--tol", "1e-7", TEMPLATE, DATA, tmp_path / "m")
    assert done.exit_code == 0, done.output
    last = dict(cell.split("=") for cell in done.stdout.splitlines()[-1].split())
    assert float(last["obj"]) == pytest.approx(objective, abs=1e-3)
    assert int(last["act"]) == n_active
    model, text = read_model(tmp_path / "m"), read_model(tmp_path / "m.txt")
    assert sorted(model.names) == sorted(read_model(MODEL).names)
    np.testing.assert_allclose(model.weights.toarray(), text.weights.toarray(), rtol=1e-6)


def test_the_cost_divides_the_penalty(tmp_path):
    done = run("crf_learn", "-a", "CRF-L1", "-c", "0.01", TEMPLATE, DATA, tmp_path / "m")
    assert "act=0" in done.stdout.splitlines()[-1]


def test_rare_features_are_left_out_as_by_crfpp(tmp_path):
    run("crf_learn", "-f", "2", "-a", "CRF-L1", TEMPLATE, DATA, tmp_path / "m")
    frequent = read_model(FOLDER / "frequent.crfpp")
    assert sorted(read_model(tmp_path / "m").names) == sorted(frequent.names)


def test_a_text_model_is_converted(tmp_path):
    assert run("crf_learn", "-C", FOLDER / "letters.crfpp.txt", tmp_path / "m").exit_code == 0
    found, expected = read_model(tmp_path / "m"), parse_model(golden("letters.crfpp"))
    assert found.names == expected.names
    np.testing.assert_array_equal(found.weights.toarray(), expected.weights.toarray())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["crf_learn", "-a", "MIRA", TEMPLATE, DATA, "m"], "MIRA has another objective"),
        (["crf_learn", "-a", "x", TEMPLATE, DATA, "m"], "unknown algorithm 'x'"),
        (["crf_learn", TEMPLATE, DATA], "expected TEMPLATE DATA MODEL, got 2"),
        (["crf_learn", "-C", "m"], "expected TEXT-MODEL MODEL, got 1"),
        (["crf_learn", "-c", "0", TEMPLATE, DATA, "m"], "not in the range"),
        (["crf_test", NEW], "Missing option '-m'"),
    ],
)
def test_what_cannot_be_had_is_refused(command, message):
    done = run(*command)
    assert done.exit_code == Exit.USAGE
    assert message in done.stderr


def test_what_has_no_effect_is_named(tmp_path):
    done = run("crf_learn", "-H", "5", TEMPLATE, DATA, tmp_path / "m")
    assert "warning: --shrinking-size: no effect" in done.stderr


def test_templates_that_the_file_cannot_hold_are_refused_before_the_fit(tmp_path):
    (tmp_path / "t").write_text('U:%m[0,0,"."]\nB\n')
    done = run("crf_learn", tmp_path / "t", DATA, tmp_path / "m")
    assert done.exit_code == Exit.DATA
    assert "cannot hold the template" in done.stderr
