"""Where a run stands between two legs: weights, iterations, the best bound, the best score."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn.estimators.early_stopping import Kept, Looks
from proxqn.io import container, pieces
from proxqn.io.container import Contents, ModelFileError
from proxqn.problem import SparseVector

KIND = "checkpoint"


@final
@dataclass(frozen=True)
class Checkpoint:
    """The end of a leg of a run, which is the whole state that the next leg starts from."""

    weights: SparseVector
    iteration: int
    epoch: int
    bound: float  # the best lower bound so far; -inf without one
    every: int  # iterations a leg
    problem: str  # SHA-256 of the data and the objective, as hexadecimal digits
    looks: Looks | None = None  # at a development set, where one stops the run


def write_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint in the container of model files, atomically."""
    arrays = {
        "coordinates": checkpoint.weights.coordinates.astype(np.int64),
        "values": checkpoint.weights.values,
    }
    meta: dict[str, Any] = {
        "iteration": checkpoint.iteration,
        "epoch": checkpoint.epoch,
        "bound": pieces.pack_number(checkpoint.bound),
        "every": checkpoint.every,
        "problem": checkpoint.problem,
    }
    if checkpoint.looks is not None and checkpoint.looks.kept is not None:
        kept = checkpoint.looks.kept
        arrays["kept.coordinates"] = kept.weights.coordinates.astype(np.int64)
        arrays["kept.values"] = kept.weights.values
        meta["looks"] = {
            "iterations": list(checkpoint.looks.iterations),
            "scores": list(checkpoint.looks.scores),
            "kept": kept.iteration,
            "objective": kept.objective,
            "kkt": pieces.pack_number(kept.kkt),
        }
    container.write(Contents(KIND, arrays, meta), path)


def read_checkpoint(contents: Contents, name: str) -> Checkpoint:
    """Return the checkpoint that a file's contents hold."""
    try:
        return _unpack(contents)
    except ModelFileError as error:
        raise ModelFileError(f"the checkpoint cannot be read: {error.reason}", name) from None


def _unpack(contents: Contents) -> Checkpoint:
    meta = contents.meta
    missing = _KEYS - set(meta)
    if missing:
        raise ModelFileError(f"{', '.join(sorted(missing))} missing.")
    every = pieces.unpack_count("every", meta["every"])
    if not every:
        raise ModelFileError("every: expected an iteration a leg, or more, got 0.")
    if not isinstance(meta["problem"], str):
        raise ModelFileError("problem: expected digits.")
    return Checkpoint(
        _weights(contents),
        pieces.unpack_count("iteration", meta["iteration"]),
        pieces.unpack_count("epoch", meta["epoch"]),
        pieces.unpack_number("bound", meta["bound"], unknown=-math.inf),
        every,
        meta["problem"],
        _looks(contents),
    )


_KEYS = {"every", "iteration", "epoch", "bound", "problem"}


def _looks(contents: Contents) -> Looks | None:
    """Return what a development set said; refuse what no run can have seen."""
    packed = contents.meta.get("looks")
    if packed is None:
        return None
    try:
        iterations = [pieces.unpack_count("iterations", i) for i in packed["iterations"]]
        scores = [pieces.unpack_number("scores", score) for score in packed["scores"]]
        kept = Kept(
            pieces.unpack_count("kept", packed["kept"]),
            _weights(contents, "kept."),
            pieces.unpack_number("objective", packed["objective"]),
            pieces.unpack_number("kkt", packed["kkt"]),
        )
        best = scores[iterations.index(kept.iteration)] == max(scores)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"looks: expected iterations and scores ({error}).") from None
    if not best or len(scores) != len(iterations) or iterations != sorted(set(iterations)):
        raise ModelFileError("looks: expected a score an iteration, and the best one kept.")
    return Looks(tuple(iterations), tuple(scores), kept)


def _weights(contents: Contents, which: str = "") -> SparseVector:
    """Return coordinates, ascending from 0 or above, and a weight for each."""
    coordinates = pieces.take(contents.arrays, which + "coordinates")
    values = pieces.take(contents.arrays, which + "values")
    good = (
        coordinates.dtype == np.int64
        and values.dtype == np.float64
        and len(values) == len(coordinates)
        and pieces.are_weights(values)
        and not (len(values) and coordinates[0] < 0)
        and bool((coordinates[1:] > coordinates[:-1]).all())
    )
    if not good:
        raise ModelFileError("expected finite weights at ascending coordinates.")
    return SparseVector(coordinates, values)
