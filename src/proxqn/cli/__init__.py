"""The ``proxqn`` command: train, predict, evaluate, inspect, export."""

from __future__ import annotations


def main() -> None:
    """Run the command line; what it needs (click, rich) is imported only now."""
    from proxqn.cli.app import proxqn
    from proxqn.cli.failures import run

    run(proxqn)
