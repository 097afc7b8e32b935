"""ICD-10-CM: diagnosis texts and the tree of chapters, blocks and three-character categories.

The tree and its texts are in the public domain; the package simple-icd-10-cm (MIT) carries them.
"""

from __future__ import annotations

import zlib
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from proxqn.features.hierarchy import Hierarchy

_DESCR = """ICD-10-CM from simple-icd-10-cm {version}: {n_train} training and {n_test} test texts
(descriptions of codes{terms}) labelled with their three-character category; {hierarchy}."""


def load_icd10cm(*, inclusion_terms: bool = True, test_share: float = 0.2) -> Bunch:
    """Load diagnosis texts, their three-character categories, and the tree above these.

    A category's own description is always a training text, so every leaf has one. Each other text
    goes to a split by a checksum of its words: the same text is never in both, and neither order
    nor version of the package moves it. Descriptions of seventh-character extensions ("..., initial
    encounter") only repeat their code's and are left out.

    Parameters
    ----------
    inclusion_terms : bool
        Also take the synonyms listed under a code ("Classical cholera").
    test_share : float
        About this share of the texts becomes the test split.

    Returns
    -------
    Bunch
        ``text_train``, ``text_test`` (lists of str), ``y_train``, ``y_test`` (categories such as
        ``'A00'``), ``hierarchy``, ``node_descriptions`` (dict by node name), ``DESCR``.

    Examples
    --------
    >>> data = load_icd10cm()  # doctest: +SKIP
    >>> data.hierarchy.path("A00")  # doctest: +SKIP
    ('<root>', 'chapter 1', 'A00-A09', 'A00')
    """
    if not 0 <= test_share < 1:
        raise ValueError(f"expected 0 <= test_share < 1, got {test_share}.")
    icd = _import_icd()
    # A block with a single category bears the category's code, so codes repeat: keep one of each.
    categories = [c for c in dict.fromkeys(icd.get_all_codes(True)) if icd.is_category(c)]
    hierarchy = Hierarchy.from_paths([_path(icd, category) for category in categories])
    own_texts = {icd.get_description(category) for category in categories}
    train: list[tuple[str, str]] = []
    test: list[tuple[str, str]] = []
    for category in categories:
        for text in _texts(icd, category, inclusion_terms):
            is_test = text not in own_texts and _checksum(text) < test_share
            (test if is_test else train).append((text, category))
    return Bunch(
        text_train=[text for text, _ in train],
        y_train=np.array([category for _, category in train], dtype=str),
        text_test=[text for text, _ in test],
        y_test=np.array([category for _, category in test], dtype=str),
        hierarchy=hierarchy,
        node_descriptions=_node_descriptions(icd, categories),
        DESCR=_DESCR.format(
            version=version("simple-icd-10-cm"),
            n_train=len(train),
            n_test=len(test),
            terms=" and their inclusion terms" if inclusion_terms else "",
            hierarchy=hierarchy,
        ),
    )


def _import_icd() -> Any:
    try:
        # by name, for the package has no type hints and mypy would stop at a plain import
        return import_module("simple_icd_10_cm")
    except ImportError as error:
        raise ImportError(
            "load_icd10cm reads ICD-10-CM from the package simple-icd-10-cm, which is not "
            "installed. Run: pip install proxqn[icd]"
        ) from error


def _path(icd: Any, category: str) -> list[str]:
    block, chapter = icd.get_ancestors(category)
    return [f"chapter {chapter}", _block_name(block, category), category]


def _block_name(block: str, category: str) -> str:
    # Node names must be unique: the block of the one category C50 is called C50-C50.
    return f"{block}-{block}" if block == category else block


def _texts(icd: Any, category: str, inclusion_terms: bool) -> list[str]:
    """All different texts of a category and of the codes below it, its own description first."""
    texts: dict[str, None] = {}
    for code in [category, *icd.get_descendants(category)]:
        if icd.is_extended_subcategory(code):
            continue
        texts[icd.get_description(code)] = None
        if inclusion_terms:
            texts.update(dict.fromkeys(icd.get_inclusion_term(code)))
    return list(texts)


def _checksum(text: str) -> float:
    """Map a text to a fixed number in [0, 1); str's own hash changes between runs."""
    return zlib.crc32(text.encode()) / 2**32


def _node_descriptions(icd: Any, categories: list[str]) -> dict[str, str]:
    descriptions: dict[str, str] = {}
    for category in categories:
        block, chapter = icd.get_ancestors(category)
        descriptions[f"chapter {chapter}"] = icd.get_description(chapter)
        descriptions[_block_name(block, category)] = icd.get_description(
            block, prioritize_blocks=True
        )
        descriptions[category] = icd.get_description(category)
    return descriptions
