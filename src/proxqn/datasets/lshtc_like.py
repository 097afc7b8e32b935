"""Generated documents on a given label tree, with the shape of LSHTC's crawled text.

For size and speed at the paper's dimensions (2,388 nodes × 51,033 features) where the real
training file is not to be had. Results on it say nothing about accuracy on the real documents.

All constants below were fitted to Task 1 of the LSHTC1 dry-run, validation.txt and test.txt
together: 3,718 documents, 29,726 features (the document id left out), 539,943 entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import Bunch

from proxqn.datasets.lshtc import feature_range, scale_features
from proxqn.features.hierarchy import Hierarchy

FloatArray = npt.NDArray[np.float64]

# Distinct features a document: quantiles of the real files; interpolated on a log scale.
LENGTH_LEVELS = np.array([0, 0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 0.999, 1])
LENGTH_QUANTILES = np.array([2, 24, 50, 61, 77, 105, 159, 252, 369, 739, 1817, 3276])

# Share of documents that hold the r-th most frequent feature: 0.863 (r + 3)^-0.332 times
# (1 + r/1396)^-1.78, two Zipf laws; within 12 % of the real files wherever 5 or more documents
# hold the feature.
ZIPF_OFFSET, ZIPF_HEAD, ZIPF_KNEE, ZIPF_TAIL = 3.0, 0.332, 1396.0, 1.78
MAX_SHARE = 0.9  # no generated feature is in every document

# Count of a feature in a document: P(count >= v) = v^-1.72; the real files have 0.311, 0.152,
# 0.0187 and 0.0011 at v = 2, 3, 10, 50, the law 0.304, 0.151, 0.0191 and 0.0012.
COUNT_EXPONENT, MAX_COUNT = 1.72, 3795

BATCH = 256  # documents scored at a time: 256 × 2,388 float64 = 5 MB

_DESCR = """Generated LSHTC-like documents: {n_samples} samples, {n_features} features, {nnz}
entries, on {hierarchy}.
Labels drawn from P(y|x) of a tree model with {n_coef} nonzero weights (`coef`);
predicting its most probable leaf is right for a share of {best:.3f} (`bayes_accuracy`)."""


def make_lshtc_like(
    hierarchy: Hierarchy,
    n_samples: int = 4463,
    n_features: int = 51033,
    *,
    nonzeros_per_node: int = 20,
    signal: float = 4.0,
    random_state: int = 0,
) -> Bunch:
    """Generate documents with LSHTC's lengths, feature frequencies and counts, and labels for them.

    Document lengths, document frequencies (Zipf-like, every feature in at least one document) and
    counts follow laws calibrated on the real Task 1 validation and test files; features are then
    scaled to [0, 1] as `load_lshtc` does. Labels are drawn from the tree model itself under a
    sparse ground truth. Memory is that of the sparse data plus one batch of 256 documents' scores.

    Parameters
    ----------
    hierarchy : Hierarchy
        The label tree, for example that of ``cat_hier.txt``.
    n_samples, n_features : int
        Size; the defaults are the paper's.
    nonzeros_per_node : int
        Weights of the ground truth per node (the root has none: it would not change P).
    signal : float
        Standard deviation of the leaf scores within a document. 0 makes labels uniform at random;
        the larger, the better a model can predict them.
    random_state : int
        Seed; the same seed gives the same data.

    Returns
    -------
    Bunch
        ``X`` (CSR, float64), ``y`` (leaf names), ``hierarchy``, ``coef`` (CSR, nodes × features),
        ``bayes_accuracy``, ``DESCR``.

    Examples
    --------
    >>> tree = Hierarchy.from_paths(["1 2", "1 3", "4 5"])
    >>> data = make_lshtc_like(tree, n_samples=40, n_features=500)
    >>> data.X.shape, data.coef.shape
    ((40, 500), (6, 500))
    """
    if n_samples < 2 or n_features < 20:
        raise ValueError(
            "expected n_samples >= 2 and n_features >= 20, "
            f"got {n_samples} and {n_features}; ask for a larger set."
        )
    rng = np.random.default_rng(random_state)
    lengths = _document_lengths(n_samples, n_features, rng)
    counts = _draw_documents(lengths, n_features, rng)
    X = scale_features(counts, *feature_range(counts))
    coef = _draw_weights(hierarchy, X, nonzeros_per_node, rng)
    coef = coef * _factor_for(signal, hierarchy, X, coef)
    leaves, best = _draw_labels(hierarchy, X, coef, rng)
    return Bunch(
        X=X,
        y=np.array(hierarchy.leaf_names)[leaves],
        hierarchy=hierarchy,
        coef=coef,
        bayes_accuracy=best,
        DESCR=_DESCR.format(
            n_samples=n_samples,
            n_features=n_features,
            nnz=X.nnz,
            hierarchy=hierarchy,
            n_coef=coef.nnz,
            best=best,
        ),
    )


def _document_lengths(n_samples: int, n_features: int, rng: np.random.Generator) -> FloatArray:
    log_length = np.interp(rng.random(n_samples), LENGTH_LEVELS, np.log(LENGTH_QUANTILES))
    lengths: FloatArray = np.minimum(np.exp(log_length), n_features / 4)  # small sets stay sparse
    return lengths


def _document_shares(n_samples: int, n_features: int, mean_length: float) -> FloatArray:
    """Share of documents that hold each feature, (n_features,); they add up to mean_length."""
    rank: FloatArray = np.arange(1.0, n_features + 1)
    law = (rank + ZIPF_OFFSET) ** -ZIPF_HEAD * (1 + rank / ZIPF_KNEE) ** -ZIPF_TAIL
    shares = np.zeros(n_features)
    low, high = 0.0, 1e6
    for _ in range(100):  # bisection for the law's factor; the clipped sum grows with it
        factor = (low + high) / 2
        shares = np.clip(factor * law, 1 / n_samples, MAX_SHARE)
        low, high = (factor, high) if shares.sum() < mean_length else (low, factor)
    return shares


def _draw_documents(
    lengths: FloatArray, n_features: int, rng: np.random.Generator
) -> sp.csr_matrix:
    """Draw counts, (n_samples, n_features): each feature goes to documents by their lengths."""
    n_samples = len(lengths)
    shares = _document_shares(n_samples, n_features, float(lengths.mean()))
    rng.shuffle(shares)  # feature numbers of real files do not follow frequency
    # m draws with replacement reach about n (1 - exp(-m/n)) different documents
    draws = -n_samples * np.log1p(-shares)
    draws = np.maximum(1, np.floor(draws + rng.random(n_features))).astype(np.int64)
    features = np.repeat(np.arange(n_features), draws)
    cumulative = np.cumsum(lengths)
    documents = np.searchsorted(cumulative, rng.random(len(features)) * cumulative[-1], "right")
    left_out = np.setdiff1d(np.arange(n_samples), documents)  # the shortest may have got nothing
    pairs = np.unique(
        np.append(documents * n_features + features, left_out * n_features + shares.argmax())
    )
    counts = np.floor((1 - rng.random(len(pairs))) ** (-1 / COUNT_EXPONENT))
    entries = (np.minimum(counts, MAX_COUNT), (pairs // n_features, pairs % n_features))
    return sp.csr_matrix(entries, shape=(n_samples, n_features))


def _draw_weights(
    hierarchy: Hierarchy, X: sp.csr_matrix, per_node: int, rng: np.random.Generator
) -> sp.csr_matrix:
    """Ground truth, (n_nodes, n_features): frequent features more often, a hit worth N(0, 1)."""
    n_nodes, n_features = len(hierarchy), X.shape[1]
    frequency = np.bincount(X.indices, minlength=n_features)
    mean_value = X.sum(axis=0).A1 / np.maximum(frequency, 1)
    n_weights = (n_nodes - 1) * per_node
    features = rng.choice(n_features, size=n_weights, p=frequency / frequency.sum())
    nodes = np.repeat(np.arange(1, n_nodes), per_node)
    weights = rng.normal(size=n_weights) / mean_value[features]
    return sp.csr_matrix((weights, (nodes, features)), shape=(n_nodes, n_features))


def _leaf_scores(hierarchy: Hierarchy, X: sp.csr_matrix, coef: sp.csr_matrix) -> FloatArray:
    node_scores: Any = X @ coef.T
    return hierarchy.downward(node_scores.toarray())  # (batch, n_leaves)


def _factor_for(
    signal: float, hierarchy: Hierarchy, X: sp.csr_matrix, coef: sp.csr_matrix
) -> float:
    spread = _leaf_scores(hierarchy, X[:BATCH], coef).std(axis=1).mean()
    return float(signal / spread) if spread > 0 else 0.0


def _draw_labels(
    hierarchy: Hierarchy, X: sp.csr_matrix, coef: sp.csr_matrix, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], float]:
    """Leaf of each sample drawn from P(y|x), and the mean of max_y P(y|x)."""
    leaves, best = [], 0.0
    for start in range(0, X.shape[0], BATCH):
        scores = _leaf_scores(hierarchy, X[start : start + BATCH], coef)
        # argmax of scores + Gumbel noise is a draw from their softmax
        leaves.append(np.argmax(scores + rng.gumbel(size=scores.shape), axis=1))
        shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
        best += float((1 / shifted.sum(axis=1)).sum())
    return np.concatenate(leaves), best / X.shape[0]
