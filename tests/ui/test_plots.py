import sys

import numpy as np
import pytest

from proxqn import ChainCRF, minimize
from proxqn.run.trace import Trace
from proxqn.ui.plots import plot_trace

X = np.eye(4)[np.arange(40) % 4]
Y = np.arange(40) % 4


@pytest.fixture(scope="module")
def trace():
    return ChainCRF(lam=0.1).fit(X, Y, lengths=[20, 20]).trace_


@pytest.mark.parametrize("name", ["run.png", "run.svg", "new/folder/run.pdf"])
def test_writes_the_file(trace, tmp_path, name):
    path = plot_trace(trace, tmp_path / name, title="A run")
    assert path == tmp_path / name
    assert path.stat().st_size > 5000


def test_run_without_a_bound(tmp_path):
    def loss(w):
        return float(((w - 3) ** 2).sum()), 2 * (w - 3)

    result = minimize(loss, lam=1.0, x0=np.zeros(3), tol=1e-8)
    assert plot_trace(result.trace, tmp_path / "run.svg").exists()


def test_leaves_pyplot_alone(trace, tmp_path):
    before = "matplotlib.pyplot" in sys.modules
    plot_trace(trace, tmp_path / "run.png")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_refuses_an_empty_trace(tmp_path):
    with pytest.raises(ValueError, match="no iterations"):
        plot_trace(Trace(), tmp_path / "run.png")


def test_says_what_to_install(trace, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"proxqn\[plots\]"):
        plot_trace(trace, tmp_path / "run.png")
