"""scikit-learn's estimator checks, counted."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import sklearn
from benchmarks.tables import markdown
from sklearn.utils.estimator_checks import check_estimator

from proxqn import ChainCRF, HierarchicalClassifier


def measure() -> dict[str, Any]:
    """Run all checks of both estimators, none expected to fail."""
    found: dict[str, Any] = {"scikit-learn": sklearn.__version__}
    for estimator in (ChainCRF(), HierarchicalClassifier()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(estimator, on_skip=None, on_fail=None)
        counts = Counter(result["status"] for result in results)
        found[type(estimator).__name__] = dict(counts) | {
            "not passed": [f"{r['check_name']}: {r['exception']}" for r in results
                           if r["status"] != "passed"],
        }  # fmt: skip
    return found


def table(found: dict[str, Any]) -> str:
    """Return the counts."""
    statuses = ("passed", "failed", "xfail", "skipped")
    rows = [
        [name, *(str(found[name].get(status, 0)) for status in statuses)]
        for name in ("ChainCRF", "HierarchicalClassifier")
    ]
    return markdown([f"checks of scikit-learn {found['scikit-learn']}", *statuses], rows)
