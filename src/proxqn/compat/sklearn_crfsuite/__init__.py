"""The module ``sklearn_crfsuite``, with this package's solver behind it.

``import proxqn.compat.sklearn_crfsuite as sklearn_crfsuite`` is the whole migration.
"""

from __future__ import annotations

from proxqn.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF"]
