"""The ideas of the solver, and how each is switched off.

Most are settings. Those that are objects lose the method that does their work, and those that are
only a number in a module lose it to a number that does nothing; both in a process that ends with
the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from proxqn.solvers.certificate.witness import RecentIterates
from proxqn.solvers.curvature import draw_schedule
from proxqn.solvers.curvature.pairs import Scaling
from proxqn.solvers.prox_qn import ProxQN, loop, start
from proxqn.solvers.prox_qn.epochs import Epochs
from proxqn.solvers.prox_qn.models import Models
from proxqn.solvers.prox_qn.search import FloatSearch
from proxqn.solvers.standing import Standing

Change = tuple[Any, str, Any]  # an owner, the name of what it has, and what stands there instead


@dataclass(frozen=True)
class Idea:
    """Something the solver does beyond the paper.

    Parameters
    ----------
    off : dict
        Settings without it.
    changes : callable
        What else to replace.
    """

    name: str
    title: str
    off: dict[str, Any] = field(default_factory=dict)
    changes: Callable[[], list[Change]] = list

    @contextmanager
    def switched_off(self, seed: int) -> Iterator[ProxQN]:
        """Give the settings without it, and keep it from working meanwhile.

        A name that the solver no longer has raises an AttributeError: then this list is out of
        date.
        """
        with ExitStack() as stack:
            for owner, name, replacement in self.changes():
                stack.enter_context(patch.object(owner, name, replacement))
            if self is PAPER:
                yield replace(ProxQN.paper(), seed=seed)
            else:
                yield ProxQN(**(self.off | {"seed": seed}))


def _never(*_: Any) -> bool:
    return False


def _always_near() -> list[Change]:
    Models.near = False  # an attribute of instances alone, for patch to find
    return [(Models, "near", property(lambda self: True, lambda self, value: None))]


def _no_early_look() -> list[Change]:
    """Let epochs end by themselves alone; the look after them may still end the run."""
    over, would_end = Epochs.over, Standing.would_end
    ended = False

    def noting(self: Epochs, violation: float, iteration: int) -> bool:
        nonlocal ended
        ended = over(self, violation, iteration)
        return ended

    def after_an_epoch(self: Standing, point: Any, at: Any) -> bool:
        return ended and would_end(self, point, at)

    return [(Epochs, "over", noting), (Standing, "would_end", after_an_epoch)]


def _constant(module: Any, name: str, value: float) -> Callable[[], list[Change]]:
    return lambda: [(module, name, value)]


FULL = Idea("full", "everything on")
PAPER = Idea("paper", "all of it: the paper's settings")
# The most telling first: a run that is cut off has no time for the last.
IDEAS = (
    Idea("draws", "curvature drawn from the model", {"draws": 0.0}),
    Idea("stochastic", "a start by stochastic steps", {"stochastic": False}),
    Idea("warm-up", "a start from a sample", {"warm_up": 0.0}),
    Idea("single", "single precision", {"single": False}),
    Idea("memory", "100 pairs, not 30", {"memory": 30}),
    Idea("keep-pairs", "pairs kept over epochs", {"keep_memory": False}),
    Idea("near", "draws only once near", changes=_always_near),
    Idea("diagonal", "B₀ scaled by a diagonal", {"scaling_power": 0.0}),
    Idea("geometric", "γ a geometric mean", {"scaling": Scaling.PAPER}),
    Idea("measured", "the first γ measured", {"gamma": 1.0}),
    Idea("first-share", "first epochs take few variables", {"first_share": 1.0}),
    Idea("lazy", "lazy bookkeeping", {"lazy": False}),
    Idea(
        "float-search",
        "steps below the rounding of floats",
        changes=lambda: [(FloatSearch, "concerns", _never)],
    ),
    Idea("early-look", "a look when the run would end", changes=_no_early_look),
    Idea(
        "witness",
        "proof by an average of iterates",
        changes=lambda: [(RecentIterates, "would_end", _never)],
    ),
    Idea("second-sample", "a sample of the sample", changes=_constant(start, "_DEPTH", 1)),
    Idea("old-pairs", "old pairs correct new draws", changes=_constant(draw_schedule, "_PAIRS", 0)),
    Idea(
        "rough",
        "rough inner problems at first",
        changes=_constant(draw_schedule, "_ROUGH_STEPS", 0),
    ),
    Idea(
        "decay",
        "a ridge that decays (12 throughout)",
        changes=_constant(draw_schedule, "_LEAST_RIDGE", 12.0),
    ),
    Idea(
        "high-ridge",
        "a high ridge at first (3 throughout)",
        changes=_constant(draw_schedule, "_RIDGE", 3.0),
    ),
    Idea(
        "raise",
        "a ridge raised after refusals",
        changes=_constant(draw_schedule, "_OFTEN", math.inf),
    ),
    Idea(
        "same-draws",
        "draws kept while little is gained",
        changes=_constant(draw_schedule, "_SAME_PLACE", -1.0),
    ),
    Idea(
        "batches",
        "variables dropped in batches",
        changes=_constant(loop, "_WORTH_DROPPING", 1.0),
    ),
    PAPER,
)
BY_NAME = {idea.name: idea for idea in (FULL, *IDEAS)}
