"""What is minimised is CRFsuite's: the same weights, the same objective."""

import numpy as np
import pycrfsuite
import pytest

from proxqn.compat.attributes import AttributeTable
from proxqn.compat.learning import LearningSettings, TrainingSet
from proxqn.io.crfsuite import from_bytes

RNG = np.random.default_rng(3)


def tokens(n):
    """Return tokens with values that are zero, negative, and counted twice."""
    for _ in range(n):
        w = int(RNG.integers(6))
        yield {"w": str(w), "title": bool(w % 2), "n": float(RNG.integers(-1, 2)), "s": {"w:": w}}


X = [list(tokens(n)) for n in RNG.integers(1, 6, 30)]
Y = [["ABC"[(int(t["w"]) + RNG.integers(2)) % 3] for t in x] for x in X]


def objective(model, X, Y, c1, c2):
    """Return CRFsuite's objective at the weights of a file, in plain NumPy."""
    names = {name: i for i, name in enumerate(model.attributes.names())}
    state, steps = model.state.toarray(), model.transitions.toarray()
    labels = {label: i for i, label in enumerate(model.labels)}
    loss = 0.0
    for x, y in zip(X, Y, strict=True):
        scores = np.zeros((len(x), len(labels)))
        for t, token in enumerate(pycrfsuite.ItemSequence(x).items()):
            for name, value in token.items():
                if name in names:
                    scores[t] += value * state[names[name]]
        path = [labels[label] for label in y]
        alpha = scores[0]
        for t in range(1, len(x)):
            alpha = scores[t] + np.logaddexp.reduce(alpha[:, None] + steps, axis=0)
        loss += np.logaddexp.reduce(alpha) - scores[np.arange(len(x)), path].sum()
        loss -= steps[path[:-1], path[1:]].sum()
    w = np.concatenate([state.ravel(), steps.ravel()])
    return loss + c1 * np.abs(w).sum() + c2 * np.square(w).sum()


@pytest.mark.parametrize("min_freq", [0, 1, 2.5])
@pytest.mark.parametrize(("states", "transitions"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(("c1", "c2"), [(0.1, 0.01), (0.0, 1.0)])
def test_the_objective_is_crfsuites(min_freq, states, transitions, c1, c2, tmp_path):
    params = {"c1": c1, "c2": c2, "feature.minfreq": min_freq, "epsilon": 1e-9, "delta": 1e-12}
    params |= {"feature.possible_states": states, "feature.possible_transitions": transitions}
    theirs = pycrfsuite.Trainer(params=params, verbose=False)
    table = AttributeTable()
    for x, y in zip(X, Y, strict=True):
        theirs.append(x, y)
        table.append(x, y)
    theirs.train(str(tmp_path / "m"))
    settings = LearningSettings(c1, c2, min_freq, states, transitions, tol=1e-9)
    training = TrainingSet(table, -1, settings)
    expected = from_bytes((tmp_path / "m").read_bytes())
    found = training.model(training.fit())
    # CRFsuite drops pairs of a sum below zero even where all are asked for; we keep those.
    if not states:
        assert training.n_weights == theirs.logparser.featgen_num_features
    assert found.labels == expected.labels
    ours, their = (objective(model, X, Y, c1, c2) for model in (found, expected))
    assert ours <= their + 1e-6 * their
    assert ours >= their - 1e-4 * their or states


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_weights_of_sequences_are_repetitions(weight):
    twice, once = AttributeTable(), AttributeTable()
    for x, y in zip(X, Y, strict=True):
        once.append(x, y, weight=weight)
        for _ in range(int(weight)):
            twice.append(x, y)
    settings = LearningSettings(0.1, 0.01, min_freq=4, tol=1e-8)
    weighted, repeated = (TrainingSet(table, -1, settings) for table in (once, twice))
    assert weighted.n_weights == repeated.n_weights
    found, expected = weighted.fit(), repeated.fit()
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-6)


def test_the_holdout_is_not_learned_from():
    table = AttributeTable()
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        table.append(x, y, group=i % 3)
    table.append([{"new": 1}], ["Q"], group=1)
    training = TrainingSet(table, 1, LearningSettings(0.1))
    held_out, labels = training.held_out
    assert sorted(training.labels) == ["A", "B", "C"]
    assert labels[-1] == ["Q"]
    assert len(labels) == 11 == len(held_out.lengths)
    model = training.model(training.fit())
    assert "new" not in model.attributes
    assert TrainingSet(table, 9, LearningSettings(0.1)).held_out is None


@pytest.mark.parametrize(("y", "labels"), [([], ()), (["X"], ("X",))])
def test_where_there_is_nothing_to_choose_there_is_a_model_without_weights(y, labels):
    table = AttributeTable()
    for label in y:
        table.append([["a"]], [label])
    training = TrainingSet(table, -1, LearningSettings())
    assert training.fit() is None
    model = training.model(None)
    assert (model.labels, model.state.nnz, len(model.attributes)) == (labels, 0, 0)


def test_a_name_that_no_file_can_hold_is_refused_before_the_fit():
    table = AttributeTable()
    table.append([["a\0b"], ["c"]], ["X", "Y"])
    with pytest.raises(ValueError, match=r"'a\\x00b' holds a zero byte"):
        TrainingSet(table, -1, LearningSettings())


def test_no_penalty_at_all_is_a_small_one():
    assert LearningSettings(0.0, 1.0).lam == 1e-6
    assert LearningSettings(0.0, 0.0).lam == 1e-3
    assert LearningSettings(0.5).lam == 0.5
