"""Which runs an experiment consists of, and which of them are still to be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from replication.problems.spec import ProblemSpec
from replication.runs import methods
from replication.runs.records import Origin, Plan, Record, Store, why_not_reused
from replication.runs.worker import Request

_REFERENCE_TOL: Final = 1e-9
_REFERENCE_SECONDS: Final = 60.0  # at the least, but for --quick


@final
@dataclass(frozen=True)
class Choice:
    """What the user asked for; None and an empty tuple stand for what is usual."""

    lams: tuple[float, ...] = ()
    methods: tuple[str, ...] = ()
    seconds: float | None = None


def default_seconds(spec: ProblemSpec) -> float:
    """Return the seconds of training for each run: all of OCR then takes half an hour."""
    if spec.quick:
        return 0.2
    return 80.0 if spec.kind == "ocr" else 60.0


def default_methods(spec: ProblemSpec) -> tuple[str, ...]:
    """Return the five methods, and Prox-QN and SGD (on documents) with the paper's settings."""
    more = (methods.SGD_PAPER,) if spec.kind != "ocr" else ()
    return methods.DEFAULT + more


def plans(spec: ProblemSpec, choice: Choice) -> list[Plan]:
    """Return the runs on one problem: the references first, then λ by λ.

    On OCR, at the main λ only, also Prox-QN without shrinking, for the figure over passes, and SGD
    with the paper's step.
    """
    seconds = default_seconds(spec) if choice.seconds is None else choice.seconds
    lams = choice.lams or spec.lams
    main = main_lam(spec, lams)
    patience = max(seconds, 0.5 if spec.quick else _REFERENCE_SECONDS)
    references = [
        Plan(spec.kind, methods.REFERENCE, lam, patience, _REFERENCE_TOL, None) for lam in lams
    ]
    runs = []
    for lam in lams:
        names = choice.methods or default_methods(spec)
        if not choice.methods and lam == main and spec.kind == "ocr":
            names += (methods.SGD_PAPER, *methods.WITHOUT_SHRINKING)
        runs += [Plan(spec.kind, name, lam, seconds, scored=lam == main) for name in names]
    return references + runs


def main_lam(spec: ProblemSpec, lams: Sequence[float]) -> float:
    """Return the λ of the main figures: the paper's where it is among them, else the first."""
    return spec.lams[0] if spec.lams[0] in lams else lams[0]


@final
@dataclass(frozen=True)
class Work:
    """What is left to do, what is there already, and why some of that is made again."""

    stages: tuple[list[Request], list[Request]]  # references first: the others end at theirs
    plans: list[Plan]
    kept: list[Record]
    made_again: dict[str, str]  # run -> why


def work_to_do(
    specs: Sequence[ProblemSpec], choice: Choice, folder: Path, *, jobs: int, resume: bool
) -> Work:
    """Compare what is asked for with what the folder holds."""
    store = Store(folder)
    stages: tuple[list[Request], list[Request]] = ([], [])
    left, kept, made_again = [], [], {}
    for spec in specs:
        origin, missing = Origin(spec.identity), []
        for plan in plans(spec, choice):
            found = store.find(plan.name) if resume else None
            why = why_not_reused(found, plan, origin)
            if found is not None and why is None:
                kept.append(found)
                continue
            if found is not None and why is not None:
                made_again[plan.name] = why
            missing.append(plan)
        if spec.quick:
            stages[1].extend(_shared(spec, missing, folder, jobs))
        else:
            for plan in missing:
                later = plan.method != methods.REFERENCE
                stages[later].append(Request(spec, (plan,), str(folder)))
        left += missing
    return Work(stages, left, kept, made_again)


def _shared(spec: ProblemSpec, missing: list[Plan], folder: Path, jobs: int) -> list[Request]:
    """Let small runs share processes, λ by λ, the reference first."""
    by_lam = sorted({plan.lam for plan in missing}, key=[p.lam for p in missing].index)
    hands: list[list[Plan]] = [[] for _ in range(min(jobs, max(len(by_lam), 1)))]
    for i, lam in enumerate(by_lam):
        hands[i % len(hands)] += [plan for plan in missing if plan.lam == lam]
    return [Request(spec, tuple(hand), str(folder)) for hand in hands if hand]
