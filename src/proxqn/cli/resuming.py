"""``train --resume`` and ``--checkpoint``: where a run starts, and what goes on from there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
import scipy.sparse as sp

from proxqn.cli.checkpointing import Legs
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.vocabulary import Vocabulary
from proxqn.io import checkpoint as checkpoints
from proxqn.io import container, model_file
from proxqn.io.chain_file import SavedChain
from proxqn.io.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from proxqn.io.container import ModelFileError
from proxqn.io.tree_file import SavedTree
from proxqn.minimization import SOLVERS, Solver
from proxqn.solvers.prox_qn import ProxQN

if TYPE_CHECKING:
    from proxqn.cli.training import Request

_EVERY = 100  # iterations: the curvature lost after each costs some twenty


@final
@dataclass(frozen=True)
class Run:
    """A solver, and a model to start from where one was given."""

    solver: Solver
    start: SavedChain | SavedTree | None


def fingerprint(request: Request, X: sp.csr_array, *more: Any) -> str:
    """Identify the data and the objective: a checkpoint is good for these alone."""
    digest = hashlib.sha256(repr((request.lam, request.l2, request.solver, request.seed)).encode())
    if request.checkpoint is None and request.resume is None:
        return ""
    for part in (X.indptr, X.indices, X.data, *more):
        array = part if isinstance(part, np.ndarray) else np.array(repr(part))
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def prepare(request: Request, problem: str) -> Run:
    """Read what to resume from, and choose the solver."""
    solver, start, resumed = _solver(request), None, None
    if request.resume is not None:
        contents = container.read(request.resume)
        if contents.kind == checkpoints.KIND:
            resumed = _checked(read_checkpoint(contents, request.resume), request, problem)
        else:
            start = model_file.read(request.resume)
    if request.checkpoint is None and resumed is None:
        return Run(solver, start)
    path = request.checkpoint or request.resume

    def write(state: Checkpoint) -> None:
        write_checkpoint(state, str(path))
        request.display.tell("checkpoint", iteration=state.iteration, file=path)

    every = resumed.every if resumed else request.checkpoint_every or _EVERY
    return Run(Legs(solver, every, problem, write, resumed), start)


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


def start_chain_from(
    model: ChainCRF, start: SavedChain | SavedTree, encoder: SequenceEncoder
) -> None:
    """Make a fit start from the weights of an earlier model, feature by name."""
    if not isinstance(start, SavedChain) or start.encoder is None:
        raise ModelFileError("--resume: expected a chain model with its features, as train writes.")
    old, n_features = start.model, len(encoder.vocabulary)
    model.coef_ = _renumbered(old.coef_, start.encoder.vocabulary, encoder.vocabulary)
    model.edge_coef_ = _renumbered(
        old.edge_coef_, start.encoder.edge_vocabulary, encoder.edge_vocabulary
    )
    model.transitions_, model.classes_ = old.transitions_, old.classes_
    model.start_weights_, model.end_weights_ = old.start_weights_, old.end_weights_
    model.n_features_in_, model.encoder_, model.warm_start = n_features, encoder, True


def _renumbered(coef: sp.csr_array, old: Vocabulary, new: Vocabulary) -> sp.csr_array:
    """Return the weights with the columns of another vocabulary; what it lacks goes."""
    column = new.columns(old.names())
    entries: Any = sp.coo_array(coef)
    kept = column[entries.col] >= 0
    places = (entries.row[kept], column[entries.col[kept]])
    return sp.csr_array((entries.data[kept], places), shape=(coef.shape[0], len(new)))


def start_tree_from(
    model: HierarchicalClassifier, start: SavedChain | SavedTree, X: sp.csr_array
) -> sp.csr_array:
    """Make a fit start from an earlier model; return X with as many columns as both need."""
    if not isinstance(start, SavedTree):
        raise ModelFileError("--resume: expected a tree model.")
    old = start.model
    width = max(X.shape[1], old.n_features_in_)
    coef, wide = _widened(old.coef_, width), _widened(X, width)
    model.coef_, model.intercept_, model.hierarchy_ = coef, old.intercept_, old.hierarchy_
    model.n_features_in_, model.warm_start = width, True
    return wide


def _widened(matrix: sp.csr_array, width: int) -> sp.csr_array:
    parts: Any = (matrix.data, matrix.indices, matrix.indptr)
    return sp.csr_array(parts, shape=(matrix.shape[0], width))
