"""Models that CRFsuite itself has trained."""

import numpy as np
import pycrfsuite
import pytest


def sequences(seed=0, n=40):
    """Return sequences with names of many lengths and alphabets, and their labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(60, size=rng.integers(1, 9))
        X.append([
            {"w": f"{'длинное слово' * (w % 5)}{w}", "x" * (w + 1): w / 10, "b": bool(w % 2)}
            for w in words.tolist()
        ])  # fmt: skip
        noise = rng.random(len(words)) < 0.1
        y.append([("Z", "é", "A")[(w + flip) % 3] for w, flip in zip(words, noise, strict=True)])
    return X, y


@pytest.fixture(scope="session")
def data():
    return sequences()


@pytest.fixture(scope="session")
def theirs(data, tmp_path_factory):
    """The path of a model of CRFsuite's."""
    path = tmp_path_factory.mktemp("theirs") / "m.crfsuite"
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.1, "c2": 0.01})
    for x, y in zip(*data, strict=True):
        trainer.append(x, y)
    trainer.train(str(path))
    return path
