"""Fits with the objectives of Wapiti and CRF++: every pair of feature and label has a weight."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, final

import click
from sklearn.exceptions import ConvergenceWarning

from proxqn.cli.stand_ins.columns import RawSequence
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.byte_text import text_of
from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import Templates, read_template_file
from proxqn.io.readers import DataFileError
from proxqn.run.status import Status
from proxqn.run.trace import Row

SMALLEST_LAM: Final = 1e-6
"""What λ = 0 becomes: the solver lives on weights that are zero."""

_WINDOW: Final = 10  # iterations

_NO_TRANSITIONS: Final = 1e9  # a λ that no derivative reaches: templates without B ask for none


@final
@dataclass(frozen=True)
class Objective:
    """Loss + lam ‖w‖₁ + (l2/2) ‖w‖², and when to be content."""

    lam: float
    l2: float
    min_freq: int = 1
    max_iter: int = 1000
    tol: float = 1e-4
    stop: float = 0.0  # or when ten iterations bring less than this share
    n_jobs: int = 1


def read_templates(path: str, dialect: Dialect) -> Templates:
    """Read a file of patterns, of any encoding; refuse plain transitions asked for twice."""
    raw = read_template_file(path).removeprefix(b"\xef\xbb\xbf")
    templates = Templates.parse(text_of(raw), path, dialect)
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
    standstill, began = Standstill(objective.stop), time.perf_counter()

    def watch(row: Row) -> bool:
        report(row, time.perf_counter() - began)
        return standstill.has_come(row.objective)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the sentence below says it
        crf.fit(X, y, callback=watch, initial=initial)
    share = crf.gap_ / crf.objective_ if crf.objective_ else 0.0
    proof = f"objective {crf.objective_:.4f}, proved within {share:.2%} of the best"
    say(f"{standstill if crf.status_ is Status.CALLBACK else crf.status_.value}; {proof}")
    return crf


@final
class Standstill:
    """Ends a fit whose objective hardly falls: its proof may come much later, with small penalties.

    Examples
    --------
    >>> standstill = Standstill(0.01)
    >>> [standstill.has_come(f) for f in (10.0, *[9.0] * 9, 8.95)]  # over ten iterations
    [False, False, False, False, False, False, False, False, False, False, False]
    >>> standstill.has_come(8.92)
    True
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._before: deque[float] = deque(maxlen=_WINDOW + 1)

    def has_come(self, objective: float) -> bool:
        """Take the objective of one more iteration."""
        self._before.append(objective)
        fallen = self._before[0] - objective
        return len(self._before) > _WINDOW and fallen < self._share * abs(objective)

    def __str__(self) -> str:
        return (
            f"stopped: the objective fell by less than {self._share:.2g} of it in {_WINDOW} steps"
        )


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
        warn(f"{', '.join(named)}: no effect on proxqn's solver.")
