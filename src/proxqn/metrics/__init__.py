"""Scores for structured predictions."""

from proxqn.metrics.entities import Entity, Scheme, extract_entities
from proxqn.metrics.hierarchical import (
    HierarchicalScores,
    hierarchical_f1,
    hierarchical_f1_scorer,
    hierarchical_precision,
    hierarchical_recall,
    hierarchical_scores,
)
from proxqn.metrics.sequence import (
    EntityScore,
    EntityScores,
    entity_f1_score,
    entity_f1_scorer,
    entity_precision_score,
    entity_recall_score,
    entity_scores,
    sequence_accuracy_score,
    sequence_accuracy_scorer,
    token_accuracy_score,
    token_accuracy_scorer,
)

__all__ = [
    "Entity",
    "EntityScore",
    "EntityScores",
    "HierarchicalScores",
    "Scheme",
    "entity_f1_score",
    "entity_f1_scorer",
    "entity_precision_score",
    "entity_recall_score",
    "entity_scores",
    "extract_entities",
    "hierarchical_f1",
    "hierarchical_f1_scorer",
    "hierarchical_precision",
    "hierarchical_recall",
    "hierarchical_scores",
    "sequence_accuracy_score",
    "sequence_accuracy_scorer",
    "token_accuracy_score",
    "token_accuracy_scorer",
]
