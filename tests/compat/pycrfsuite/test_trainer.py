"""Trainer: CRFsuite's parameters, files and hooks."""

import subprocess
import sys
import warnings

import pycrfsuite as original
import pytest

from proxqn.compat import pycrfsuite
from proxqn.compat.pycrfsuite import BaseTrainer, Tagger, Trainer

X = [[{"w": "the"}, {"w": "dog", "len": 3.0}], [{"w": "dogs"}, {"w": "bark", "z": False}]]
Y = [["D", "N"], ["N", "V"]]


def trained(path, trainer=None, **params):
    trainer = Trainer(params={"c1": 0.1, "c2": 0.01} | params, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(path))
    return trainer


def test_the_original_opens_what_was_trained(tmp_path):
    trainer = trained(tmp_path / "m")
    with original.Tagger().open(str(tmp_path / "m")) as tagger:
        assert [tagger.tag(x) for x in X] == Y
        assert tagger.labels() == ["D", "N", "V"]
    assert trainer.crf_.gap_ <= 1e-3
    assert trainer.logparser.last_iteration["active_features"] == trainer.crf_.result_.nnz


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_parameters_are_the_originals(algorithm):
    ours, theirs = Trainer(algorithm), original.Trainer(algorithm)
    assert ours.params()[: len(theirs.params())] == theirs.params()
    assert ours.params()[len(theirs.params()) :] == ["tol", "stop", "n_jobs"]
    for name, value in theirs.get_params().items():
        assert ours.get(name) == value
        assert type(ours.get(name)) is type(value)
        assert ours.help(name)
    ours.set_params(ours.get_params())
    assert ours.get_params() == Trainer(algorithm).get_params()


@pytest.mark.parametrize(
    ("name", "given"),
    [("c1", "0.5"), ("c1", 2), ("max_iterations", "7"), ("max_iterations", 10.0),
     ("feature.possible_states", True), ("feature.possible_states", "0"), ("linesearch", "x")],
)  # fmt: skip
def test_values_are_read_as_in_the_original(name, given):
    ours, theirs = Trainer(params={name: given}), original.Trainer(params={name: given})
    assert (ours.get(name), type(ours.get(name))) == (theirs.get(name), type(theirs.get(name)))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda t: t.set("foo", 1), "Parameter not found: foo"),
        (lambda t: t.get("foo"), "Parameter not found: foo"),
        (lambda t: t.help("foo"), "Parameter not found: foo"),
        (lambda t: t.set("c1", "abc"), "c1: expected a number, got 'abc'"),
        (lambda t: t.set("max_iterations", "x"), "expected a whole number"),
        (lambda t: t.set("feature.possible_states", "yes"), "expected 0 or 1"),
        (lambda t: t.select("foo"), "Bad arguments: algorithm='foo'"),
        (lambda t: t.select("lbfgs", "tree"), "type='tree'"),
        (lambda t: t.append([["a"]], ["X", "Y"]), "numbers of items and labels differ"),
    ],
)
def test_what_is_wrong_is_a_value_error(use, message):
    with pytest.raises(ValueError, match=message):
        use(Trainer())


def test_one_warning_names_what_has_no_effect(tmp_path):
    with pytest.warns(UserWarning, match=r"without effect: num_memories, period\.") as caught:
        trained(tmp_path / "m", num_memories=3, period=5, max_iterations=100)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    trainer = Trainer("arow", verbose=False)
    trainer.append(X[0], Y[0])
    with pytest.warns(UserWarning, match="algorithm 'arow' is not here"):
        trainer.train("")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained(tmp_path / "m")


class Recorder(Trainer):
    """Notes which of its methods is called."""

    def __init__(self):  # as programs do, without the original's __init__
        self.verbose = True
        self.calls = []


for _name in ("start", "featgen_end", "prepared", "optimization_end", "end"):
    setattr(Recorder, f"on_{_name}", lambda self, log, _name=_name: self.calls.append((_name, log)))
Recorder.on_featgen_progress = lambda self, log, percent: self.calls.append(("%", percent))
Recorder.on_iteration = lambda self, log, info: self.calls.append(("iteration", info))


def test_hooks_are_called_in_order(tmp_path):
    trainer = Recorder()
    trainer.set("c1", 0.1)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.append(X[0], ["N", "N"], 5)
    trainer.train(tmp_path / "m", holdout=5)
    names = list(dict.fromkeys(name for name, _ in trainer.calls))
    assert names == [
        "start",
        "%",
        "featgen_end",
        "prepared",
        "iteration",
        "optimization_end",
        "end",
    ]
    infos = [info for name, info in trainer.calls if name == "iteration"]
    assert infos == trainer.logparser.iterations
    assert infos[-1]["instance_accuracy_float"] == 0.0  # its first label is wrong in the holdout
    assert infos[-1]["scores"]["N"].ref == 2
    assert [p for name, p in trainer.calls if name == "%"][-1] == 100
    assert trainer.logparser.featgen_num_features == 8
    assert trainer.logparser.storing_seconds >= 0
    assert "converged" in dict(trainer.calls)["optimization_end"]


def test_messages_can_be_received(tmp_path):
    class Messages(BaseTrainer):
        pieces = ""

        def message(self, message):
            self.pieces += message

    trainer = Messages(params={"c1": 0.1})
    trainer.append(X[0], Y[0])
    trainer.train(str(tmp_path / "m"))
    assert "type: CRF1d\n" in trainer.pieces
    assert "***** Iteration #1 *****\n" in trainer.pieces


def test_what_is_appended_is_forgotten_when_cleared(tmp_path):
    trainer = trained(tmp_path / "a")
    trainer.clear()
    trainer.append([["a"], ["b"]], ["X", "Y"])
    trainer.train(str(tmp_path / "a"))
    with Tagger().open(tmp_path / "a") as tagger:
        assert tagger.labels() == ["X", "Y"]
    trainer.append([["a"]], ["Z"])  # goes on from there
    trainer.train("")
    assert trainer.crf_.classes_.tolist() == ["X", "Y", "Z"]


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError):
        trained(tmp_path / "none" / "m")


def test_an_error_of_the_original_can_be_caught():
    assert str(pycrfsuite.CRFSuiteError(3)) == "CRFsuite's error 3"
    assert original.CRFSUITE_VERSION == pycrfsuite.CRFSUITE_VERSION


def test_a_program_that_imports_the_original_gets_ours():
    program = (
        "import sys, proxqn.compat.pycrfsuite\n"
        "sys.modules['pycrfsuite'] = proxqn.compat.pycrfsuite\n"
        "import pycrfsuite\nfrom pycrfsuite import Trainer\n"
        "from pycrfsuite._logparser import TrainLogParser\n"
        "print(Trainer.__module__, 'sklearn' in sys.modules and 'yes')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.startswith("proxqn.compat.pycrfsuite.trainer"), run.stderr
