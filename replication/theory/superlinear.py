"""Theorems 1 and 2: q-superlinear convergence in z = Uᵀw although the Hessian is singular.

U is an orthonormal basis of the space T on which the loss depends: the column space of Φ. The
solver is run as the theory has it: a memory that forgets nothing, inner problems solved (almost)
exactly, no shrinking. The proof also wants B₀ to vanish on the null space, which needs U; here
``B₀ = γ_t I`` as in the paper's section 2.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from proxqn import ProxQN, minimize
from proxqn.minimization import Solver
from proxqn.problem import Floats, Ints
from proxqn.solvers.rivals.prox_gd import ProxGD
from replication.report.parts import Curves, Section, Series, Table
from replication.runs.watching import Iterates
from replication.theory.labelings import split
from replication.theory.optimum import Optimum, optimum
from replication.theory.oracle_calls import Unpriced
from replication.theory.problems import TheoryProblem

AS_IN_THE_THEORY: Final = replace(
    ProxQN.paper(),
    memory=1000,
    keep_memory=True,
    gamma=None,
    max_inner=1000,
    inner_tolerance=1e-8,
    balance_inner=False,
    shrink=False,
)
CONSTANT_STEP: Final = ProxGD(relaxation=1.0)
_END = 1e-12  # of λ: the violation at which rounding takes over
_MAX_ITER = 300


@final
@dataclass(frozen=True)
class Run:
    """Iterates t = 0 … T of one solver, measured in z."""

    distance: Floats  # ‖z_t - z*‖ [T + 1]
    excess: Floats  # f(w_t) - f(w*) [T + 1]
    steps: Floats  # by which each iterate was reached [T + 1]
    nonzeros: Ints  # [T + 1]

    @property
    def ratios(self) -> Floats:
        """‖z_{t+1} - z*‖ / ‖z_t - z*‖ [T]."""
        quotients: Floats = self.distance[1:] / self.distance[:-1]
        return quotients

    @property
    def unit_phase(self) -> int:
        """The first t from which on every iterate was reached by a step of 1."""
        others = np.flatnonzero(self.steps[1:] != 1.0)
        return int(others[-1]) + 2 if len(others) else 1

    def mean_ratios(self) -> tuple[float, float, float]:
        """Return the geometric means of the ratios in the run's first, middle and last third."""
        first, middle, last = (
            math.exp(float(np.log(part).mean())) for part in np.array_split(self.ratios, 3)
        )
        return first, middle, last


@final
@dataclass(frozen=True)
class Findings:
    """What was measured on one problem."""

    problem: TheoryProblem
    rank: int
    best: Optimum
    elsewhere: tuple[float, float]  # distances of another solver's optimum in w and in z
    lipschitz: float  # L = L_ℓ + λ√d
    quasi_newton: Run
    gradient: Run

    @property
    def falls(self) -> bool:
        """Whether the ratio falls from third to third, to less than half of what it was."""
        first, middle, last = self.quasi_newton.mean_ratios()
        return first > middle > last and last < 0.5 * first

    @property
    def gradient_is_linear(self) -> bool:
        """Whether prox-GD's ratio does not fall."""
        first, _, last = self.gradient.mean_ratios()
        return last >= 0.99 * first

    @property
    def bound_share(self) -> float:
        """The largest ``(f - f*) / (L ‖z - z*‖)`` in the phase of unit steps; at most 1 if true.

        Infinite where the run does not end with such a phase.
        """
        run = self.quasi_newton
        phase = slice(run.unit_phase, None)
        shares = run.excess[phase] / (self.lipschitz * run.distance[phase])
        return float(shares.max()) if len(shares) else math.inf


def study(problem: TheoryProblem, gradient_steps: int) -> Findings:
    """Run both methods on a problem from w = 0 and measure them."""
    U = split(problem.labelings.matrix()).space
    best, other = optimum(problem), optimum(problem, "owl-qn")
    d = problem.labelings.n_coordinates
    return Findings(
        problem=problem,
        rank=U.shape[1],
        best=best,
        elsewhere=(
            float(np.linalg.norm(best.w - other.w)),
            float(np.linalg.norm(U.T @ (best.w - other.w))),
        ),
        lipschitz=problem.labelings.lipschitz() + problem.lam * math.sqrt(d),
        quasi_newton=_run(problem, AS_IN_THE_THEORY, U, best, _MAX_ITER),
        gradient=_run(problem, CONSTANT_STEP, U, best, gradient_steps),
    )


def _run(problem: TheoryProblem, solver: Solver, U: Floats, best: Optimum, max_iter: int) -> Run:
    iterates = Iterates(_END * problem.lam)
    result = minimize(
        Unpriced(problem.oracle),
        problem.lam,
        solver=solver,
        tol=0.0,
        stop="gap",
        max_iter=max_iter,
        callback=iterates,
    )
    rows = list(result.trace)
    weights = [w.dense(len(best.w)) for w in iterates.weights]
    return Run(
        distance=np.array([np.linalg.norm(U.T @ (w - best.w)) for w in weights]),
        excess=np.array([row.objective for row in rows]) - best.objective,
        steps=np.array([row.step for row in rows]),
        nonzeros=np.array([row.nnz for row in rows]),
    )


def section(findings: list[Findings]) -> Section:
    """Put the findings into words, tables and a figure."""
    paragraphs = [
        "The paper's Theorem 1: although the Hessian is singular, proximal quasi-Newton converges "
        "q-superlinearly in z = Uᵀw, the part of the weights the loss depends on: the ratio "
        "‖z_{t+1} - z*‖ / ‖z_t - z*‖ falls to 0. Theorem 2: then f(w_t) - f(w*) ≤ L ‖z_t - z*‖, "
        "L = L_ℓ + λ√d. We ran the solver of this package as the theory has it (a memory that "
        "forgets nothing, inner problems solved almost exactly, no shrinking), beside proximal "
        "gradient descent with a constant step, both from w = 0, until the violation of the "
        f"optimality conditions was below {_END:.0e} λ. The problems are small CRFs on real "
        "pictures rather than a made-up matrix, because redundancy is what makes a CRF's Hessian "
        "singular in practice."
    ]
    for found in findings:
        paragraphs += _words(found)
    return Section(
        title="Superlinear convergence without strong convexity",
        paragraphs=tuple(paragraphs),
        tables=tuple(_table(found) for found in findings),
        curves=tuple(_curves(found) for found in findings),
        holds=all(
            found.falls and found.gradient_is_linear and found.bound_share <= 1.0
            for found in findings
        ),
    )


def _words(found: Findings) -> tuple[str, str]:
    problem, best, run = found.problem, found.best, found.quasi_newton
    in_w, in_z = found.elsewhere
    first, middle, last = run.mean_ratios()
    start, _, end = found.gradient.mean_ratios()
    unique = (
        f"its {np.count_nonzero(best.w)} nonzero weights can move in {best.freedom} directions "
        f"without changing the loss, and OWL-QN's optimum is {in_w:.1e} away in w but only "
        f"{in_z:.0e} in z"
        if best.freedom
        else f"its {np.count_nonzero(best.w)} nonzero weights happen to be determined by the loss"
    )
    verdict = "It falls, as the theorem says" if found.falls else "That is not the fall expected"
    linear = "does not fall" if found.gradient_is_linear else "falls too, which was not expected"
    bound = "holds" if found.bound_share <= 1.0 else "does NOT hold"
    return (
        f"{problem.name.capitalize()}: {problem.description}; λ = {problem.lam:.3g}. "
        f"d = {problem.labelings.n_coordinates} weights, but the loss depends on a space of "
        f"{found.rank} dimensions only. w* was polished by Newton's method until the optimality "
        f"conditions hold to {best.violation:.0e}; {unique}.",
        f"In {len(run.ratios)} iterations ‖z_t - z*‖ fell from {run.distance[0]:.2g} to "
        f"{run.distance[-1]:.0e}; the ratio was {first:.2f} on average in the first third of them, "
        f"{middle:.2f} in the second and {last:.2f} in the last. {verdict}. Steps were 1 from "
        f"iteration {run.unit_phase} on. Prox-GD's ratio {linear}: {start:.3f} in the first third "
        f"of {len(found.gradient.ratios):,} iterations, {end:.3f} in the last, which leave "
        f"‖z_t - z*‖ = {found.gradient.distance[-1]:.0e}. With L = {found.lipschitz:,.0f} (L_ℓ "
        "summed over the samples from the farthest labeling of each, so that it holds for all w) "
        f"the bound of Theorem 2 {bound} in the phase of unit steps: f - f* is at most "
        f"{found.bound_share:.1e} times the bound there.",
    )


def _table(found: Findings) -> Table:
    run, gradient = found.quasi_newton, found.gradient.ratios
    rounding = 8 * np.finfo(float).eps * abs(found.best.objective)
    rows = []
    for t, ratio in enumerate(run.ratios, start=1):
        excess = run.excess[t]
        rows.append(
            (
                str(t),
                f"{run.distance[t]:.2e}",
                f"{ratio:.3f}",
                f"{gradient[t - 1]:.3f}" if t <= len(gradient) else "",
                f"{excess:.2e}" if excess > rounding else "rounding",
                f"{found.lipschitz * run.distance[t]:.2e}",
                f"{run.steps[t]:g}",
                str(run.nonzeros[t]),
            )
        )
    return Table(
        caption=f"{found.problem.name.capitalize()}: Prox-QN, iteration by iteration",
        header=(
            "t",
            "‖z_t - z*‖",
            "ratio to t - 1",
            "Prox-GD's ratio",
            "f(w_t) - f(w*)",
            "L ‖z_t - z*‖",
            "step",
            "nonzeros",
        ),
        rows=tuple(rows),
    )


def _curves(found: Findings) -> Curves:
    shown = 3 * len(found.quasi_newton.distance)
    return Curves(
        title=f"{found.problem.name.capitalize()}: distance to the optimum in z",
        x_label="iteration",
        y_label="‖z_t - z*‖",
        log_y=True,
        series=tuple(
            Series(
                label,
                tuple(float(t) for t in range(len(run.distance[:shown]))),
                tuple(float(x) for x in run.distance[:shown]),
            )
            for label, run in (("Prox-QN", found.quasi_newton), ("Prox-GD", found.gradient))
        ),
    )
