"""Random chains with edge features, and their solution by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from tests.problems import ChainProblem, random_chain

from proxqn.features.partial_labels import PartialLabels
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.problem.sparse import Floats


@dataclass(frozen=True)
class LatticeProblem:
    """Everything a LatticeOracle is made of."""

    chain: ChainProblem
    edges: sp.csr_array
    partial: PartialLabels | None = None

    def oracle(self, **options: Any) -> LatticeOracle:
        chain = self.chain
        return LatticeOracle(
            chain.X,
            chain.labels if self.partial is None else self.partial,
            chain.lengths,
            n_labels=chain.n_labels,
            edges=self.edges,
            sample_weight=chain.sample_weight,
            **options,
        )

    def with_unknown(self, seed: int = 0, share: float = 0.4) -> LatticeProblem:
        """Forget some labels: half of those entirely, half but for a set with the true one."""
        rng, L = np.random.default_rng(seed), self.chain.n_labels
        labels = self.chain.labels.astype(np.int32)
        unknown = np.flatnonzero(rng.random(len(labels)) < share)
        candidates = rng.random((len(unknown), L)) < 0.5
        candidates[rng.random(len(unknown)) < 0.5] = True
        candidates[np.arange(len(unknown)), labels[unknown]] = True
        labels[unknown] = -1
        return replace(self, partial=PartialLabels(labels, candidates))

    def with_weights(self, seed: int = 0) -> LatticeProblem:
        return replace(self, chain=self.chain.with_weights(seed))


def random_lattice(
    seed: int,
    *,
    n_edge_features: int = 5,
    edge_density: float = 0.3,
    edge_binary: bool = True,
    **options: Any,
) -> LatticeProblem:
    chain = random_chain(seed, **options)
    rng = np.random.default_rng(seed + 1000)
    shape = (chain.X.shape[0], n_edge_features)
    active = rng.random(shape) < edge_density
    edges = active * (1.0 if edge_binary else rng.normal(size=shape))
    return LatticeProblem(chain, sp.csr_array(edges))


@dataclass(frozen=True)
class Truth:
    """Loss, gradient and marginals by enumeration of all labelings."""

    losses: Floats
    value: float
    gradient: Floats
    entropy: float
    log_z: Floats
    marginals: Floats  # [n_tokens, L]
    best: list[list[tuple[int, ...]]]  # labelings by score, best first
    log_p: list[Floats]  # theirs


def enumerate_lattice(problem: LatticeProblem, oracle: LatticeOracle, w: Floats) -> Truth:
    """Solve by enumeration."""
    allowed = None if problem.partial is None else problem.partial.allowed()
    chain, L = problem.chain, problem.chain.n_labels
    X, E = chain.X.toarray(), problem.edges.toarray()
    E[np.cumsum(chain.lengths) - chain.lengths] = 0.0  # steps into first tokens do not exist
    X = X[:, np.flatnonzero((X != 0).any(axis=0))]
    E = E[:, np.flatnonzero((E != 0).any(axis=0))]
    n_unigrams, size = X.shape[1] * L, L * L
    assert oracle.n_coordinates == n_unigrams + size + E.shape[1] * size == len(w)
    losses, gradients, entropies, log_zs, marginals, best, log_ps = [], [], [], [], [], [], []
    start = 0
    for length in chain.lengths:
        tokens = range(start, start + length)
        labelings = list(itertools.product(range(L), repeat=int(length)))
        phi = np.zeros((len(labelings), len(w)))
        for i, y in enumerate(labelings):
            for t, label in zip(tokens, y, strict=True):
                phi[i, np.arange(X.shape[1]) * L + label] += X[t]
            for t, (before, after) in zip(tokens[1:], itertools.pairwise(y), strict=True):
                pair = before * L + after
                phi[i, n_unigrams + pair] += 1.0
                phi[i, n_unigrams + size + np.arange(E.shape[1]) * size + pair] += E[t]
        scores = phi @ w
        log_z = logsumexp(scores)
        p = np.exp(scores - log_z)
        true = tuple(chain.labels[start : start + length])
        if allowed is None:
            good = np.array([y == true for y in labelings])
        else:
            good = np.array(
                [all(allowed[t, k] for t, k in zip(tokens, y, strict=True)) for y in labelings]
            )
        log_good = logsumexp(scores[good])
        losses.append(log_z - log_good)
        gradients.append(p @ phi - np.exp(scores[good] - log_good) @ phi[good])
        entropies.append(-(p * (scores - log_z)).sum())
        log_zs.append(log_z)
        by_token = np.zeros((length, L))
        for q, y in zip(p, labelings, strict=True):
            by_token[np.arange(length), np.array(y)] += q
        marginals.append(by_token)
        order = np.argsort(-scores, kind="stable")
        best.append([labelings[i] for i in order])
        log_ps.append(scores[order] - log_z)
        start += length
    weight = chain.weight
    return Truth(
        np.array(losses),
        float(weight @ losses),
        weight @ np.array(gradients),
        float(weight @ entropies),
        np.array(log_zs),
        np.concatenate(marginals),
        best,
        log_ps,
    )
