"""Classifiers into the leaves of a label tree."""

from proxqn.estimators.hierarchical.estimator import HierarchicalClassifier

__all__ = ["HierarchicalClassifier"]
