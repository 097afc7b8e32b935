"""A path as a picture: coefficients, nonzeros and what is known, against λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from proxqn.path.result import Path

_CURVES = 30  # weights drawn, the largest
_BETWEEN = 16  # λs drawn between two that were solved


def plot(path: Path, axes: Sequence[Any] | None = None) -> Any:
    """Draw a path on three axes, new ones by default, and return them.

    Parameters
    ----------
    axes : three matplotlib axes, optional
        For coefficients, nonzeros and gap.
    """
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    of_weights, of_nonzeros, of_gap = axes
    lams = path.lams_
    of_weights.plot(lams, _largest(path.weights).T, linewidth=0.8)
    of_weights.set_ylabel(f"weights, the {_CURVES} largest")
    of_nonzeros.plot(lams, path.nnz, ".-")
    of_nonzeros.set_ylabel("weights off zero")
    _draw_gap(path, of_gap)
    for one in axes:
        one.set_xscale("log")
        one.set_xlabel("λ")
        one.invert_xaxis()
    return axes


def _largest(weights: Any) -> Any:
    size = abs(weights).max(axis=1).toarray().ravel()
    chosen = np.sort(np.argsort(size, kind="stable")[::-1][:_CURVES])
    return weights.tocsr()[chosen].toarray()


def _draw_gap(path: Path, axes: Any) -> None:
    """Draw what is proved at every λ, and what is estimated where that is another thing."""
    between = np.linspace(1.0, 0.0, _BETWEEN, endpoint=False)
    lams = np.concatenate(
        [s.below.lam + between * (s.above.lam - s.below.lam) for s in path.segments()]
        + [path.lams_[-1:]]
    )
    found = [path.at(lam) for lam in lams]
    size = np.maximum([abs(one.fun) for one in found], 1e-300)
    gaps, estimates = (
        np.array([one[name] for one in found]) / size for name in ("gap", "estimate")
    )
    axes.plot(lams, gaps, label="proved")
    if (estimates < gaps).any():
        axes.plot(lams, estimates, "--", label="estimated")
    at_lams = [row.gap / max(abs(row.objective), 1e-300) for row in path.rows]
    axes.plot(path.lams_, at_lams, ".", color="tab:blue")
    axes.set_yscale("log")
    axes.set_ylabel("gap, share of the objective")
    axes.legend()
