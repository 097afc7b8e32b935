"""What is tried where no step was found, one thing after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxqn.solvers.prox_qn.loop import Run


def remedies(run: Run) -> Iterator[str]:
    """Let the run try as it is, then each time after what may help; yield the event to record.

    1. The model to fall back on: without draws, say. Others may do better from the next iterate.
    2. Double precision.
    3. ``B = γD`` without pairs, with γ measured here: they may be of another place.
    4. A larger γ: far out the loss is all but linear, and the curvature found is rounding.
    """
    yield ""
    while (simpler := run.curvature.fall_back()) is not None:
        run.curvature = simpler
        run.epochs.end_after(run.record.iteration + 1)
        yield ""
    if run.refine():
        yield ""
    reason = "no step made progress" if run.models.pairs.usable else "B was not positive"
    event = f"memory cleared: {reason}"
    run.models.pairs.begin_anew(run.search.point, run.at)
    yield event
    run.models.pairs.be_cautious(run.at, run.standing.iterate.objective)
    yield event
