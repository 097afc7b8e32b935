"""The work of ``proxqn train``: read, fit, write, say what was reached."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn.cli import resuming
from proxqn.cli.encoding import encode
from proxqn.cli.failures import Exit
from proxqn.cli.outputs import check_writable
from proxqn.cli.scoring import ChainDev, TreeDev
from proxqn.cli.sequence_files import Reading
from proxqn.cli.tree_files import TreeReading, read_hierarchy, read_labelled
from proxqn.cli.watching import Dev, Display, Stop, Watched, fit
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.io import model_file
from proxqn.io.chain_file import SavedChain
from proxqn.io.tree_file import SavedTree


@final
@dataclass(frozen=True)
class Request:
    """What was asked for, beside the data."""

    output: str
    lam: float
    l2: float
    tol: float
    max_iter: int
    solver: str
    seed: int
    jobs: int
    dev: str | None
    checkpoint: str | None
    checkpoint_every: int | None
    resume: str | None
    display: Display
    stop: Stop
    began: float

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that all estimators share."""
        return {
            "lam": self.lam,
            "l2": self.l2,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "n_jobs": self.jobs,
        }


def train_chain(
    request: Request,
    data: str,
    reading: Reading,
    template: str | None,
    *,
    pairs: str,
    transition_pairs: str | None,
    end_weights: bool,
    min_freq: int,
) -> None:
    """Fit a chain CRF and write it with its encoder."""
    check_writable(request.output, request.checkpoint)
    templates = None if template is None else _templates(template, request.display)
    encoder = SequenceEncoder(templates, min_freq=min_freq)
    encoded = encode(encoder, reading, data, fit=True)
    request.display.say(
        f"{len(encoded.lengths):,} sequences, {encoded.X.shape[0]:,} tokens, "
        f"{encoded.X.shape[1]:,} features{_edge_count(encoded)} ({_elapsed(request)})"
    )
    labels = np.array([label for labels in encoded.labels or [] for label in labels])
    dev = None if request.dev is None else ChainDev(encoder, request.dev, reading)
    structure: dict[str, Any] = {"pairs": pairs, "transition_pairs": transition_pairs}
    model = ChainCRF(**structure, end_weights=end_weights, **request.parameters())
    edges = encoded.edges
    more = () if edges is None else (edges.indptr, edges.indices)
    problem = resuming.fingerprint(
        request,
        encoded.X,
        labels,
        encoded.lengths,
        pairs,
        transition_pairs or pairs,
        end_weights,
        *more,
    )
    run = resuming.prepare(request, problem)
    if run.start is not None:
        resuming.start_chain_from(model, run.start, encoder)
    model.solver = Watched(run.solver, request.display, request.stop, dev)  # type: ignore[assignment]
    fit(
        model,
        encoded.X,
        labels,
        lengths=encoded.lengths,
        sample_weight=encoded.weights,
        edges=edges,
    )
    model.set_params(solver=request.solver, warm_start=False)
    saved = SavedChain(model, encoder, reading.to_json())
    model_file.write(saved, request.output)
    _conclude(request, model, dev)


def train_tree(
    request: Request,
    data: str,
    hierarchy: str | None,
    *,
    ignore: Sequence[int],
    fit_intercept: bool,
) -> None:
    """Fit a label tree and write it."""
    check_writable(request.output, request.checkpoint)
    reading = TreeReading(tuple(ignore))
    tree = None if hierarchy is None else read_hierarchy(hierarchy)
    rows = read_labelled(data, reading, tree, fit=True)
    request.display.say(
        f"{rows.X.shape[0]:,} samples, {len(np.unique(rows.X.indices)):,} features "
        f"({_elapsed(request)})"
    )
    dev = None if request.dev is None else TreeDev(request.dev, reading)
    model = HierarchicalClassifier(tree, fit_intercept=fit_intercept, **request.parameters())
    labels, names = np.array(rows.labels), () if tree is None else tree.names
    problem = resuming.fingerprint(request, rows.X, labels, names, fit_intercept)
    run = resuming.prepare(request, problem)
    X = rows.X
    if run.start is not None:
        X = resuming.start_tree_from(model, run.start, X)
    model.solver = Watched(run.solver, request.display, request.stop, dev)  # type: ignore[assignment]
    fit(model, X, labels)
    model.set_params(solver=request.solver, warm_start=False)
    saved = SavedTree(model, reading.to_json())
    model_file.write(saved, request.output)
    _conclude(request, model, dev)


def _edge_count(encoded: EncodedSequences) -> str:
    return "" if encoded.edges is None else f", {encoded.edges.shape[1]:,} edge features"


def _templates(path: str, display: Display) -> Templates:
    templates = Templates.from_file(path)
    if not templates.has_transitions:
        display.say(f"{path}: no B template; transitions between labels are learned all the same.")
    return templates


def _conclude(request: Request, model: Any, dev: Dev | None) -> None:
    """Say what was reached; exit code 130 after a signal."""
    result, size = model.result_, os.path.getsize(request.output)
    stopped = request.stop.requested
    scores = None if dev is None or stopped else dev.scores(model)
    request.display.tell(
        "done",
        status=model.status_.name,
        converged=result.success,
        interrupted=stopped,
        objective=model.objective_,
        gap=model.gap_,
        iterations=model.n_iter_,
        nonzeros=result.nnz,
        parameters=model.n_parameters_,
        model=request.output,
        bytes=size,
        seconds=time.perf_counter() - request.began,
        dev=None if scores is None else scores.to_json(),
    )
    request.display.say(f"objective {model.objective_:,.4f}, {_proved(model)}")
    if scores is not None:
        request.display.say(f"{request.dev}: {scores.line()}")
    request.display.say(
        f"{request.output}: {result.nnz:,} of {model.n_parameters_:,} weights are not zero, "
        f"{size:,} bytes ({_elapsed(request)})"
    )
    if stopped:
        request.display.say(f"interrupted after {model.n_iter_} iterations; {_advice(request)}")
        sys.exit(Exit.INTERRUPTED)


def _proved(model: Any) -> str:
    if not math.isfinite(model.gap_) or not model.objective_:
        return "no lower bound known yet"
    return f"proved to be within {model.gap_ / abs(model.objective_):.1e} of the optimum"


def _advice(request: Request) -> str:
    if request.checkpoint is not None and os.path.exists(request.checkpoint):
        return f"go on with --resume {request.checkpoint}."
    return f"go on from its weights with --resume {request.output}."


def _elapsed(request: Request) -> str:
    return f"{time.perf_counter() - request.began:.1f} s"
