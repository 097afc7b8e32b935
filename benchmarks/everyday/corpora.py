"""Corpora as people hold them: sequences of dicts or of lists of strings, and their labels.

Real ones are read from the data folder and from the peers' own training data; the others are made
by a stated recipe (``generated.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import islice
from typing import Any

from benchmarks.data import REPOSITORY, MissingDataError, data_file
from benchmarks.everyday import generated

from proxqn.io.readers import read_columns, read_conllu

PEERS = REPOSITORY.parent / "shared" / "peers"
HELD_BACK = 5  # every fifth sequence is kept for testing


@dataclass(frozen=True)
class Corpus:
    """Sequences of tokens, each a dict or a list of strings; a label for each token."""

    X: list[Any]
    y: list[list[str]]

    def split(self) -> tuple[Corpus, Corpus]:
        """Return what to train on, and every fifth sequence to test on."""
        parts = [
            [k for k in range(len(self.X)) if (k % HELD_BACK == 0) == held]
            for held in (False, True)
        ]
        train, test = (
            Corpus([self.X[k] for k in part], [self.y[k] for k in part]) for part in parts
        )
        return train, test


def word_features(words: Sequence[str], i: int) -> dict[str, Any]:
    """Return what users of sklearn-crfsuite's tutorial have: a word's form, and its neighbours'."""
    word = words[i]
    found: dict[str, Any] = {
        "bias": 1.0,
        "word": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "isupper": word.isupper(),
        "istitle": word.istitle(),
        "isdigit": word.isdigit(),
    }
    for offset in (-1, 1):
        if 0 <= i + offset < len(words):
            near = words[i + offset]
            found[f"{offset}:word"] = near.lower()
            found[f"{offset}:istitle"] = near.istitle()
            found[f"{offset}:isupper"] = near.isupper()
        else:
            found[f"{offset}:end"] = True
    return found


def nested_features(words: Sequence[str], i: int) -> dict[str, Any]:
    """Return nested dicts as parserator's programs have them: a word and both neighbours whole."""

    def own(word: str) -> dict[str, Any]:
        digits = sum(map(str.isdigit, word))
        kind = "all" if digits == len(word) else "some" if digits else "none"
        clean = word.strip(".,;()").lower()
        return {
            "word": clean,
            "digits": kind,
            "length": f"{'d' if kind == 'all' else 'w'}:{len(clean)}",
            "abbrev": word.endswith("."),
            "comma": word.endswith(","),
            "vowels": any(c in "aeiou" for c in clean[1:]),
            "trailing.zeros": clean[len(clean.rstrip("0")) :] if kind == "all" else "",
        }

    found = own(words[i])
    for name, k in (("previous", i - 1), ("next", i + 1)):
        if 0 <= k < len(words):
            found[name] = own(words[k])
        else:
            found["start" if k < 0 else "end"] = True
    return found


def of_words(
    sentences: Iterable[tuple[Sequence[str], Sequence[str]]],
    features: Callable[[Sequence[str], int], Any] = word_features,
) -> Corpus:
    """Return a corpus of words and labels."""
    X, y = [], []
    for words, labels in sentences:
        X.append([_told(features(words, i)) for i in range(len(words))])
        y.append(list(labels))
    return Corpus(X, y)


def _told(features: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is False or empty: CRFsuite gives it a value of 0, and weights to fit."""
    return {
        name: _told(value) if isinstance(value, dict) else value
        for name, value in features.items()
        if value
    }


def tweets() -> Corpus:
    """Names in tweets: WNUT-17's training part."""
    records = read_columns(data_file("wnut17", "train.conll"))
    return of_words(([row[0] for row in r.tokens], r.labels or []) for r in records)


def chunks(n: int) -> Corpus:
    """Phrases in newspaper text: the first sentences of CoNLL-2000."""
    records = islice(read_columns(data_file("conll2000", "train.txt")), n)
    return of_words(([row[0] for row in r.tokens], r.labels or []) for r in records)


def web(part: str, label: str) -> Corpus:
    """Parts of speech in English web text."""
    records = read_conllu(data_file("ud_ewt", f"{part}.conllu"), label=label)
    return of_words(([row[1] for row in r.tokens], r.labels or []) for r in records)


_TAGGED = re.compile(r"<(\w+)>([^<]*)</\1>")


def tagged(*path: str) -> Corpus:
    """Sequences of a parserator program's own training data, an element a token."""
    file = PEERS.joinpath(*path)
    if not file.exists():
        raise MissingDataError(f"{'/'.join(path)} is not in {PEERS}: leave out its problems.")
    sentences = []
    for line in file.read_text(encoding="utf-8").splitlines():
        tokens = [(unescape(text).strip(), label) for label, text in _TAGGED.findall(line)]
        tokens = [(text, label) for text, label in tokens if text]
        if tokens:
            words, labels = zip(*tokens, strict=True)
            sentences.append((words, labels))
    return of_words(sentences, nested_features)


def references(n: int) -> Corpus:
    """Bibliographic references, lists of 19 strings a token."""
    return Corpus(*generated.references(n))


def spanish(n: int) -> Corpus:
    """Names in a language whose endings tell the part of speech."""
    return of_words(generated.inflected(n))


def genes(n: int) -> Corpus:
    """Coding regions in long stretches of DNA: windows of letters, three labels."""
    return Corpus(*generated.genes(n))


def sensors(n: int) -> Corpus:
    """Activities told by real-valued measurements."""
    return Corpus(*generated.sensors(n))


def fine_tags(n: int) -> Corpus:
    """Three hundred labels, most of them rare."""
    return of_words(generated.fine_tags(n))
