"""What a rival needs of a loss or a penalty, or a sentence that says what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem.abilities import Blocks, Steps
from proxqn.problem.oracle import NOTHING, Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.stepwise import BlockSteps, SampleSteps

_ELSEWHERE = "The solvers 'prox-qn' and 'prox-gd' take any penalty."


@final
@dataclass(frozen=True)
class OneForAll:
    """λ and ridge of all weights alike."""

    lam: float
    l2: float


def samples_of(oracle: Oracle, solver: str) -> SampleSteps:
    """Return the oracle's sample steps, or say what it lacks."""
    if isinstance(oracle, Steps):
        return oracle.samples()
    raise TypeError(_missing(oracle, solver, "Steps", "samples()", "single samples"))


def blocks_of(oracle: Oracle, solver: str) -> BlockSteps:
    """Return the oracle's block steps, or say what it lacks."""
    if isinstance(oracle, Blocks):
        return oracle.blocks()
    raise TypeError(_missing(oracle, solver, "Blocks", "blocks()", "blocks of weights"))


def _missing(oracle: Oracle, solver: str, ability: str, method: str, what: str) -> str:
    return (
        f"{type(oracle).__name__} does not work with solver {solver!r}, which needs {what}: it "
        f"must offer proxqn.problem.abilities.{ability}. Missing: {method}. The solvers "
        "'prox-qn', 'prox-gd' and 'owl-qn' work with any oracle."
    )


def one_for_all(penalty: Penalty, solver: str) -> OneForAll:
    """Return the λ and the ridge of all weights, for compiled steps that know no others.

    A penalty that is the same everywhere says so by arrays of one number.

    Examples
    --------
    >>> from proxqn.penalties import ElasticNet
    >>> one_for_all(ElasticNet(2.0, 0.5), "sgd")
    OneForAll(lam=2.0, l2=0.5)
    """
    local = penalty.on(NOTHING)
    names = ("lam", "l2", "lower", "upper")
    differing = [name for name, x in zip(names, local.arrays, strict=True) if len(x) != 1]
    if differing or local.bounded:
        got = f"numbers of its own for each weight ({', '.join(differing)})"
        raise ValueError(
            f"solver {solver!r} expects one lam and one l2 for all weights, and no bounds; got "
            f"{type(penalty).__name__} with {got if differing else 'bounds'}. {_ELSEWHERE}"
        )
    return OneForAll(float(local.lam[0]), float(local.l2[0]))


def refuse_bounds(penalty: Penalty, n_coordinates: int, solver: str) -> None:
    """Raise if any weight has a bound."""
    local = penalty.on(NOTHING)
    if any(len(x) != 1 for x in (local.lower, local.upper)):
        local = penalty.on(np.arange(n_coordinates, dtype=np.int64))
    if local.bounded:
        raise ValueError(
            f"solver {solver!r} expects weights without bounds; got {type(penalty).__name__} with "
            f"some. {_ELSEWHERE}"
        )
