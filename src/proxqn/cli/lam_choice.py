"""``proxqn train --lam auto``: a path over many λs, and the one that held-out data like best."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final
from zipfile import BadZipFile

import click
import numpy as np

from proxqn.estimators.cv.choice import Choice
from proxqn.estimators.cv.folds import FoldPaths, split
from proxqn.estimators.scoring import scorer_of
from proxqn.io.container import ModelFileError
from proxqn.path import Path, lambda_max, minimize_path
from proxqn.path.result import PathRow
from proxqn.path.walk import PathWatcher
from proxqn.problem import SparseVector

if TYPE_CHECKING:
    from proxqn.cli.training import Job, Request

_EPS = 1e-2
_BROKEN = (OSError, EOFError, BadZipFile, AttributeError, KeyError, TypeError, ValueError)
_SMALLEST, _LEAST = 0.01, 0.5  # of lambda_max; or this λ, if it is smaller


@final
class Lam(click.ParamType[Any]):
    """A number; several with commas; or auto: the first number, and what to choose from."""

    name = "λ[,λ…]|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return ``(lam, lams)``; lams is None for a single number."""
        if isinstance(value, tuple):
            return value
        if str(value).strip() == "auto":
            return math.nan, "certified"
        try:
            numbers = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(
                f"expected a number, numbers with commas, or auto; got {value!r}.", param, ctx
            )
        if wrong := [number for number in numbers if not 0.0 < number < math.inf]:
            self.fail(f"expected finite numbers above 0, got {wrong[0]:g}.", param, ctx)
        return numbers[0], None if len(numbers) == 1 else numbers


def check_choice(given: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    if given["lams"] is None:
        for name, option in (("cv", "--cv"), ("path_file", "--path"), ("plot", "--plot")):
            if given[name] is not None:
                raise click.UsageError(f"{option} is for several λ: --lam auto or --lam 0.1,0.3,1.")
        return
    if (given["dev"] is None) == (given["cv"] is None):
        raise click.UsageError("several λ are chosen from by --dev FILE or by --cv N; give one.")
    if given["early_stop"] is not None:
        raise click.UsageError("--early-stop is for a single λ; --patience ends a path of several.")
    for name in ("resume", "checkpoint"):
        if given[name] is not None:
            raise click.UsageError(f"--{name} is for a single λ; --path FILE goes on with a path.")


def chosen(request: Request, job: Job) -> tuple[Request, Job]:
    """Solve the path, score it, and return what is left to do: a fit at one λ, nearly done."""
    model = job.estimator(**job.parameters, **replace(request, lam=1.0).parameters(),
                          solver=request.solver)  # fmt: skip
    stated = model.stated(**job.data)
    table, auto = _Table(request, job, stated), isinstance(request.lams, str)
    path = minimize_path(
        stated.oracle,
        "certified" if auto else np.array(request.lams),
        eps=_EPS,
        penalty=stated.penalty,
        lam_min=_smallest(stated) if auto else None,
        solver=request.solver,
        max_iter=request.max_iter,
        tol=None if auto else request.tol,
        stop=None if auto else request.stop_by,
        callback=table,
        initial=_former(request, job),
    )
    if not len(path):
        raise KeyboardInterrupt
    request.display.say(path.message)
    _keep(request, job, path)
    scores = (
        table.scores(path) if request.cv is None else _fold_scores(request, stated, model, path)
    )
    choice = Choice.of(scores, "best")
    lam = float(path.lams_[choice.index])
    best = f"{choice.mean[choice.index]:.4f}"
    request.display.say(f"λ = {lam:.6g}: {best} {table.score_name}")
    if lam == path.lams_[-1] and path.complete:
        request.display.say(f"it is the smallest: try smaller ones, --lam {lam:g},{lam / 3:.2g},…")
    request.display.tell("chosen", lam=lam, score=float(choice.mean[choice.index]))
    if request.plot is not None:
        _draw(path, choice, lam, table.score_name, request.plot)
    start = stated.model_at(path.solutions[choice.index])
    return replace(request, lam=lam, lams=None), replace(job, start=start)


def _smallest(stated: Any) -> float:
    largest = lambda_max(stated.oracle, penalty=stated.penalty)
    return min(_SMALLEST * largest, max(_LEAST, _SMALLEST**2 * largest))


def _fold_scores(request: Request, stated: Any, model: Any, path: Path) -> Any:
    options = {"solver": request.solver, "max_iter": request.max_iter, "tol": request.tol}
    folds = split(stated.held, request.cv, None)
    scorer = scorer_of(None, model)
    scores = FoldPaths(stated, path, scorer, options).scores(folds, request.jobs)
    choice = Choice.of(scores, "best")
    for lam, mean, error in zip(path.lams_, choice.mean, choice.error, strict=True):
        request.display.say(f"λ = {lam:10.4g}  score {mean:.4f} ± {error:.4f}")
        request.display.tell("folds", lam=float(lam), score=float(mean), error=float(error))
    return scores


def _former(request: Request, job: Job) -> Path | None:
    """Return the path that is gone on with; refuse one of other data."""
    if request.path_file is None or not os.path.exists(request.path_file):
        return None
    try:
        found = Path.load(request.path_file)
    except _BROKEN as error:
        raise ModelFileError(f"--path: {request.path_file} holds no path: {error}.") from None
    if found.problem != _problem(request, job):
        raise ModelFileError(
            f"--path: {request.path_file} is of other data or other options. Name another file."
        )
    return found


def _keep(request: Request, job: Job, path: Path) -> None:
    if request.path_file is not None:
        replace(path, problem=_problem(request, job)).save(request.path_file)


def _problem(request: Request, job: Job) -> str:
    from proxqn.cli.training import fingerprint

    grid = request.lams == "certified", request.tol, request.stop_by
    return fingerprint(replace(request, lam=0.0), *job.identity, grid)


def _draw(path: Path, choice: Choice, lam: float, name: str, file: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(15, 3.5), layout="constrained")
    path.plot(axes[:3])
    axes[3].errorbar(path.lams_, choice.mean, yerr=choice.error, fmt=".-", capsize=2)
    axes[3].axvline(lam, linestyle="--", color="tab:red", label=f"λ = {lam:.3g}")
    axes[3].set(xscale="log", xlabel="λ", ylabel=name)
    axes[3].invert_xaxis()
    axes[3].legend()
    figure.savefig(file)
    plt.close(figure)


@final
class _Table(PathWatcher):
    """A line for each λ: nonzeros, what is known, the score on the development data."""

    def __init__(self, request: Request, job: Job, stated: Any) -> None:
        self._request, self._dev, self._stated = request, job.dev, stated
        self._scores: dict[float, float] = {}
        self._first, self._best, self._since = math.inf, -math.inf, 0
        self.score_name = "score of folds" if job.dev is None else job.dev.name
        columns = f"{'λ':>12}  {'nonzeros':>9}  {'proved':>8}  {'in between':>10}"
        request.display.say(columns if job.dev is None else f"{columns}  {job.dev.name:>8}")

    def see(self, row: PathRow, weights: SparseVector) -> None:
        """Score a λ, and write its line."""
        score = None
        if self._dev is not None:
            score = self._dev.scores(self._stated.model_at(weights)).headline
            self._scores[row.lam] = score
            flat = self._best <= self._first  # the first λs may all give the same labels
            self._since = 0 if score > self._best or flat else self._since + 1
            self._best = max(self._best, score)
            self._first = min(self._first, score)
        gap, between = row.gap / max(abs(row.objective), 1e-300), row.segment
        line = f"{row.lam:12.6g}  {row.nnz:9,}  {gap:8.1e}  {between:10.1e}"
        self._request.display.say(line if score is None else f"{line}  {score:8.4f}")
        self._request.display.tell(
            "lam", lam=row.lam, nnz=row.nnz, gap=row.gap, estimate=row.estimate,
            known=row.known, between=between, dev=score,
        )  # fmt: skip

    def __call__(self, row: PathRow) -> bool:
        """End the path if that is asked for, or if no score has been better for long."""
        if self._request.stop.requested or self._since >= self._request.patience:
            return True
        self._request.stop.be_patient()
        return False

    def scores(self, path: Path) -> Any:
        """Return the scores, a row a λ."""
        return np.array([[self._scores[lam]] for lam in path.lams_.tolist()])
