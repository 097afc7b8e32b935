"""``proxqn crfsuite``: what it trains is CRFsuite's, what it says of a model its Tagger says."""

import math

import pycrfsuite
import pytest
from click.testing import CliRunner

from proxqn.cli.app import proxqn as command_line
from proxqn.compat.pycrfsuite._logparser import TrainLogParser

TRAIN = """D\tw=the\tlen:3
N\tw=dog\tlen:3
V\tw=barks\tlen:5

N\tw=dogs\tlen:4
V\tw=bark\tlen:4

D\tw=a\\:b\tlen:1
N\tw=cat\tz:0
V\tw=purrs

"""
TEST = "D\tw=the\nN\tw=cat\nV\tw=unseen\n\nV\tw=dogs\n?\tw=bark\n\n"


def run(*arguments, **more):
    return CliRunner().invoke(
        command_line, ["crfsuite", *map(str, arguments)], catch_exceptions=False, **more
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train").write_text(TRAIN)
    (tmp_path / "test").write_text(TEST)
    return tmp_path


@pytest.fixture
def model(folder):
    path = folder / "m.crfsuite"
    done = run("learn", "-p", "c1=0.1", "--set", "c2=0.01", "-m", path, folder / "train")
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def tagger(model):
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    return tagger


def test_what_was_learned_is_opened_by_the_original(tagger):
    assert tagger.labels() == ["D", "N", "V"]
    assert tagger.tag([{"w=the": 1}, {"w=dog": 1}, {"w=barks": 1}]) == ["D", "N", "V"]
    assert "w=a:b" in tagger.info().attributes


def test_the_log_is_read_by_the_originals_parser(folder):
    done = run("learn", "-p", "c1=0.1", "-e", "2", folder / "train", folder / "test")
    parser = TrainLogParser()
    lines = done.output.splitlines(keepends=True)
    for line in lines[lines.index("Holdout group: 2\n") :]:
        parser.feed(line)
    assert parser.last_iteration["item_accuracy"].denominator <= 5
    assert "Number of instances: 2\n" in lines
    assert "Number of data sets (groups): 2\n" in lines


def test_tag_writes_what_the_tagger_says(folder, model, tagger):
    done = run("tag", "-m", model, "-p", "-i", "-l", "-r", folder / "test")
    first = done.output.split("\n\n")[0].splitlines()
    x = [{"w=the": 1}, {"w=cat": 1}, {"w=unseen": 1}]
    path = tagger.tag(x)
    score, lognorm = map(float, first[0].removeprefix("@score\t").split("\t"))
    assert float(first[1].removeprefix("@probability\t")) == pytest.approx(
        tagger.probability(path), abs=1e-6
    )
    assert score - lognorm == pytest.approx(math.log(tagger.probability(path)), abs=1e-5)
    for t, line in enumerate(first[2:]):
        reference, best, *others = line.split("\t")
        assert reference == "DNV"[t]
        assert best == f"{path[t]}:{tagger.marginal(path[t], t):f}"
        assert others == [f"{y}:{tagger.marginal(y, t):f}" for y in tagger.labels()]


def test_tag_from_standard_input(model):
    assert run("tag", "-m", model, input=TEST).output.splitlines()[:4] == ["D", "N", "V", ""]


def test_tag_tells_how_well_it_labels(folder, model):
    done = run("tag", "-m", model, "-t", "-q", folder / "test")
    assert done.output.startswith("Performance by label (#match, #model, #ref)")
    assert "    D: (1, 1, 1) (1.0000, 1.0000, 1.0000)\n" in done.output
    assert "Item accuracy: 3 / 5 (0.6000)\n" in done.output
    assert "Instance accuracy: 1 / 2 (0.5000)\n" in done.output
    assert "[instance/sec])" in done.output


def test_dump_is_the_originals(model, tagger, folder):
    tagger.dump(str(folder / "dump"))
    assert run("dump", model).output == (folder / "dump").read_text()


def test_groups(folder):
    done = run("learn", "-g", "3", "-x", "-p", "c1=0.1", folder / "train")
    assert done.output.count("===== Cross validation (") == 3
    assert done.output.count("Instance accuracy") > 0
    log = folder / "log"
    done = run("learn", "-l", "-L", log, "-p", "c1=0.1", folder / "train")
    assert done.output == ""
    assert "Storing the model" in (folder / "log_lbfgs_c1=0.1").read_text()


def test_what_has_no_effect_is_told(folder):
    done = run("learn", "-a", "l2sgd", "-p", "calibration.eta=1", folder / "train")
    assert "warning: proxqn.compat.pycrfsuite: algorithm 'l2sgd' is not here" in done.stderr
    assert "without effect: calibration.eta" in done.stderr
    assert "c1 = 0.0" in run("learn", "-H").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("learn", "-p", "foo=1"), "Parameter not found: foo"),
        (("learn", "-p", "c1=x"), "expected a number"),
        (("learn", "-a", "svm"), "Invalid value"),
        (("learn", "-t", "semim"), "Invalid value"),
        (("tag",), "Missing option '-m'"),
    ],
)
def test_wrong_arguments(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
