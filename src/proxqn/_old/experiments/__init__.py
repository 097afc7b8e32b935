"""Moved out of the package, to ``replication/`` in a checkout."""

raise ModuleNotFoundError(
    "proxqn.experiments is not part of the package any more: the paper's experiments are run from "
    "a checkout, with `python -m replication` (docs/replication.md).",
    name=__name__,
)
