"""The picture of a path."""

from __future__ import annotations

import numpy as np
import pytest
from tests.points import Logistic

from proxqn import minimize_path

pytest.importorskip("matplotlib")


def test_it_shows_coefficients_nonzeros_and_gap():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    path = minimize_path(Logistic(3, n=200, d=20), 5, x0=np.zeros(20), lower_bound=0.0)
    of_weights, of_nonzeros, of_gap = path.plot()
    assert len(of_weights.lines) == 20
    np.testing.assert_array_equal(of_nonzeros.lines[0].get_ydata(), path.nnz)
    proved = of_gap.lines[0].get_ydata()
    assert proved.max() == pytest.approx(path.eps, rel=0.05)
    assert of_gap.get_xscale() == of_gap.get_yscale() == "log"
    plt.close("all")
