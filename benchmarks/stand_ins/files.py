"""Models of three corpora, written by the one and opened by the other.

``python -m benchmarks.stand_ins.files`` prints for each how many tags of new sequences differ, and
by how much marginals do.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from benchmarks.data import data_file
from benchmarks.stand_ins.parsers import PARSERS, labelled
from benchmarks.stand_ins.peers import peer

from proxqn import ChainCRF
from proxqn.compat.pycrfsuite import Trainer
from proxqn.features.templates import Templates
from proxqn.io.readers import read_columns

Data = tuple[list[Any], list[list[str]]]
_PARAMETERS = {"c1": 0.5, "c2": 0.01, "max_iterations": 30}
_MARGINALS_OF = 200  # sequences


def _words(folder: str, train: str, test: str) -> tuple[Data, Data]:
    """Return words around a token as features, and the last column as labels."""
    templates = Templates.parse(
        'U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[1,0]\nU3:%x[0,0]/%x[1,0]\nU4:%m[0,0,"...$"]\n'
    )

    def read(name: str) -> Data:
        X, y = [], []
        for record in read_columns(data_file(folder, name)):
            rows = [list(row) for row in record.tokens]
            names = [{} for _ in rows]
            for template in templates:
                for t, found in enumerate(names):
                    found[template.expand(rows, t)] = 1.0
            X.append(names)
            y.append([row[-1] for row in rows])
        return X, y

    return read(train), read(test)


def _usaddress() -> tuple[Data, Data]:
    sys.path[:0] = [str(peer("parserator")), str(peer("usaddress"))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("usaddress")
    data = labelled(PARSERS[0], module)
    X = [module.tokens2features([token for token, _ in one]) for _, one in data]
    y = [[label for _, label in one] for _, one in data]
    return (X[::2], y[::2]), (X[1::2], y[1::2])


CORPORA: dict[str, Callable[[], tuple[Data, Data]]] = {
    "CoNLL-2000": lambda: _words("conll2000", "train.txt", "test.txt"),
    "WNUT-17": lambda: _words("wnut17", "train.conll", "test.conll"),
    "usaddress": _usaddress,
}


def compare(path: Path, X: list[Any]) -> dict[str, Any]:
    """Label with pycrfsuite and with ours."""
    crf = ChainCRF.from_crfsuite(path)
    theirs = pycrfsuite.Tagger()
    theirs.open(str(path))
    differ = tokens = 0
    for x, y in zip(X, crf.predict(X), strict=True):
        expected = theirs.tag(x)
        differ += sum(a != b for a, b in zip(expected, y.tolist(), strict=True))
        tokens += len(expected)
    furthest = 0.0
    some = X[:_MARGINALS_OF]
    for x, found in zip(some, crf.predict_marginals(some), strict=True):
        theirs.set(x)
        labels = crf.classes_.tolist()
        expected = [[theirs.marginal(label, t) for label in labels] for t in range(len(x))]
        furthest = max(furthest, float(np.abs(np.array(expected) - found).max()))
    return {"tokens": tokens, "tags that differ": differ, "marginals": furthest}


def rows() -> Iterator[dict[str, Any]]:
    """Train each corpus with both and compare."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, read in CORPORA.items():
            (X, y), (new, _) = read()
            for whose, trainer in (("ours", Trainer), ("CRFsuite's", pycrfsuite.Trainer)):
                training = trainer(params=_PARAMETERS, verbose=False)
                for one in zip(X, y, strict=True):
                    training.append(*one)
                path = Path(folder) / f"{name}-{whose}"
                training.train(str(path))
                yield {"corpus": name, "file": whose, **compare(path, new)}


if __name__ == "__main__":
    print(json.dumps(list(rows())))
