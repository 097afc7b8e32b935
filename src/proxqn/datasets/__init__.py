"""Bundled data, readers of data that users hold, and generators of data of a known shape."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxqn.datasets.icd10 import load_icd10cm
    from proxqn.datasets.lshtc import load_lshtc
    from proxqn.datasets.lshtc_like import make_lshtc_like
    from proxqn.datasets.newsgroups import load_newsgroups_tree
    from proxqn.datasets.ocr import load_ocr

_HOMES = {
    "load_icd10cm": "proxqn.datasets.icd10",
    "load_lshtc": "proxqn.datasets.lshtc",
    "load_newsgroups_tree": "proxqn.datasets.newsgroups",
    "load_ocr": "proxqn.datasets.ocr",
    "make_lshtc_like": "proxqn.datasets.lshtc_like",
}

__all__ = [
    "load_icd10cm",
    "load_lshtc",
    "load_newsgroups_tree",
    "load_ocr",
    "make_lshtc_like",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'proxqn.datasets' has no attribute {name!r}")
