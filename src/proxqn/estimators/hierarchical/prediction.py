"""What a fitted tree model says of new samples: leaves, probabilities, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.inference.tree import TreeInference
from proxqn.estimators.input import trees as tree_input
from proxqn.features.hierarchy import Hierarchy
from proxqn.metrics.hierarchical import Average, HierarchicalScores, hierarchical_scores
from proxqn.problem import Floats, Ints


class TreePredictor(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What can be asked of a fitted tree; ``fit``, in ``estimator.py``, sets the attributes."""

    coef_: sp.csr_array
    intercept_: Floats
    hierarchy_: Hierarchy
    classes_: NDArray[Any]
    _leaf_of_class: Ints

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable leaf of each sample, by name."""
        samples, inference = self._prepare(X)
        return self.classes_[inference.most_probable(samples)]

    def predict_proba(self, X: Any) -> Floats:
        """Return ``P(leaf | x)`` of shape (n_samples, n_leaves), in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ``log P(leaf | x)``, exact also where the probability is tiny."""
        samples, inference = self._prepare(X)
        return inference.log_probabilities(samples)

    def predict_node_proba(self, X: Any) -> Floats:
        """Return the probability that each node is on the path of the sample's leaf.

        Returns
        -------
        array of shape (n_samples, n_nodes)
            In the order of ``hierarchy_.names``: 1 at the root, at a node the sum of its children.
        """
        samples, inference = self._prepare(X)
        return inference.node_marginals(samples)

    def top_k(self, X: Any, k: int = 5) -> tuple[NDArray[Any], Floats]:
        """Return the k most probable leaves of each sample, best first.

        Returns
        -------
        names : array of shape (n_samples, k)
            Leaf names.
        probabilities : array of shape (n_samples, k)
            Their probabilities.
        """
        samples, inference = self._prepare(X)
        if not 1 <= k <= len(self.classes_):
            raise ValueError(f"k must be from 1 to {len(self.classes_)}, the leaves, got {k!r}.")
        best, log_p = inference.best_classes(samples, k)
        return self.classes_[best], np.exp(log_p)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of samples whose leaf is right.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        """
        return float(super().score(X, self._leaf_names(y), sample_weight=sample_weight))

    def hierarchical_score(
        self, X: Any, y: Any, *, average: Average = "micro"
    ) -> HierarchicalScores:
        """Return hierarchical precision, recall and F1: a near miss counts for the shared path."""
        check_is_fitted(self)
        names = np.asarray(self._leaf_names(y)).tolist()
        predicted = self.predict(X).tolist()
        return hierarchical_scores(names, predicted, self.hierarchy_, average=average)

    def held_out(self, X: Any, y: Any) -> tuple[sp.csr_array, NDArray[Any]]:
        """Return labelled data, read once, to score any number of models with these columns.

        Parameters
        ----------
        X, y
            As in :meth:`fit`; only leaves of the tree.
        """
        samples, _ = self._prepare(X)
        labelled = tree_input.read_labels(y, self.hierarchy_, samples)
        return samples, labelled.labels

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _leaf_names(self, y: Any) -> Any:
        if not tree_input.is_paths(y):
            return y
        check_is_fitted(self)
        return np.array(self.hierarchy_.leaf_names)[self.hierarchy_.leaf_index_of_paths(y)]

    def _prepare(self, X: Any) -> tuple[sp.csr_array, TreeInference]:
        check_is_fitted(self)
        samples = tree_input.read_samples(self, X, reset=False)
        return samples, TreeInference(
            self.coef_, self.intercept_, self.hierarchy_, self._leaf_of_class
        )
