"""How long a model file with ten million feature names takes to write and to load.

    python -m benchmarks.model_file [--features 10_000_000]

Every feature has a weight, so none is left out: a file this large has as many nonzero weights.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.given_weights import chain_with_weights
from scipy.optimize import OptimizeResult

from proxqn import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.vocabulary import Vocabulary
from proxqn.io.model_file import load_with_encoder, save
from proxqn.run.status import Status


def large_model(n_features: int) -> tuple[ChainCRF, SequenceEncoder]:
    names = Vocabulary.from_names([f"U{j % 20:02d}:word{j}" for j in range(n_features)])
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(3, size=n_features), np.arange(n_features)
    coef = sp.csr_array((rng.normal(size=n_features), (rows, columns)))
    model = chain_with_weights(coef, rng.normal(size=(3, 3)), np.array(["B", "I", "O"]))
    model.objective_, model.gap_, model.n_iter_, model.n_parameters_ = 1.0, 0.0, 1, 3 * n_features
    model.estimate_, model.gap_box_, model.box_ = 0.0, 0.0, 0.0
    model.status_ = Status.GAP
    model.result_ = OptimizeResult(kkt=0.0)
    nothing = Vocabulary.from_names([])
    return model, SequenceEncoder(vocabulary=names, edge_vocabulary=nothing)


@contextmanager
def timed(times: dict[str, tuple[float, float]], what: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    times[what] = time.perf_counter() - wall, time.process_time() - cpu


def measure_times(n_features: int) -> dict[str, Any]:
    """Return wall and processor seconds of saving, of loading (thrice), of the first sentence."""
    model, encoder = large_model(n_features)
    times: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.proxqn"
        with timed(times, "save"):
            save(model, path, encoder=encoder)
        megabytes = os.path.getsize(path) / 1e6
        for k in range(1, 4):
            with timed(times, f"load ({k})"):
                saved = load_with_encoder(path)
        assert saved.encoder is not None
        with timed(times, "first sentence: index of the names"):
            new = saved.encoder.transform([[["U00:word0"], ["U01:word1", "unseen"]]])
        with timed(times, "first sentence: labels"):
            saved.model.predict(new.X, lengths=new.lengths)
    return {"features": n_features, "megabytes": megabytes, "seconds": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=10_000_000)
    found = measure_times(parser.parse_args().features)
    print(f"{found['features']:,} features, {found['megabytes']:,.0f} MB")
    for what, (wall, cpu) in found["seconds"].items():
        print(f"{what:40s} {wall:6.2f} s, {cpu:5.2f} s of a processor")


if __name__ == "__main__":
    main()
