"""From tokens as people hold them to numbers: nanoseconds a name, ours and python-crfsuite's.

    python -m benchmarks.encoding [--times N] [--out DIR]

WNUT-17's training sentences, some times over, every token with objects of its own, in the forms in
which people pass them to ``fit``: dicts as in sklearn-crfsuite's tutorial, dicts with dicts and
lists in them, and lists of strings. Ours is `SequenceEncoder.fit_transform`, vocabulary and matrix;
python-crfsuite's is ``Trainer.append`` of every sequence. One thread, CPU time, one after the other
on the same objects; the best of several repetitions, and the worst form is in the last line.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pycrfsuite
from benchmarks.data import REPOSITORY, data_file
from benchmarks.everyday.corpora import word_features
from benchmarks.tables import markdown
from benchmarks.versions import machine

from proxqn.features.encoding import SequenceEncoder
from proxqn.features.items import expand_item
from proxqn.io.readers import read_columns

REPETITIONS = 3


def in_dicts(words: list[str], i: int) -> Any:
    """Return a token as in the tutorial."""
    return word_features(words, i)


def in_nested_dicts(words: list[str], i: int) -> Any:
    """Return the same with the neighbours' features in dicts and the word's endings in a list."""
    found: dict[str, Any] = {
        "bias": 1.0,
        "word": words[i].lower(),
        "ends": [words[i][-n:] for n in range(1, 5)],
        "length": len(words[i]),
    }
    for name, j in (("before", i - 1), ("after", i + 1)):
        if 0 <= j < len(words):
            found[name] = {"word": words[j].lower(), "title": words[j].istitle()}
    return found


def in_lists(words: list[str], i: int) -> Any:
    """Return the features as names, with all beginnings and ends: about 19 a token."""
    word = words[i]
    names = [f"w={word}", f"l={word.lower()}", f"title={word.istitle()}", f"d={word.isdigit()}"]
    names += [f"p{n}={word[:n]}" for n in range(1, 5)]
    names += [f"s{n}={word[-n:]}" for n in range(1, 5)]
    for offset in (-2, -1, 1, 2):
        near = words[i + offset] if 0 <= i + offset < len(words) else ""
        names.append(f"{offset}w={near}")
        if abs(offset) == 1:
            names += [f"{offset}s={near[-3:]}", f"{offset}t={near.istitle()}"]
    return names


FORMS: dict[str, Callable[[list[str], int], Any]] = {
    "dicts": in_dicts,
    "dicts and lists in dicts": in_nested_dicts,
    "lists of strings": in_lists,
}


def best_of(work: Callable[[], Any]) -> float:
    """Return the least CPU seconds of some repetitions."""
    taken = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def append_all(X: list[Any], y: list[Any]) -> None:
    """Give all sequences to python-crfsuite."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)


def measured(form: str, times: int) -> dict[str, float]:
    """Return how many names a form has, and the nanoseconds that each of them takes."""
    records = list(read_columns(data_file("wnut17", "train.conll")))
    sentences = [[row[0] for row in record.tokens] for record in records] * times
    y = [record.labels for record in records] * times
    gc.disable()  # it would look at all these objects again and again while they are made
    X = [[FORMS[form](words, i) for i in range(len(words))] for words in sentences]
    gc.freeze()
    gc.enable()
    n_names = sum(1 for sequence in X for token in sequence for _ in expand_item(token))
    encoder = SequenceEncoder()
    seconds = {
        "ours, for training": best_of(lambda: encoder.fit_transform(X)),
        "ours, known names": best_of(lambda: encoder.transform(X)),
        "python-crfsuite's append": best_of(lambda: append_all(X, y)),
    }
    gc.unfreeze()
    return {"names": n_names} | {what: 1e9 * s / n_names for what, s in seconds.items()}


def main() -> None:
    """Measure, print, and write ``encoding.json``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoding")
    parser.add_argument("--times", type=int, default=10, help="WNUT-17 so many times over")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "benchmarks" / "results")
    args = parser.parse_args()
    found = {form: measured(form, args.times) for form in FORMS}
    ways = list(next(iter(found.values())))[1:]
    rows = [
        [form, f"{f['names'] / 1e6:.1f}", *(f"{f[way]:.0f}" for way in ways)]
        for form, f in found.items()
    ]
    print(markdown(["ns a name, from", "million names", *ways], rows))
    worst = min(f[ways[2]] / f[ways[0]] for f in found.values())
    slowest = max(f[ways[0]] for f in found.values())
    print(f"\nat least {worst:.1f} times as fast as append; at most {slowest:.0f} ns a name")
    args.out.mkdir(parents=True, exist_ok=True)
    kept = {"ns a name": found, "machine": machine()}
    (args.out / "encoding.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
