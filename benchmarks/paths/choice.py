"""λ by cross-validation: beside one fit, a grid of separate fits, and a random search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.everyday.corpora import chunks, tweets

from proxqn import ChainCRF, ChainCRFCV
from proxqn.metrics import entity_f1_scorer

HEADER = ["problem", "λ", "λs", "CPU, s", "one cold fit, s", "times one fit", "F1, five folds",
          "random search, s", "its F1", "ratio"]  # fmt: skip
PROBLEMS = {"tweets": tweets, "chunks": lambda: chunks(9000)}
CANDIDATES = 20


def cross_validated(name: str, *, rival: bool) -> list[str]:
    """Return the row of a corpus, from dicts, one thread."""
    corpus = PROBLEMS[name]()
    crf = ChainCRF(pairs="observed")
    began = time.process_time()
    cv = ChainCRFCV(crf, cv=5, scoring="entity_f1").fit(corpus.X, corpus.y)
    middle = time.process_time()
    ChainCRF(lam=cv.lam_, pairs="observed").fit(corpus.X, corpus.y)
    ended = time.process_time()
    seconds, one = middle - began, ended - middle
    row = [name, f"{cv.lam_:.3g}", str(len(cv.lams_)), f"{seconds:.1f}", f"{one:.1f}",
           f"{seconds / one:.1f}", f"{cv.cv_mean_.max():.4f}"]  # fmt: skip
    if not rival:
        return [*row, "–", "–", "–"]
    took, score = random_search(corpus.X, corpus.y)
    return [*row, f"{took:.0f}", f"{score:.4f}", f"{took / seconds:.0f}"]


def random_search(X: Any, y: Any) -> tuple[float, float]:
    """Search c1 and c2 as sklearn-crfsuite's tutorial does: seconds, and the best F1."""
    import pycrfsuite

    from proxqn.metrics import entity_f1_score

    rng = np.random.default_rng(0)
    folds = np.arange(len(X)) % 5
    began, best = time.process_time(), 0.0
    for _ in range(CANDIDATES):
        settings = {"c1": rng.exponential(0.5), "c2": rng.exponential(0.05), "max_iterations": 100}
        scores = []
        for fold in range(5):
            trainer = pycrfsuite.Trainer(verbose=False, algorithm="lbfgs")
            trainer.set_params(settings)
            for k in np.flatnonzero(folds != fold):
                trainer.append(X[k], y[k])
            trainer.train("/tmp/paths-rival.crfsuite")
            tagger = pycrfsuite.Tagger()
            tagger.open("/tmp/paths-rival.crfsuite")
            test = np.flatnonzero(folds == fold)
            scores.append(entity_f1_score([y[k] for k in test], [tagger.tag(X[k]) for k in test]))
        best = max(best, float(np.mean(scores)))
    return time.process_time() - began, best


def grid_of_fits(name: str, lams: Any) -> float:
    """Return the λ that separate fits to 1e-6 on each fold choose."""
    from sklearn.model_selection import KFold, cross_val_score

    corpus = PROBLEMS[name]()
    means = []
    for lam in lams:
        crf = ChainCRF(lam=lam, pairs="observed", tol=1e-6, max_iter=5000)
        scores = cross_val_score(crf, corpus.X, corpus.y, cv=KFold(5), scoring=entity_f1_scorer)
        means.append(scores.mean())
    return float(lams[int(np.argmax(means))])


def choices(only: str, *, rival: bool) -> Iterator[list[str]]:
    """Yield the rows."""
    return (cross_validated(name, rival=rival) for name in PROBLEMS if only in name)
