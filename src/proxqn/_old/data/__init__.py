"""Moved to ``proxqn.features`` and ``proxqn.io``."""

from proxqn._moved import alias

alias(
    __name__,
    {
        "hierarchy": "proxqn.features.hierarchy",
        "encode": "proxqn.features.encoding",
        "edges": "proxqn.features.edge_patterns",
        "items": "proxqn.features.items",
        "partial_labels": "proxqn.features.partial_labels",
        "readers": "proxqn.io.readers",
        "templates": "proxqn.features.templates",
        "vocabulary": "proxqn.features.vocabulary",
    },
)
