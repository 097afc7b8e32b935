"""One training in a process of its own: ``python -m benchmarks.stand_ins.train ours 0 model``.

Prints what it took, in JSON. Only the call of parserator's ``train`` is timed: features, appending,
fit and writing.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import time
import warnings
from typing import Any

from benchmarks.stand_ins.parsers import PARSERS, Parser, labelled
from benchmarks.stand_ins.peers import peer
from benchmarks.stand_ins.place import put_in_place

C1, C2 = 0.1, 0.01  # parserator's own


def main(whose: str, number: str, path: str) -> None:
    """Train one of the parsers."""
    parser = PARSERS[int(number)]
    if whose == "ours":
        put_in_place()
    sys.path[:0] = [str(peer("parserator")), str(peer("usaddress"))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no model yet
        module = importlib.import_module(parser.package)
    from parserator import training

    data = labelled(parser, module)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        wall, cpu = time.perf_counter(), time.process_time()
        training.train(module, data, path)
        seconds = time.process_time() - cpu
        wall = time.perf_counter() - wall
    found = {
        "sequences": len(data),
        "tokens": sum(len(sequence) for _, sequence in data),
        "seconds": seconds,
        "wall_seconds": wall,
        "objective": objective(parser, module, data, path),
        "warnings": sorted({str(one.message) for one in caught}),
    }
    print(json.dumps(found))


def objective(parser: Parser, module: Any, data: list[Any], path: str) -> float:
    """Return CRFsuite's objective of a model file, whoever wrote it."""
    from proxqn import ChainCRF

    crf = ChainCRF.from_crfsuite(path)
    X = [module.tokens2features([token for token, _ in sequence]) for _, sequence in data]
    y = [[label for _, label in sequence] for _, sequence in data]
    penalty = 0.0
    for w in (crf.coef_.data, crf.transitions_.ravel()):
        penalty += C1 * abs(w).sum() + C2 * (w * w).sum()
    return float(penalty - crf.log_probability(X, y).sum())


if __name__ == "__main__":
    main(*sys.argv[1:])
