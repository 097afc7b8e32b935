"""What there is to see in a model, whichever way it is shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

import numpy as np

from proxqn.estimators.model import Description, Model, WeightGroup
from proxqn.problem import Floats

Weight = tuple[str, float]
TOO_MANY: Final = "too many labels to draw; --json has all"
_MOST_DRAWN = 200  # labels: a cell for each pair of them, of 80 bytes in a page


@final
@dataclass(frozen=True)
class LabelWeights:
    """The largest weights of a label or node."""

    label: str
    n_weights: int
    positive: list[Weight]  # largest first
    negative: list[Weight]  # smallest first


@final
@dataclass(frozen=True)
class ModelSummary:
    """A model to look at."""

    file: str
    kind: str
    sizes: dict[str, int]
    certificate: dict[str, Any]
    weights: list[LabelWeights]
    labels: list[str]  # of the rows and columns of transitions
    transitions: Floats | None  # [L, L]; None where rows do not follow one another
    edges: LabelWeights | None = None  # of edge features, where there are any

    @property
    def can_be_drawn(self) -> bool:
        """Whether the transitions are few enough to be looked at."""
        return len(self.labels) <= _MOST_DRAWN

    def to_json(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        found = asdict(self)
        found["transitions"] = None if self.transitions is None else self.transitions.tolist()
        return found


def summary(model: Model, path: str, *, top: int, labels: Sequence[str] = ()) -> ModelSummary:
    """Look at a model; ``labels`` chooses whose weights are listed, all by default."""
    seen = model.description()
    rows = seen.rows
    unknown = [label for label in labels if label not in rows]
    if unknown:
        shown = ", ".join(rows[:8])
        raise ValueError(f"--label: no label {unknown[0]!r} in the model; it has {shown}, …")
    chosen = [i for i, row in enumerate(rows) if not labels or row in labels]
    weights = [_largest(seen.row(i), top) for i in chosen]
    return ModelSummary(
        file=path,
        kind=model.kind,
        sizes=_sizes(model, seen, path),
        certificate=_certificate(model),
        weights=[found for found in weights if found.n_weights or labels],
        labels=rows if seen.transitions is not None else [],
        transitions=seen.transitions,
        edges=None if seen.edges is None else _largest(seen.edges, top),
    )


def _sizes(model: Model, seen: Description, path: str) -> dict[str, int]:
    return {
        "bytes": os.path.getsize(path),
        "features": len(np.unique(seen.coef.indices)),
        "nonzero weights": model.result_.nnz,
        "possible weights": model.n_parameters_,
        **seen.sizes,
    }


def _certificate(model: Any) -> dict[str, Any]:
    return {
        "status": model.status_.value,
        "converged": model.status_.success,
        "lam": model.lam,
        "l2": getattr(model, "l2", 0.0),
        "objective": model.objective_,
        "gap": model.gap_,
        "estimate": model.estimate_,
        "relative gap": model.gap_ / abs(model.objective_) if model.objective_ else 0.0,
        "kkt": model.result_.kkt,
        "iterations": model.n_iter_,
    }


def _largest(group: WeightGroup, top: int) -> LabelWeights:
    values, name = group.values, group.name
    order = np.argsort(-values, kind="stable")
    most = [(name(e), float(values[e])) for e in order[:top] if values[e] > 0]
    least = [(name(e), float(values[e])) for e in order[::-1][:top] if values[e] < 0]
    return LabelWeights(group.label, len(values), most, least)
