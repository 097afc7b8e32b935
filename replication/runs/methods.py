"""The methods that are compared, under the names of the command line, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

from proxqn import ProxQN
from proxqn.minimization import Solver
from proxqn.solvers.rivals.bcd import BCD
from proxqn.solvers.rivals.owl_qn import OWLQN
from proxqn.solvers.rivals.prox_gd import ProxGD
from proxqn.solvers.rivals.sgd import SGD


@final
@dataclass(frozen=True)
class Method:
    """A method and its settings.

    Attributes
    ----------
    name, title
        On the command line and in file names; in tables and figures.
    about : str
        What it is, for a reader of the page.
    solver : callable
        Makes the settings, given the SGD step that the paper used on the problem.
    colour, dashes
        Of its line: Okabe and Ito's colours, told apart by colour-blind readers.
    """

    name: str
    title: str
    about: str
    solver: Callable[[float], Solver]
    colour: str
    dashes: str = "-"


PROX_QN: Final = "prox-qn"
PROX_QN_PAPER: Final = "prox-qn-paper"
SGD_PAPER: Final = "sgd-paper"
REFERENCE: Final = "reference"
WITHOUT_SHRINKING: Final = ("prox-qn-no-shrinking", "prox-qn-paper-no-shrinking")

_ALL = (
    Method(
        PROX_QN,
        "Prox-QN",
        "proximal quasi-Newton with this package's settings (curvature of chains is drawn from the "
        "model), in double precision like the others",
        lambda _: ProxQN(single=False),
        "#0072B2",
    ),
    Method(
        PROX_QN_PAPER,
        "Prox-QN (paper's settings)",
        "proximal quasi-Newton as in the paper's appendix: ten curvature pairs, ten inner passes, "
        "memory cleared at each epoch, no warm-up",
        lambda _: ProxQN.paper(),
        "#56B4E9",
        "--",
    ),
    Method(
        "prox-gd",
        "Prox-GD",
        "proximal gradient with backtracking",
        lambda _: ProxGD(),
        "#009E73",
    ),
    Method(
        "owl-qn",
        "OWL-QN",
        "Andrew and Gao's orthant-wise L-BFGS with ten pairs",
        lambda _: OWLQN(),
        "#D55E00",
    ),
    Method(
        "sgd",
        "SGD",
        "stochastic gradient with Tsuruoka's cumulative penalty; its first step is chosen "
        "on a subsample, and that choice is timed",
        lambda _: SGD(),
        "#CC79A7",
    ),
    Method(
        SGD_PAPER,
        "SGD (paper's step)",
        "the same with the first step that the paper names",
        lambda rate: SGD(rate=rate),
        "#8C5A7B",
        "--",
    ),
    Method(
        "bcd",
        "BCD",
        "blockwise coordinate descent with the paper's line search, shrinking and floor",
        lambda _: BCD(),
        "#E69F00",
    ),
    Method(
        WITHOUT_SHRINKING[0],
        "Prox-QN (no shrinking)",
        "our settings, but every variable in every iteration and no start on a subsample",
        lambda _: ProxQN(shrink=False, warm_up=0.0, single=False),
        "#0072B2",
        ":",
    ),
    Method(
        WITHOUT_SHRINKING[1],
        "Prox-QN (paper's settings, no shrinking)",
        "the paper's settings, but every variable in every iteration",
        lambda _: replace(ProxQN.paper(), shrink=False),
        "#56B4E9",
        ":",
    ),
    Method(
        REFERENCE,
        "Reference",
        "Prox-QN run on to a tight tolerance, for f(w*) alone",
        lambda _: ProxQN(),
        "#6b6b6b",
    ),
)
METHODS: Final = {method.name: method for method in _ALL}

FIVE: Final = (PROX_QN, "prox-gd", "owl-qn", "sgd", "bcd")
DEFAULT: Final = (PROX_QN, PROX_QN_PAPER, "prox-gd", "owl-qn", "sgd", "bcd")
CHOICE: Final = tuple(name for name in METHODS if name != REFERENCE)
