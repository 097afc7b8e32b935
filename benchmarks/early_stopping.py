"""What a development set brings along a fit, and what looking at it costs.

    python -m benchmarks.early_stopping [--data wnut conll] [--lams 0.01 0.1 1] [--curve FILE]

Every model is fitted to its end, and with the looks; F1 of entities or chunks is that on the
development set, and on a test set that neither fit has seen. WNUT-17 has three parts, with the
features of sklearn-crfsuite's tutorial; of CoNLL-2000's training sentences every tenth is set
aside, under the templates of CRF++'s example. One thread, ``tol=1e-4``, observed pairs.

The cost is processor time spent on the development set, read once and scored at every look, as a
share of the rest of the same fit; where nothing is saved, that is with ``patience=None``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.data import REPOSITORY, data_file
from benchmarks.everyday.corpora import of_words

from proxqn import ChainCRF
from proxqn.estimators.development import development_set
from proxqn.estimators.early_stopping import EarlyStopping
from proxqn.features.templates import Templates
from proxqn.io.readers import read_columns
from proxqn.metrics import entity_f1_score

_SET_ASIDE = 10  # every tenth sentence of CoNLL-2000
Sequences = tuple[list[Any], list[list[str]]]


@dataclass(frozen=True)
class Data:
    """What is learned from, judged by, and tested on."""

    train: Sequences
    dev: Sequences
    test: Sequences
    templates: Templates | None = None


@cache
def wnut() -> Data:
    """Return names in tweets."""

    def part(name: str) -> Sequences:
        records = read_columns(data_file("wnut17", f"{name}.conll"))
        found = of_words(([row[0] for row in r.tokens], r.labels or []) for r in records)
        return found.X, found.y

    return Data(part("train"), part("dev"), part("test"))


@cache
def conll() -> Data:
    """Return phrases in newspaper text."""

    def part(name: str) -> Sequences:
        records = list(read_columns(data_file("conll2000", name)))
        return [[row[:2] for row in r.tokens] for r in records], [r.labels or [] for r in records]

    X, y = part("train.txt")
    dev = X[::_SET_ASIDE], y[::_SET_ASIDE]
    del X[::_SET_ASIDE], y[::_SET_ASIDE]
    templates = Templates.from_file(REPOSITORY / "examples" / "chunking.template")
    return Data((X, y), dev, part("test.txt"), templates)


DATA: dict[str, Callable[[], Data]] = {"wnut": wnut, "conll": conll}


@dataclass
class Timed:
    """A fit with a development set, and what it took."""

    model: ChainCRF
    seconds: float  # of the processor, looks left out
    looks: float


def fitted(data: Data, lam: float, patience: int | None) -> Timed:
    """Fit with looks, and time these apart."""
    spent = 0.0

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def inside(*given: Any) -> Any:
            nonlocal spent
            began = time.process_time()
            try:
                return work(*given)
            finally:
                spent += time.process_time() - began

        return inside

    early: Any = EarlyStopping(development_set(data.dev), patience)
    for name in ("begin", "see", "conclude"):
        setattr(early, name, timed(getattr(early, name)))
    model = ChainCRF(lam=lam, pairs="observed", templates=data.templates)
    began = time.process_time()
    model.fit(*data.train, validation=early)
    return Timed(model, time.process_time() - began - spent, spent)


def f1(model: ChainCRF, part: Sequences) -> float:
    """Return F1 of entities."""
    X, y = part
    return entity_f1_score(y, [found.tolist() for found in model.predict(X)])


def row(name: str, lam: float) -> tuple[str, Timed]:
    """Return a line of the table, and the fit that looks on to its end."""
    data = DATA[name]()
    plain = ChainCRF(lam=lam, pairs="observed", templates=data.templates).fit(*data.train)
    whole, early = fitted(data, lam, None), fitted(data, lam, 5)
    chosen, kept = early.model.validation_, early.model
    cells = [
        f"{name} {lam:g}",
        f"{plain.n_iter_}",
        f"{f1(plain, data.dev):.4f}",
        f"{f1(plain, data.test):.4f}",
        f"{chosen.best_iteration} of {kept.n_iter_}",
        f"{chosen.best_score:.4f}",
        f"{f1(kept, data.test):.4f}",
        f"{whole.model.validation_.best_score:.4f}",
        f"{kept.estimate_ / kept.objective_:.1e}",
        f"{kept.gap_ / kept.objective_:.1e}",
        f"{whole.looks / whole.seconds:.1%}",
        f"{(early.seconds + early.looks) / whole.seconds:.2f}",
    ]
    return "| " + " | ".join(cells) + " |", whole


HEAD = (
    "| data, λ | iterations | dev F1 | test F1 | kept | dev F1 | test F1 | best of all looks, dev "
    "| estimated | proved | cost of looks | time, early / whole |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def draw(curves: list[tuple[str, Any]], path: Path) -> None:
    """Draw the scores along the fits."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, found in curves:
        (line,) = axes.plot(found.iterations, found.scores, ".-", label=name)
        axes.plot(found.best_iteration, found.best_score, "o", ms=9, mfc="none", c=line.get_color())
    axes.set_xlabel("iteration")
    axes.set_ylabel("F1 on the development set")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--lams", nargs="+", type=float, default=[0.01, 0.1, 1.0])
    parser.add_argument("--curve", type=Path, help="draw the scores to this file")
    given = parser.parse_args()
    print(HEAD)
    curves = []
    for name in given.data:
        for lam in given.lams:
            line, whole = row(name, lam)
            print(line, flush=True)
            curves.append((f"{name}, λ = {lam:g}", whole.model.validation_))
    if given.curve is not None:
        draw(curves, given.curve)


if __name__ == "__main__":
    main()
