"""Random chain problems, their solution by enumeration, and ways to put an oracle at a point."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from proxqn import ProxQN
from proxqn.losses.chain.oracle import ChainOracle
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.sparse import Floats, SparseVector

SETTINGS = pytest.mark.parametrize(
    "settings",
    [
        pytest.param(ProxQN(), id="default"),
        pytest.param(ProxQN.paper(), id="paper"),
        pytest.param(ProxQN(warm_up=0.0, memory=5, keep_memory=False), id="forgetful"),
    ],
)


@dataclass(frozen=True)
class ChainProblem:
    """Everything a ChainOracle is made of."""

    X: sp.csr_array
    labels: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_labels: int
    sample_weight: Floats | None = None

    def oracle(self, **options: Any) -> ChainOracle:
        return ChainOracle(
            self.X,
            self.labels,
            self.lengths,
            n_labels=self.n_labels,
            sample_weight=self.sample_weight,
            **options,
        )

    @property
    def weight(self) -> Floats:
        return np.ones(len(self.lengths)) if self.sample_weight is None else self.sample_weight

    def with_weights(self, seed: int = 0) -> ChainProblem:
        weight = np.random.default_rng(seed).uniform(0.1, 3.0, len(self.lengths))
        return replace(self, sample_weight=weight)


def random_chain(
    seed: int,
    *,
    n_labels: int = 3,
    n_features: int = 6,
    n_sequences: int = 12,
    max_length: int = 6,
    density: float = 0.4,
    binary: bool = True,
    lengths: Any = None,
) -> ChainProblem:
    """Labels follow a noisy linear rule, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    if lengths is None:
        lengths = rng.integers(1, max_length + 1, n_sequences)
    lengths = np.asarray(lengths, dtype=np.int64)
    shape = (int(lengths.sum()), n_features)
    active = rng.random(shape) < density
    X = active * (1.0 if binary else rng.normal(size=shape))
    rule = rng.normal(size=(n_features, n_labels))
    labels = (X @ rule + 0.5 * rng.gumbel(size=(shape[0], n_labels))).argmax(axis=1)
    return ChainProblem(sp.csr_array(X), labels, lengths, n_labels)


def small_problem(seed: int) -> ChainProblem:
    """A problem of a size and kind that depend on the seed."""
    rng = np.random.default_rng(seed)
    return random_chain(
        seed,
        n_labels=int(rng.integers(2, 6)),
        n_features=int(rng.integers(3, 40)),
        n_sequences=int(rng.integers(5, 60)),
        max_length=int(rng.integers(1, 12)),
        binary=bool(seed % 2),
        density=0.3,
    )


def random_weights(oracle: Oracle, seed: int, *, scale: float = 1.0, share: float = 0.6):
    rng = np.random.default_rng(seed)
    n = oracle.n_coordinates
    coordinates = np.flatnonzero(rng.random(n) < share)
    return SparseVector(coordinates, scale * rng.normal(size=len(coordinates)))


def go_to(oracle: Oracle, w: SparseVector) -> Any:
    """Return the point w."""
    return oracle.at(w)


def objective(oracle: Oracle, x, lam: float, l2: float = 0.0) -> float:
    """Return f at a result's x, from scratch."""
    w = SparseVector(x.coords[0].astype(np.int64), x.data)
    ridge = 0.5 * l2 * float(w.values @ w.values)
    return go_to(oracle, w).value + lam * float(np.abs(w.values).sum()) + ridge


def full_gradient(point: Point, n: int) -> Floats:
    return point.gradient(np.arange(n, dtype=np.int64))


def dense(w: SparseVector, n: int) -> Floats:
    out = np.zeros(n)
    out[w.coordinates] = w.values
    return out


def sparse(w: Floats) -> SparseVector:
    coordinates = np.flatnonzero(w)
    return SparseVector(coordinates, w[coordinates])


@dataclass(frozen=True)
class Enumerated:
    """One sequence's labelings with their probabilities and feature counts φ [n, d]."""

    log_z: float
    log_p: Floats
    true: int
    phi: Floats
    token_marginals: Floats


@dataclass(frozen=True)
class BruteForce:
    """The chain model by enumeration of all labelings: exponential, and obviously right."""

    sequences: list[Enumerated]
    weight: Floats

    @property
    def losses(self) -> Floats:
        return np.array([-s.log_p[s.true] for s in self.sequences])

    @property
    def value(self) -> float:
        return float(self.weight @ self.losses)

    @property
    def gradient(self) -> Floats:
        terms = [np.exp(s.log_p) @ s.phi - s.phi[s.true] for s in self.sequences]
        return self.weight @ np.array(terms)

    @property
    def entropy(self) -> float:
        return float(self.weight @ [-(np.exp(s.log_p) * s.log_p).sum() for s in self.sequences])


def enumerate_labelings(problem: ChainProblem, oracle: ChainOracle, w: Floats) -> BruteForce:
    """Solve by enumeration in the oracle's coordinates, read off from ``pack``."""
    L, X = problem.n_labels, problem.X.toarray()
    n_unigrams = oracle.n_coordinates - L * L
    columns = oracle.data.columns
    sequences, start = [], 0
    for length in problem.lengths:
        rows = X[start : start + length][:, columns]
        true = tuple(problem.labels[start : start + length])
        labelings = list(itertools.product(range(L), repeat=int(length)))
        phi = np.zeros((len(labelings), oracle.n_coordinates))
        for i, y in enumerate(labelings):
            for t, label in enumerate(y):
                phi[i, np.arange(len(columns)) * L + label] += rows[t]
            for before, after in itertools.pairwise(y):
                phi[i, n_unigrams + before * L + after] += 1.0
        scores = phi @ w
        log_z = float(logsumexp(scores))
        p = np.exp(scores - log_z)
        marginals = np.zeros((L, length))
        for q, y in zip(p, labelings, strict=True):
            marginals[np.array(y), np.arange(length)] += q
        sequences.append(
            Enumerated(log_z, scores - log_z, labelings.index(true), phi, marginals),
        )
        start += length
    return BruteForce(sequences, problem.weight)
