"""Other programs' Python modules, with this package's solver behind them.

=====================================  ==========================================
instead of                             write
=====================================  ==========================================
``import sklearn_crfsuite``            ``import proxqn.compat.sklearn_crfsuite as sklearn_crfsuite``
``from sklearn_crfsuite import CRF``   ``from proxqn.compat import CRF``
``import pycrfsuite``                  ``import proxqn.compat.pycrfsuite as pycrfsuite``
=====================================  ==========================================

``docs/migrating.md`` says what is the same and what differs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxqn.compat.pycrfsuite._logparser import TrainLogParser as TrainingLog
    from proxqn.compat.sklearn_crfsuite.estimator import CRF

_HOMES = {
    "CRF": ("proxqn.compat.sklearn_crfsuite.estimator", "CRF"),
    "TrainingLog": ("proxqn.compat.pycrfsuite._logparser", "TrainLogParser"),
}

__all__ = ["CRF", "TrainingLog"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'proxqn.compat' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
