"""Fits with the objectives of Wapiti and CRF++: every pair of feature and label has a weight."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, final

import click

from proxqn.cli.stand_ins.columns import RawSequence
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.byte_text import text_of
from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import Templates
from proxqn.io.readers import DataFileError
from proxqn.run.trace import Row

SMALLEST_LAM: Final = 1e-5
"""What λ = 0 becomes: the solver lives on weights that are zero."""

_NO_TRANSITIONS: Final = 1e9  # a λ that no derivative reaches: templates without B ask for none


@final
@dataclass(frozen=True)
class Objective:
    """Loss + lam ‖w‖₁ + (l2/2) ‖w‖², and when to be content."""

    lam: float
    l2: float
    min_freq: int = 1
    max_iter: int = 1000
    tol: float = 1e-2
    n_jobs: int = 1


def read_templates(path: str, dialect: Dialect) -> Templates:
    """Read a file of patterns, of any encoding; refuse plain transitions asked for twice."""
    with open(path, "rb") as file:
        templates = Templates.parse(
            text_of(file.read().removeprefix(b"\xef\xbb\xbf")), path, dialect
        )
    bare = [t for t in templates if t.is_bigram and not t.commands]
    if len(bare) > 1:
        raise ValueError(
            f"{path}, lines {bare[0].line} and {bare[1].line}: both ask for plain transitions, "
            "which are one set of weights here; keep one of them."
        )
    return templates


def fit(
    templates: Templates,
    sequences: Iterable[RawSequence],
    objective: Objective,
    report: Callable[[Row, float], None],
    initial: ChainCRF | None = None,
) -> ChainCRF:
    """Fit a chain to labelled sequences; ``report`` gets each iteration and the seconds so far."""
    X, y = [], []
    source = "the data"
    for sequence in sequences:
        rows, labels = sequence.split_labels()
        X.append(rows.features(templates.n_columns))
        y.append(labels)
        source = sequence.source
    if not X:
        raise DataFileError(source, 0, "expected at least one sequence, got none")
    if objective.lam == 0.0:
        warn(f"an l1 penalty of 0 becomes {SMALLEST_LAM:g}: proxqn cannot do without one.")
    crf = ChainCRF(
        lam=objective.lam or SMALLEST_LAM,
        l2=objective.l2,
        lam_transitions=None if templates.has_transitions else _NO_TRANSITIONS,
        end_weights=False,
        templates=templates,
        min_freq=objective.min_freq,
        tol=objective.tol,
        max_iter=objective.max_iter,
        n_jobs=objective.n_jobs,
    )
    began = time.perf_counter()
    crf.fit(X, y, callback=lambda row: report(row, time.perf_counter() - began), initial=initial)
    share = crf.gap_ / crf.objective_ if crf.objective_ else 0.0
    proof = f"objective {crf.objective_:.4f}, proved within {share:.2%} of the best"
    say(f"{crf.status_.value}; {proof}")
    return crf


def warn(text: str) -> None:
    """Tell of something that is not as in the program."""
    click.echo(f"warning: {text}", err=True)


def say(text: str) -> None:
    """Tell how it goes."""
    click.echo(f"proxqn: {text}", err=True)


def warn_of_ignored(options: dict[str, tuple[Any, Any]]) -> None:
    """Name the options, of which value and default are told, that were given to no effect."""
    named = [f"--{name}" for name, (value, default) in options.items() if value != default]
    if named:
        warn(f"{', '.join(named)}: no effect on proxqn's solver, which ends by its proof (--tol).")
