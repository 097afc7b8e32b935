"""The log as data: of the original's training, read by its parser and by ours."""

import pycrfsuite as original
import pytest
from pycrfsuite._logparser import TrainLogParser as Theirs

from proxqn.compat.pycrfsuite._logparser import TrainLogParser

X = [[{"a": 1, "b": 0.5}, {"c": 1}, {}], [{"b": 1}, {"c": 2}], [{"a": 1}, {"d": 1}]]
Y = [["X", "Y: z", "X"], ["Y: z", "X"], ["X", "Q"]]


def log(algorithm, holdout, X=X):
    class Pieces(original.BaseTrainer):
        def message(self, message):
            self.pieces.append(message)

    trainer = Pieces(algorithm)
    trainer.pieces = []
    trainer.set("max_iterations", 4)
    for i, (x, y) in enumerate(zip(X, Y[: len(X)], strict=True)):
        trainer.append(x, y, i % 2)
    trainer.train("", holdout)
    return trainer.pieces


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
@pytest.mark.parametrize("holdout", [-1, 1])
def test_the_originals_log_is_read_as_its_own_parser_does(algorithm, holdout):
    ours, theirs = TrainLogParser(), Theirs()
    for piece in log(algorithm, holdout):
        event = theirs.feed(piece)
        assert ours.feed(piece) == event
        if event:
            assert ours.last_log == theirs.last_log
    assert ours.iterations == theirs.iterations
    assert ours.last_iteration == theirs.last_iteration
    for name in ("featgen_num_features", "featgen_percent", "featgen_seconds", "storing_seconds",
                 "training_seconds", "log"):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name)


def test_a_training_without_data():
    ours = TrainLogParser()
    events = [ours.feed(piece) for piece in log("lbfgs", -1, [])]
    assert "prepare_error" in events
    assert ours.last_iteration is None
