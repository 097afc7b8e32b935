"""``train --resume`` and ``--checkpoint``: where a run starts, and what goes on from there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from proxqn.cli.checkpointing import Checkpointed
from proxqn.io import checkpoint as checkpoints
from proxqn.io import container, model_file
from proxqn.io.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from proxqn.io.container import ModelFileError
from proxqn.minimization import SOLVERS, Solver
from proxqn.solvers.prox_qn import ProxQN

if TYPE_CHECKING:
    from proxqn.cli.training import Job, Request

_EVERY = 100  # iterations: the curvature lost after each costs some twenty


@final
@dataclass(frozen=True)
class Beginning:
    """A solver, and what ``fit`` starts from where an earlier model was given."""

    solver: Solver
    initial: Any = None


def prepare(request: Request, job: Job) -> Beginning:
    """Read what to resume from, and choose the solver."""
    solver, initial, resumed, problem = _solver(request), None, None, ""
    if request.checkpoint is not None or request.resume is not None:
        problem = fingerprint(request, *job.identity)
    if request.resume is not None:
        contents = container.read(request.resume)
        if contents.kind == checkpoints.KIND:
            resumed = _checked(read_checkpoint(contents, request.resume), request, problem)
        else:
            initial = job.initial(_earlier(request.resume, job))
    if request.checkpoint is None and resumed is None:
        return Beginning(solver, initial)
    path = request.checkpoint or request.resume

    def write(state: Checkpoint) -> None:
        write_checkpoint(state, str(path))
        request.display.tell("checkpoint", iteration=state.iteration, file=path)

    every = resumed.every if resumed else request.checkpoint_every or _EVERY
    return Beginning(Checkpointed(solver, every, problem, write, resumed), initial)


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
    if request.solver not in SOLVERS:
        raise ValueError(f"--solver: expected one of {', '.join(SOLVERS)}, got {request.solver!r}.")
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
