import numpy as np
import pytest

from proxqn import ChainCRF
from proxqn.ui.tables import RunSummary, format_columns, phase_table, result_table

X = np.eye(4)[np.arange(40) % 4]
Y = np.arange(40) % 4


@pytest.fixture(scope="module")
def model():
    return ChainCRF(lam=0.1).fit(X, Y, lengths=[20, 20])


def test_summary_is_what_the_model_says(model):
    run = RunSummary.from_estimator(model, accuracy=0.5)
    assert run.objective == model.objective_
    assert run.gap == model.gap_
    assert run.nnz == model.coef_.nnz + np.count_nonzero(model.transitions_)
    assert run.n_parameters == 32
    assert run.iterations == model.n_iter_
    assert run.calls["forward"] == pytest.approx(model.result_.nfev, abs=1)
    assert sum(run.phase_seconds.values()) == pytest.approx(run.seconds)


def test_columns_line_up(model):
    runs = [RunSummary.from_estimator(model, accuracy=a) for a in (None, 0.5)]
    for table in (result_table(runs), phase_table(runs[0])):
        lines = table.splitlines()
        ends = {i for i, mark in enumerate(lines[1]) if mark == " "}
        assert all(line[i : i + 1] in (" ", "") for line in lines for i in ends)
    assert "sweep (gradient, all weights)" in phase_table(runs[0])


def test_long_cells_widen_their_column():
    lines = format_columns(["a", "b"], [["wide cell", "1"], ["x", "22"]]).splitlines()
    assert lines == ["        a   b", "---------  --", "wide cell   1", "        x  22"]
