"""Scores against λ, with their standard errors, as a picture."""

from __future__ import annotations

from typing import Any


def plot(fitted: Any, axes: Any = None) -> Any:
    """Draw the mean score of the folds, a bar of one standard error, and the λ chosen.

    Parameters
    ----------
    fitted : PathCV
        After ``fit``.
    axes : matplotlib axes, optional
        New ones by default.
    """
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
    axes.errorbar(fitted.lams_, fitted.cv_mean_, yerr=fitted.cv_error_, fmt=".-", capsize=2)
    axes.axvline(fitted.lam_, linestyle="--", color="tab:red", label=f"λ = {fitted.lam_:.3g}")
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xlabel("λ")
    axes.set_ylabel("score on held-out folds")
    axes.legend()
    return axes
