"""The command line that all adapters share."""

from __future__ import annotations

import argparse
from pathlib import Path


def parser(peer: str) -> argparse.ArgumentParser:
    """Return a parser with what every adapter takes."""
    common = argparse.ArgumentParser(description=f"Train {peer} on a saved problem.")
    common.add_argument("problem", type=Path, help="npz file written by Problem.save")
    common.add_argument("run", type=Path, help="JSON file to write; the weights go beside it")
    common.add_argument("--lam", type=float, required=True)
    common.add_argument("--max-iterations", type=int)
    common.add_argument("--observed-only", action="store_true")
    return common


def arguments(peer: str, *, with_target: bool = False) -> argparse.Namespace:
    """Parse the command line of a wrapper of CRFsuite."""
    options = parser(peer)
    options.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    if with_target:
        options.add_argument("--target", type=float, help="stop at this logged objective")
    return options.parse_args()
