"""A billion weights: memory follows the data, never the number of parameters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's VmHWM")
def test_a_billion_weights_fit_below_one_and_a_half_gigabytes():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["d"] > 1_000_000_000
    assert report["entries"] == 1_000_000
    assert report["success"]
    assert report["nnz"] >= 20
    assert report["peak"] < 1.5  # GB; one array of length d would take 8
