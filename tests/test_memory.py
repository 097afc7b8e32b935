"""A billion weights: memory follows the data, never the number of parameters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, resource
import numpy as np
import scipy.sparse as sp
from proxqn import ChainOracle, lambda_max, minimize

rng = np.random.default_rng(0)
n_tokens, n_features, n_labels, per_token = 100_000, 50_000_000, 20, 10
labels = rng.integers(n_labels, size=n_tokens)
indices = rng.integers(n_features, size=(n_tokens, per_token))
indices[:, 0] = 1_000_003 * labels + rng.integers(3, size=n_tokens)  # something to learn
X = sp.csr_array(
    (np.ones(indices.size, dtype=np.float32), indices.ravel(),
     np.arange(0, indices.size + 1, per_token)),
    shape=(n_tokens, n_features),
)
oracle = ChainOracle(X, labels, np.full(n_tokens // 10, 10), n_labels=n_labels)
lam = 0.2 * lambda_max(oracle)
result = minimize(oracle, lam, tol=1e-4)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps({
    "peak": peak / 1e6, "d": oracle.n_parameters, "entries": X.nnz,
    "success": bool(result.success), "nnz": result.nnz, "nit": result.nit,
}))
"""

DENSE_PROGRAM = """
import json
import numpy as np
from proxqn import ChainCRF

def peak():
    with open("/proc/self/status") as status:
        return 1e3 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

rng = np.random.default_rng(0)
lengths = np.full(3000, 10)
X = rng.standard_normal((lengths.sum(), 1000), dtype=np.float32)
y = (X[:, :10] + rng.gumbel(size=(len(X), 10)).astype(np.float32)).argmax(axis=1)
before = peak()
crf = ChainCRF(lam=300.0).fit(X, y, lengths)
fitted = peak()
crf.predict(X, lengths)
sizes = [(size - before + X.nbytes) / X.nbytes for size in (fitted, peak())]
print(json.dumps({"sizes": sizes, "nnz": int(crf.coef_.nnz)}))
"""


def report_of(program: str) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's VmHWM")
def test_embeddings_are_held_once():
    report = report_of(DENSE_PROGRAM)
    assert report["nnz"] >= 10
    fitted, predicted = report["sizes"]
    assert fitted < 1.5  # times the float32 data, which are one of it; a copy would make it two
    assert predicted < 1.5


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's VmHWM")
def test_a_billion_weights_fit_below_one_and_a_half_gigabytes():
    report = report_of(PROGRAM)
    assert report["d"] > 1_000_000_000
    assert report["entries"] == 1_000_000
    assert report["success"]
    assert report["nnz"] >= 20
    assert report["peak"] < 1.5  # GB; one array of length d would take 8
