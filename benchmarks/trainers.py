"""Who takes part: peers and our own solvers, each a module in ``benchmarks/peers`` and flags."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from benchmarks.problems import Spec

OURS = "prox-qn"
PAPER = "prox-qn-paper"
CRFSUITE = "python-crfsuite"
WRAPPERS = ("sklearn-crfsuite", "chaine")  # which run CRFsuite's own engine


@dataclass(frozen=True)
class Trainer:
    """One row of the tables."""

    name: str
    module: str  # in benchmarks/peers
    packages: tuple[str, ...] = ()  # distributions whose versions matter
    imports: str = "proxqn"
    is_rival: bool = False  # ours to compare with, stopped after some seconds

    @property
    def is_installed(self) -> bool:
        """Whether it can run here."""
        return find_spec(self.imports) is not None

    def flags(self, spec: Spec, limits: Limits) -> list[str]:
        """Return the adapter's command line for a problem."""
        flags = ["--lam", repr(spec.lam)]
        if spec.observed_only:
            flags.append("--observed-only")
        if self.module == "ours":
            flags += ["--solver", self.name, "--tol", repr(spec.tol)]
            most_seconds = limits.rival_seconds if self.is_rival else limits.our_seconds
            flags += ["--max-seconds", repr(most_seconds)]
        elif (most := limits.iterations(spec, wraps=self.name in WRAPPERS)) is not None:
            flags += ["--max-iterations", str(most)]
        return flags


@dataclass(frozen=True)
class Limits:
    """When to stop those that would take too long."""

    rival_seconds: float
    our_seconds: float  # on text the certificate closes long after the objective has settled
    max_iterations: dict[str, int]  # by problem; replaces the problem's own

    def iterations(self, spec: Spec, *, wraps: bool) -> int | None:
        """Return the iterations allowed to CRFsuite, or to one that wraps it."""
        own = (wraps and spec.wrapper_iterations) or spec.peer_iterations
        return self.max_iterations.get(spec.name, own)


ALL = (
    Trainer(OURS, "ours"),
    Trainer(PAPER, "ours", is_rival=True),
    Trainer(CRFSUITE, "crfsuite", ("python-crfsuite",), "pycrfsuite"),
    Trainer(
        "sklearn-crfsuite",
        "sklearn_crfsuite",
        ("sklearn-crfsuite", "python-crfsuite"),
        "sklearn_crfsuite",
    ),
    Trainer("chaine", "chaine", ("chaine",), "chaine"),
    *(Trainer(name, "ours", is_rival=True) for name in ("prox-gd", "owl-qn", "sgd", "bcd")),
)
TRAINERS = {trainer.name: trainer for trainer in ALL}


def find(names: str | None) -> list[Trainer]:
    """Return the trainers of a comma-separated list; without one, all."""
    if names is None:
        return list(ALL)
    unknown = sorted(set(names.split(",")) - set(TRAINERS))
    if unknown:
        raise ValueError(f"no trainer named {', '.join(unknown)}; there are {', '.join(TRAINERS)}.")
    return [TRAINERS[name] for name in names.split(",")]
