"""Classify diagnosis texts into ICD-10-CM: its 910 categories A00 to L99, by chapter and block.

    pip install "proxqn[icd]"
    python examples/icd10.py

One joint model for the whole tree: a word that speaks for a chapter gets one weight there, not one
for each of its hundred categories, so the fitted model is a few thousand numbers.

The other chapters (injuries and external causes above all) treble the texts: pass ``--all`` for
them, and some minutes.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from proxqn import Hierarchy
from proxqn.datasets import load_icd10cm
from proxqn.estimators.hierarchical import HierarchicalClassifier


def main() -> None:
    icd = load_icd10cm()
    last = "Z" if "--all" in sys.argv[1:] else "L"
    tree = Hierarchy.from_paths(
        [icd.hierarchy.path(c)[1:] for c in icd.hierarchy.leaf_names if c[0] <= last]
    )
    train_texts, y_train = up_to(last, icd.text_train, icd.y_train)
    test_texts, y_test = up_to(last, icd.text_test, icd.y_test)
    print(f"{len(y_train):,} texts to learn from, {len(y_test):,} held out; {tree}")

    pipeline = make_pipeline(
        TfidfVectorizer(sublinear_tf=True),
        HierarchicalClassifier(tree, lam=0.5, tol=1e-2, n_jobs=-1),
    )
    started = time.perf_counter()
    pipeline.fit(train_texts, y_train)
    words, model = pipeline[0].get_feature_names_out(), pipeline[-1]
    print(
        f"\nFitted in {time.perf_counter() - started:.0f} s: {model.n_iter_} iterations, objective "
        f"{model.objective_:.1f}, proved to be within {model.gap_ / model.objective_:.1e} of the "
        "optimum."
    )

    scores = model.hierarchical_score(pipeline[0].transform(test_texts), y_test)
    print(
        f"Held-out texts: category right for {pipeline.score(test_texts, y_test):.3f}, "
        f"hierarchical F1 {scores.f1:.3f}."
    )

    show_sizes(model)
    show_top_words(model, words, icd.node_descriptions)
    show_diagnosis(pipeline, "inflammation of the middle ear with pus", icd.node_descriptions)


def up_to(letter: str, texts: list[str], categories: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Keep the texts whose category begins with this letter or an earlier one."""
    keep = [i for i, category in enumerate(categories) if category[0] <= letter]
    return [texts[i] for i in keep], categories[keep]


def show_sizes(model: HierarchicalClassifier) -> None:
    """Compare the memory of the sparse weights with that of dense ones."""
    coef = model.coef_
    sparse = coef.data.nbytes + coef.indices.nbytes + coef.indptr.nbytes
    dense = 8 * coef.shape[0] * coef.shape[1]
    print(
        f"\nModel: {coef.nnz:,} nonzero weights of {coef.shape[0]:,} nodes x {coef.shape[1]:,} "
        f"words = {model.n_parameters_:,};\n"
        f"{sparse / 1e6:.2f} MB, a dense one takes {dense / 1e6:.0f} MB, "
        f"{dense / sparse:.0f} times as much."
    )


def show_top_words(model: HierarchicalClassifier, words: np.ndarray, texts: dict[str, str]) -> None:
    """Print what the model has learnt about the nodes with most to say, level by level."""
    tree, coef = model.hierarchy_, model.coef_
    strength = np.asarray(abs(coef).sum(axis=1)).ravel()
    for depth, title in [(1, "Chapters"), (2, "Blocks"), (3, "Categories")]:
        level = np.flatnonzero(tree.depth == depth)
        best = level[np.argsort(-strength[level])[:5]]
        used = int((np.diff(coef.indptr)[level] > 0).sum())
        print(f"\n{title} ({used} of {len(level)} have weights); the strongest:")
        for node in best:
            row = coef[[int(node)]].tocoo()
            top = row.col[np.argsort(-row.data)[:6]]
            name = tree.names[node]
            print(f"  {name:<11} {texts[name][:48]:<48}  {', '.join(words[top])}")


def show_diagnosis(pipeline, text: str, texts: dict[str, str]) -> None:
    """Print the most probable categories of a text that is in no book."""
    features = pipeline[0].transform([text])
    names, probabilities = pipeline[-1].top_k(features, k=5)
    print(f"\n{text!r}:")
    for name, p in zip(names[0], probabilities[0], strict=True):
        print(f"  {p:.3f}  {name}  {texts[name]}")


if __name__ == "__main__":
    main()
