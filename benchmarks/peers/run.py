"""What a peer's training run leaves behind, as a JSON file and the weights as an npz beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Iteration:
    """One line of a peer's own log: a claim to check against the weights, and its time."""

    number: int
    # Processor time since training started, the peer's own set-up included: with one thread it is
    # the time on the clock of a machine that does nothing else.
    seconds: float
    logged_objective: float
    nonzeros: int | None  # None where the log does not say
    evaluations: int | None  # of value and gradient: trials (the one at w = 0 is in no row)
    calls: dict[str, float] | None = None  # totals by kind, where the peer separates them


@dataclass(frozen=True)
class PeerRun:
    """A training run: L labels, p features. The objective is for the benchmark to compute."""

    peer: str  # package and version
    lam: float
    options: dict[str, Any]  # as passed to the peer
    prepare_seconds: float  # our arrays → the peer's own data, outside all other times
    # What training does before it first evaluates the objective; part of `seconds`. CRFsuite
    # spends a minute of OCR here, listing the pairs: compare optimisers with it subtracted.
    setup_seconds: float
    train_seconds: float  # on the clock
    prepare_peak_bytes: int  # largest resident memory of the process up to the end of each
    train_peak_bytes: int
    stop: str  # why it ended, in the peer's words or ours
    history: list[Iteration]
    coef: sparse.csr_array[Any, tuple[int, int]]  # [L][p], label × feature
    transitions: NDArray[np.float64]  # [L][L], from × to
    train_cpu_seconds: float = 0.0  # far below train_seconds: the machine was busy
    bound: float | None = None  # a certified lower bound of the optimum, where there is one

    def save(self, path: Path) -> None:
        """Write ``path`` (JSON) and the weights beside it, with the suffix npz."""
        fields = asdict(replace(self, coef=None, transitions=None))  # type: ignore[arg-type]
        del fields["coef"], fields["transitions"]
        path.write_text(json.dumps(fields, indent=1))
        np.savez(
            path.with_suffix(".npz"),
            allow_pickle=False,
            data=self.coef.data,
            indices=self.coef.indices,
            indptr=self.coef.indptr,
            shape=np.array(self.coef.shape),
            transitions=self.transitions,
        )

    @classmethod
    def load(cls, path: Path) -> PeerRun:
        """Read what `save` wrote."""
        fields = json.loads(path.read_text())
        fields["history"] = [Iteration(**row) for row in fields["history"]]
        with np.load(path.with_suffix(".npz")) as file:
            parts = (file["data"], file["indices"], file["indptr"])
            coef = sparse.csr_array(parts, shape=tuple(file["shape"].tolist()))
            return cls(**fields, coef=coef, transitions=file["transitions"])
