"""The work of ``proxqn train``: where a run starts, the fit, the file, what was reached."""

from __future__ import annotations

import hashlib
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, final

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from proxqn.cli.checkpointing import Checkpointed
from proxqn.cli.failures import Exit, OutputError
from proxqn.cli.kind import Dev
from proxqn.cli.outputs import STANDARD, Named, check_outputs, check_regular, write_bytes
from proxqn.cli.watching import Display, Stop, watching
from proxqn.estimators.development import Score
from proxqn.estimators.early_stopping import EarlyStopping
from proxqn.io import checkpoint as checkpoints
from proxqn.io import container, model_file
from proxqn.io.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from proxqn.io.container import ModelFileError
from proxqn.io.model_file import SavedModel
from proxqn.minimization import SOLVERS, Solver
from proxqn.run.status import Status, distance
from proxqn.solvers.prox_qn import ProxQN


@final
@dataclass(frozen=True)
class Request:
    """What was asked for, beside the data."""

    output: str
    lam: float
    l2: float
    tol: float
    stop_by: Literal["estimate", "gap"]
    max_weight: float | None
    max_iter: int
    solver: str
    seed: int
    jobs: int
    dev: str | None
    early_stop: int | None
    checkpoint: str | None
    checkpoint_every: int | None
    resume: str | None
    lams: str | tuple[float, ...] | None  # to choose λ from; "certified" for all
    cv: int | None
    patience: int
    path_file: str | None
    plot: str | None
    display: Display
    stop: Stop
    began: float

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that all estimators share, but for the solver."""
        return {
            "lam": self.lam,
            "l2": self.l2,
            "tol": self.tol,
            "stop": self.stop_by,
            "max_weight": self.max_weight,
            "max_iter": self.max_iter,
            "n_jobs": self.jobs,
        }

    @property
    def elapsed(self) -> str:
        """The time since the command was called."""
        return f"{time.perf_counter() - self.began:.1f} s"


@final
@dataclass(frozen=True)
class Job:
    """An estimator, and what to fit it to: what a kind of model makes of its options and files."""

    estimator: Any
    parameters: dict[str, Any]
    data: dict[str, Any]  # arguments of fit
    identity: tuple[Any, ...]  # a checkpoint is good for these, and the objective, alone
    reading: dict[str, Any]  # how the file was read
    dev: Dev | None = None
    initial: Callable[[Any], Any] = field(default=lambda model: model)  # what fit takes of a model
    start: Any = None  # where λ was chosen: a model at that λ


def check_files(request: Request, inputs: Named) -> None:
    """Refuse outputs that cannot be written or would destroy an input, before anything is read."""
    if request.checkpoint is not None:
        check_regular("--checkpoint", request.checkpoint)
    if request.output == STANDARD and sys.stdout.isatty():
        raise OutputError("--output -: a model is no text for a terminal; send it on with > or |.")
    read = {**inputs, "--dev": request.dev}
    if not _goes_on(request):
        read["--resume"] = request.resume
    as_json = STANDARD if request.display is Display.JSON else None
    outputs = {"--output": request.output, "--checkpoint": request.checkpoint, "--json": as_json,
               "--path": request.path_file, "--plot": request.plot}  # fmt: skip
    check_outputs(outputs, read)


def _goes_on(request: Request) -> bool:
    """Whether a run is resumed from its own checkpoint, on which it writes again."""
    paths = request.resume, request.checkpoint
    return None not in paths and len({os.path.realpath(str(path)) for path in paths}) == 1


def run(request: Request, job: Job) -> None:
    """Fit the estimator as a user would, and write it."""
    if request.lams is not None:
        # Here, because it makes Requests and Jobs itself.
        from proxqn.cli.lam_choice import chosen

        request, job = chosen(request, job)
    beginning = _prepare(request, job)
    model = job.estimator(**job.parameters, **request.parameters(), solver=beginning.solver)
    watched = request.display, request.stop, job.dev, request.tol, request.stop_by
    early = beginning.early
    with watching(*watched, scored=early is not None) as watch:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said below, in other words
            model.fit(**job.data, validation=early, callback=watch, initial=beginning.initial)
        watch.finish(model.result_)
    model.set_params(solver=request.solver)  # its name, which a file can hold
    data = model_file.to_bytes(SavedModel(model, job.reading))
    write_bytes(data, request.output)
    _conclude(request, model, len(data), job.dev)


def _conclude(request: Request, model: Any, size: int, dev: Dev | None) -> None:
    """Say what was reached; exit code 130 after a signal."""
    result = model.result_
    stopped = request.stop.requested or model.status_ is Status.INTERRUPTED
    scores = None if dev is None or stopped else dev.scores(model)
    request.display.tell(
        "done",
        status=model.status_.name,
        converged=result.success,
        interrupted=stopped,
        objective=model.objective_,
        gap=model.gap_,
        estimate=model.estimate_,
        iterations=model.n_iter_,
        nonzeros=result.nnz,
        parameters=model.n_parameters_,
        model=request.output,
        bytes=size,
        seconds=time.perf_counter() - request.began,
        dev=None if scores is None else scores.to_json(),
        early_stop=None if model.validation_ is None else asdict(model.validation_),
    )
    if model.validation_ is not None:
        request.display.say(model.validation_.reason)
    request.display.say(f"objective {model.objective_:,.4f}, {_proved(model)}")
    if scores is not None:
        request.display.say(f"{request.dev}: {scores.line()}")
    request.display.say(
        f"{request.output}: {result.nnz:,} of {model.n_parameters_:,} weights are not zero, "
        f"{size:,} bytes ({request.elapsed})"
    )
    if stopped:
        request.display.say(f"interrupted after {model.n_iter_} iterations; {_advice(request)}")
        sys.exit(Exit.INTERRUPTED)


def _proved(model: Any) -> str:
    return distance(model.objective_, model.result_) or "no lower bound known yet"


def _advice(request: Request) -> str:
    if request.checkpoint is not None and os.path.exists(request.checkpoint):
        return f"go on with --resume {request.checkpoint}."
    if request.output == STANDARD:
        return "go on from its weights with --resume."
    return f"go on from its weights with --resume {request.output}."


_EVERY = 100  # iterations: the curvature lost after each costs some twenty


@final
@dataclass(frozen=True)
class Beginning:
    """A solver, what ``fit`` starts from where an earlier model was given, and what may end it."""

    solver: Solver
    initial: Any = None
    early: EarlyStopping | None = None


def _prepare(request: Request, job: Job) -> Beginning:
    """Read what to resume from, and choose the solver."""
    initial = None if job.start is None else job.initial(job.start)
    solver, resumed, problem = _solver(request), None, ""
    if request.checkpoint is not None or request.resume is not None:
        problem = fingerprint(request, *job.identity)
    if request.resume is not None:
        contents = container.read(request.resume)
        if contents.kind == checkpoints.KIND:
            resumed = _checked(read_checkpoint(contents, request.resume), request, problem)
        else:
            initial = job.initial(_earlier(request.resume, job))
    early = _early_stopping(request, job.dev, resumed)
    if request.checkpoint is None and resumed is None:
        return Beginning(solver, initial, early)
    path = request.checkpoint or request.resume

    def write(state: Checkpoint) -> None:
        looks = None if early is None else early.looks
        write_checkpoint(replace(state, looks=looks), str(path))
        request.display.tell("checkpoint", iteration=state.iteration, file=path)

    every = resumed.every if resumed else request.checkpoint_every or _EVERY
    return Beginning(Checkpointed(solver, every, problem, write, resumed), initial, early)


def _early_stopping(
    request: Request, dev: Dev | None, resumed: Checkpoint | None
) -> EarlyStopping | None:
    if request.early_stop is None or dev is None:
        return None

    def reading(_: Any) -> Score:
        return lambda model: dev.scores(model).headline

    looks = None if resumed is None else resumed.looks
    return EarlyStopping(reading, request.early_stop, looks)


def fingerprint(request: Request, *data: Any) -> str:
    """Identify the data and the objective: a checkpoint is good for these alone."""
    given: tuple[Any, ...] = (request.lam, request.l2, request.solver, request.seed)
    if request.max_weight is not None:
        given = *given, request.max_weight
    digest = hashlib.sha256(repr(given).encode())
    for part in data:
        array = part if isinstance(part, np.ndarray) else np.array(repr(part))
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _earlier(path: str, job: Job) -> Any:
    """Read the model to start from; refuse one of another kind, or without names of features."""
    saved = model_file.read(path)
    if saved.model.kind != job.estimator.kind:
        raise ModelFileError(
            f"--resume: {path} holds a {saved.model.kind} model, expected a {job.estimator.kind}."
        )
    return saved.model


def _solver(request: Request) -> Solver:
    settings = SOLVERS[request.solver]()
    return replace(settings, seed=request.seed) if isinstance(settings, ProxQN) else settings


def _checked(state: Checkpoint, request: Request, problem: str) -> Checkpoint:
    if state.problem != problem:
        raise ModelFileError(
            f"{request.resume}: a checkpoint of other data or another objective (λ, l2, pairs, "
            "solver, …). Use the options and files of that run, or resume from a model."
        )
    if request.checkpoint_every not in (None, state.every):
        raise ModelFileError(
            f"{request.resume}: its run writes checkpoints every {state.every} iterations; another "
            "--checkpoint-every would not end at the same bits. Leave the option out."
        )
    return state
