"""What there is to see in a model, whichever way it is shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from proxqn.io.chain_file import SavedChain
from proxqn.io.tree_file import SavedTree
from proxqn.problem import Floats

Weight = tuple[str, float]


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
class Findings:
    """A model to look at."""

    file: str
    kind: str
    sizes: dict[str, int]
    certificate: dict[str, Any]
    weights: list[LabelWeights]
    labels: list[str]  # of the rows and columns of transitions
    transitions: Floats | None  # [L, L]; None for trees
    edges: LabelWeights | None = None  # of edge features, where a chain has them

    def to_json(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        found = asdict(self)
        found["transitions"] = None if self.transitions is None else self.transitions.tolist()
        return found


def findings(
    saved: SavedChain | SavedTree, path: str, *, top: int, labels: Sequence[str] = ()
) -> Findings:
    """Look at a model; ``labels`` chooses whose weights are listed, all by default."""
    model = saved.model
    if isinstance(saved, SavedChain):
        rows, transitions = [str(label) for label in saved.model.classes_], saved.model.transitions_
    else:
        rows, transitions = [str(name) for name in saved.model.hierarchy_.names], None
    unknown = [label for label in labels if label not in rows]
    if unknown:
        shown = ", ".join(rows[:8])
        raise ValueError(f"--label: no label {unknown[0]!r} in the model; it has {shown}, …")
    name = _namer(saved)
    chosen = [i for i, row in enumerate(rows) if not labels or row in labels]
    weights = [_largest(model.coef_, i, rows[i], name, top) for i in chosen]
    return Findings(
        file=path,
        kind="chain" if isinstance(saved, SavedChain) else "tree",
        sizes=_sizes(saved, path),
        certificate=_certificate(model),
        weights=[found for found in weights if found.n_weights or labels],
        labels=rows if transitions is not None else [],
        transitions=transitions,
        edges=_edges(saved, rows, top) if isinstance(saved, SavedChain) else None,
    )


def _sizes(saved: SavedChain | SavedTree, path: str) -> dict[str, int]:
    model = saved.model
    sizes = {
        "bytes": os.path.getsize(path),
        "labels": len(model.classes_),
        "features": len(np.unique(model.coef_.indices)),
        "nonzero weights": model.result_.nnz,
        "possible weights": model.n_parameters_,
    }
    if isinstance(saved, SavedChain) and saved.model.edge_coef_.nnz:
        sizes["edge features"] = len(np.unique(saved.model.edge_coef_.indices))
    if isinstance(saved, SavedTree):
        sizes["nodes"] = len(saved.model.hierarchy_)
    return sizes


def _certificate(model: Any) -> dict[str, Any]:
    return {
        "status": model.status_.value,
        "converged": model.status_.success,
        "lam": model.lam,
        "l2": model.l2,
        "objective": model.objective_,
        "gap": model.gap_,
        "relative gap": model.gap_ / abs(model.objective_) if model.objective_ else 0.0,
        "kkt": model.result_.kkt,
        "iterations": model.n_iter_,
    }


def _namer(saved: SavedChain | SavedTree) -> Callable[[int], str]:
    if isinstance(saved, SavedChain) and saved.encoder is not None:
        return saved.encoder.vocabulary.name
    names = getattr(saved.model, "feature_names_in_", None)
    if names is not None:
        return lambda j: str(names[j])
    return str if isinstance(saved, SavedTree) else lambda j: f"x{j}"


def _largest(
    coef: sp.csr_array, row: int, label: str, name: Callable[[int], str], top: int
) -> LabelWeights:
    entries = slice(coef.indptr[row], coef.indptr[row + 1])
    columns = coef.indices[entries]
    return _both_ends(label, coef.data[entries], lambda e: name(int(columns[e])), top)


def _edges(saved: SavedChain, labels: list[str], top: int) -> LabelWeights | None:
    """Return the largest weights of all edge features and label pairs together."""
    model, entries = saved.model, sp.coo_array(saved.model.edge_coef_)
    if not entries.nnz:
        return None
    named = saved.encoder is not None and len(saved.encoder.edge_vocabulary) > 0

    def name(e: int) -> str:
        before, after = divmod(int(entries.row[e]), len(model.classes_))
        column = int(entries.col[e])
        feature = saved.encoder.edge_vocabulary.name(column) if named else f"e{column}"  # type: ignore[union-attr]
        return f"{feature} {labels[before]} → {labels[after]}"

    return _both_ends("edge features", entries.data, name, top)


def _both_ends(label: str, values: Floats, name: Callable[[int], str], top: int) -> LabelWeights:
    order = np.argsort(-values, kind="stable")
    most = [(name(e), float(values[e])) for e in order[:top] if values[e] > 0]
    least = [(name(e), float(values[e])) for e in order[::-1][:top] if values[e] < 0]
    return LabelWeights(label, len(values), most, least)
