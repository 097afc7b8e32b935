"""Put our modules in the place of pycrfsuite and sklearn_crfsuite; also a plugin of pytest."""

from __future__ import annotations

import sys


def put_in_place() -> None:
    """Make ``import pycrfsuite`` and ``import sklearn_crfsuite`` give ours."""
    import proxqn.compat.pycrfsuite
    import proxqn.compat.sklearn_crfsuite

    sys.modules["pycrfsuite"] = proxqn.compat.pycrfsuite
    sys.modules["sklearn_crfsuite"] = proxqn.compat.sklearn_crfsuite


def pytest_configure() -> None:
    """Do so before pytest imports the tests: ``pytest -p benchmarks.stand_ins.place``."""
    put_in_place()
