"""Where a run stands between two legs: weights, iterations made, the best bound proved."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

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
    try:
        return _unpack(contents)
    except ModelFileError as error:
        raise ModelFileError(f"the checkpoint cannot be read: {error.reason}", name) from None


def _unpack(contents: Contents) -> Checkpoint:
    meta, (coordinates, values) = contents.meta, _weights(contents)
    missing = _KEYS - set(meta)
    if missing:
        raise ModelFileError(f"{', '.join(sorted(missing))} missing.")
    every = pieces.unpack_count("every", meta["every"])
    if not every:
        raise ModelFileError("every: expected an iteration a leg, or more, got 0.")
    if not isinstance(meta["problem"], str):
        raise ModelFileError("problem: expected digits.")
    return Checkpoint(
        SparseVector(coordinates, values),
        pieces.unpack_count("iteration", meta["iteration"]),
        pieces.unpack_count("epoch", meta["epoch"]),
        pieces.unpack_number("bound", meta["bound"], unknown=-math.inf),
        every,
        meta["problem"],
    )


_KEYS = {"every", "iteration", "epoch", "bound", "problem"}


def _weights(contents: Contents) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return coordinates, ascending from 0 or above, and a weight for each."""
    coordinates = pieces.take(contents.arrays, "coordinates")
    values = pieces.take(contents.arrays, "values")
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
    return coordinates, values
