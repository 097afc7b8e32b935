"""OWL-QN beside CRFsuite's (libLBFGS): passes over the data to the same objective on OCR."""

from __future__ import annotations

import numpy as np
import pytest

pycrfsuite = pytest.importorskip("pycrfsuite", reason="the peer python-crfsuite is not installed")

from benchmarks.peers import crfsuite  # noqa: E402
from benchmarks.problems import ocr  # noqa: E402

from proxqn.losses.chain.oracle import ChainOracle  # noqa: E402
from proxqn.minimization import minimize  # noqa: E402

LAM = 16.0  # as strong for 1,000 words as the paper's 100 for 6,216


def test_no_more_passes_than_crfsuite():
    problem = ocr(degree=1, n_words=1000)
    oracle = ChainOracle(problem.X, problem.y, problem.lengths, n_labels=problem.n_labels)
    best = minimize(oracle, LAM, tol=1e-5).fun
    peer = crfsuite.train(problem, LAM, max_iterations=80).history
    evaluations = 1 + np.cumsum([row.evaluations for row in peer])  # one before the first row
    theirs = {row.logged_objective: n for row, n in zip(peer, evaluations, strict=True)}
    ours = minimize(oracle, LAM, solver="owl-qn", tol=0.0, max_iter=80).trace
    for level, spare in ((1e-2, 3), (1e-3, 0)):  # ours measures the first step by a pass of its own
        target = (1.0 + level) * best
        needed = min(row.calls["forward"] for row in ours if row.objective <= target)
        assert needed <= spare + min(n for f, n in theirs.items() if f <= target)
