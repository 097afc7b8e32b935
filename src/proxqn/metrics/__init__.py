"""Scores for structured predictions."""

from proxqn.metrics.hierarchical import (
    HierarchicalScores,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    hierarchical_scores,
)

__all__ = [
    "HierarchicalScores",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "hierarchical_scores",
]
