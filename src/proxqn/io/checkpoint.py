"""Where a run stands between two legs: weights, iterations made, the best bound proved."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import final

import numpy as np

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


def write_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint in the container of model files, atomically."""
    arrays = {
        "coordinates": checkpoint.weights.coordinates.astype(np.int64),
        "values": checkpoint.weights.values,
    }
    meta = {
        "iteration": checkpoint.iteration,
        "epoch": checkpoint.epoch,
        "bound": pieces.pack_number(checkpoint.bound),
        "every": checkpoint.every,
        "problem": checkpoint.problem,
    }
    container.write(Contents(KIND, arrays, meta), path)


def read_checkpoint(contents: Contents, name: str) -> Checkpoint:
    """Return the checkpoint that a file's contents hold."""
    meta, arrays = contents.meta, contents.arrays
    coordinates, values = pieces.take(arrays, "coordinates"), pieces.take(arrays, "values")
    ordered = coordinates.dtype == np.int64 and bool((np.diff(coordinates) > 0).all())
    if not ordered or len(values) != len(coordinates) or not np.isfinite(values).all():
        raise ModelFileError(f"{name}: the weights of the checkpoint cannot be read.")
    try:
        return Checkpoint(
            SparseVector(coordinates, values.astype(np.float64)),
            int(meta["iteration"]),
            int(meta["epoch"]),
            -math.inf if meta["bound"] is None else float(meta["bound"]),
            int(meta["every"]),
            str(meta["problem"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name}: the checkpoint cannot be read ({error}).") from None
