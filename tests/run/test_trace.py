"""The record of a run."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from tests.problems import random_chain

from proxqn import minimize
from proxqn.problem.meter import OPERATIONS
from proxqn.run.trace import Row, Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    return minimize(random_chain(0, n_labels=4, n_sequences=30).oracle(), 0.5, tol=1e-8).trace


def test_one_row_per_iteration_and_one_for_the_start(trace):
    assert trace.column("iteration").tolist() == list(range(len(trace)))
    assert len(trace) > 5


def test_columns_are_consistent(trace):
    assert (np.diff(trace.column("objective")) <= 1e-12 * trace[0].objective).all()
    assert (trace.column("gap")[1:] >= 0).all()
    assert (np.diff(trace.column("seconds")) >= 0).all()
    for name in OPERATIONS:
        assert (np.diff(trace.column(f"n_{name}")) >= 0).all()
        assert (np.diff(trace.column(f"s_{name}")) >= 0).all()
    assert (trace.column("nnz") <= trace.column("working_set"))[1:].all()
    assert (np.diff(trace.column("epoch")) >= 0).all()


def test_forward_passes_are_the_trials_and_backward_passes_the_steps(trace):
    """One forward pass a trial, one backward pass an accepted step: what the method promises."""
    forward, backward = trace.column("n_forward"), trace.column("n_backward")
    np.testing.assert_array_equal(np.diff(backward), 1)
    extra = np.diff(forward) - trace.column("trials")[1:]
    assert extra.sum() <= 1  # a measurement of the first curvature at the most
    assert (extra >= 0).all()


def test_sweeps_are_made_once_an_epoch(trace):
    assert trace[-1].calls["sweep"] == trace[-1].epoch or trace[-1].calls["sweep"] <= len(trace)
    assert trace[-1].certified
    assert sum(row.certified for row in trace) == trace[-1].calls["sweep"]


def test_to_pandas_has_one_row_per_iteration(trace):
    pandas = pytest.importorskip("pandas")
    frame = trace.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(trace)
    np.testing.assert_array_equal(frame["objective"], trace.column("objective"))
    assert {"n_forward", "s_forward", "gap", "kkt", "event", "step"} <= set(frame.columns)


def test_to_csv_reads_back(trace, tmp_path):
    trace.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(trace)
    assert [float(row["objective"]) for row in rows] == trace.column("objective").tolist()


def test_an_empty_trace_can_be_written(tmp_path):
    Trace().to_csv(tmp_path / "empty.csv")
    assert (tmp_path / "empty.csv").read_text().startswith("iteration,")


def test_flat_names_do_not_collide():
    row = Row(1, 1, 1.0, math.inf, 1.0, False, 0, 0, 1.0, 1, 1.0, 0.0, {"move": 2}, {"move": 0.5})
    flat = row.flat()
    assert (flat["n_move"], flat["s_move"]) == (2, 0.5)
    assert not {"calls", "phase_seconds"} & set(flat)
