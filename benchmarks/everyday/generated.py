"""Corpora made by recipes, for kinds of text that cannot be had here. Same seed, same corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_SYLLABLES = [c + v for c in "bcdfglmnprstvz" for v in "aeiou"]
Sentences = Iterator[tuple[list[str], list[str]]]


def _lexicon(rng: np.random.Generator, n: int, syllables: tuple[int, int]) -> list[str]:
    """Return made-up words; the earlier, the commoner they are meant to be."""
    words: dict[str, None] = {}
    while len(words) < n:
        sounds = rng.integers(len(_SYLLABLES), size=(n, syllables[1]))
        lengths = rng.integers(*syllables, size=n)
        for row, length in zip(sounds.tolist(), lengths.tolist(), strict=True):
            words["".join(_SYLLABLES[k] for k in row[:length])] = None
    return list(words)[:n]


class _Zipf:
    """Draws from a list by Zipf's law."""

    def __init__(self, rng: np.random.Generator, items: list[str], power: float = 1.0) -> None:
        weights = 1.0 / np.arange(1, len(items) + 1) ** power
        self._rng, self._items = rng, items
        self._steps = np.cumsum(weights / weights.sum())

    def __call__(self) -> str:
        at = int(np.searchsorted(self._steps, self._rng.random()))
        return self._items[min(at, len(self._items) - 1)]


def references(n: int, seed: int = 11) -> tuple[list[Any], list[list[str]]]:
    """Return bibliographic references: authors, title, journal or book, numbers, 17 labels."""
    rng = np.random.default_rng(seed)
    names = _Zipf(rng, [w.title() for w in _lexicon(rng, 6000, (2, 4))], 0.8)
    words = _Zipf(rng, _lexicon(rng, 12000, (1, 5)), 1.0)
    journals = [[words().title() for _ in range(rng.integers(1, 5))] for _ in range(400)]
    places = _Zipf(rng, [w.title() for w in _lexicon(rng, 200, (2, 4))])
    X, y = [], []
    for _ in range(n):
        tokens: list[tuple[str, str]] = []
        for k in range(int(rng.integers(1, 5))):
            initial = f"{names()[0]}."
            pair = [(names() + ",", "author"), (initial, "author")]
            tokens += pair if rng.random() < 0.6 else pair[::-1]
            if k and rng.random() < 0.3:
                tokens.append(("and", "author-separator"))
        year = str(rng.integers(1950, 2026))
        early = rng.random() < 0.5
        if early:
            tokens.append((f"({year})." if rng.random() < 0.7 else year + ",", "date"))
        title = [words() for _ in range(rng.integers(3, 14))]
        title[0] = title[0].title()
        title[-1] += "."
        tokens += [(w, "title") for w in title]
        if rng.random() < 0.65:
            journal = journals[int(rng.integers(len(journals)) * rng.random())]
            tokens += [(w, "journal") for w in journal]
            tokens += [(str(rng.integers(1, 120)), "volume")]
            if rng.random() < 0.5:
                tokens.append((f"({rng.integers(1, 13)})", "issue"))
            first = int(rng.integers(1, 900))
            tokens.append((f"{first}-{first + int(rng.integers(2, 40))}.", "pages"))
        else:
            tokens += [("In", "in"), *((w.title(), "booktitle") for w in journals[0])]
            if rng.random() < 0.5:
                tokens += [(names() + ",", "editor"), ("Ed.", "editor-mark")]
            tokens += [(places() + ":", "location"), (words().title() + ".", "publisher")]
            if rng.random() < 0.3:
                tokens += [("pp.", "pages-mark"), (str(rng.integers(1, 900)), "pages")]
        if not early:
            tokens.append((year + ".", "date"))
        if rng.random() < 0.15:
            tokens.append((f"doi:10.{rng.integers(1000, 9999)}/{words()}", "doi"))
        if rng.random() < 0.1:
            tokens += [("Retrieved", "note"), ("from", "note"), (f"www.{words()}.org", "url")]
        X.append([_strings([t for t, _ in tokens], i) for i in range(len(tokens))])
        y.append([label for _, label in tokens])
    return X, y


def _strings(words: list[str], i: int) -> list[str]:
    """Return 19 strings of a token, as programs for references have them."""
    word = words[i]
    bare = word.strip(".,:;()").lower()
    near = [words[k] if 0 <= k < len(words) else "<none>" for k in (i - 2, i - 1, i + 1, i + 2)]
    shape = "".join("d" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c
                    for c in word)[:6]  # fmt: skip
    return [
        "bias", f"w={bare}", f"raw={word}", f"p1={bare[:1]}", f"p2={bare[:2]}", f"p3={bare[:3]}",
        f"s1={bare[-1:]}", f"s2={bare[-2:]}", f"s3={bare[-3:]}", f"shape={shape}",
        f"last={word[-1]}", f"digits={sum(map(str.isdigit, word))}",
        f"place={10 * i // len(words)}",
        *(f"{k}={w.lower()}" for k, w in zip((-2, -1, 1, 2), near, strict=True)),
        f"-1|0={near[1].lower()}|{bare}", f"0|1={bare}|{near[2].lower()}",
    ]  # fmt: skip


def inflected(n: int, seed: int = 12) -> Sentences:
    """Yield sentences with people, places, organisations and others among inflected words."""
    rng = np.random.default_rng(seed)
    stems = _Zipf(rng, _lexicon(rng, 9000, (1, 4)), 1.05)
    first = _Zipf(rng, [w.title() for w in _lexicon(rng, 500, (2, 3))])
    last = _Zipf(rng, [w.title() for w in _lexicon(rng, 5000, (2, 4))], 0.7)
    towns = _Zipf(rng, [w.title() for w in _lexicon(rng, 1500, (2, 4))], 0.9)
    firms = _Zipf(rng, [w.title() for w in _lexicon(rng, 2500, (2, 5))], 0.7)
    endings, small = ["o", "a", "os", "as", "ar", "ando", "ado", "mente"], ["de", "la", "el", "en"]
    for _ in range(n):
        words: list[str] = []
        labels: list[str] = []
        while len(words) < rng.integers(8, 45):
            draw = rng.random()
            if draw < 0.05:
                name, kind = [first(), last()][: 1 + int(rng.random() < 0.7)], "PER"
            elif draw < 0.09:
                name, kind = [towns()], "LOC"
            elif draw < 0.13:
                name = [firms(), *(["de", towns()] if rng.random() < 0.3 else [])]
                kind = "ORG"
            elif draw < 0.145:
                name, kind = [stems().title(), small[int(rng.integers(4))], stems().title()], "MISC"
            elif draw < 0.4:
                name, kind = [small[int(rng.integers(4))]], ""
            else:
                name, kind = [stems() + endings[int(rng.integers(8))]], ""
            words += name
            labels += [f"{'I' if k else 'B'}-{kind}" if kind else "O" for k in range(len(name))]
        words[0] = words[0].title()
        yield words, labels


def genes(n: int, seed: int = 13, length: int = 1500) -> tuple[list[Any], list[list[str]]]:
    """Return stretches of DNA in which coding regions favour some triplets."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("ACGT"))
    favoured = rng.permutation(64)[:24]
    X, y = [], []
    for _ in range(n):
        state, text, labels = 0, [], []
        while len(text) < length:
            run = int(rng.integers(60, 300))
            if state == 0:
                text += list(letters[rng.integers(0, 4, run)])
                labels += ["intergenic"] * run
            else:
                triplets = np.where(
                    rng.random(run // 3) < 0.6,
                    rng.choice(favoured, run // 3),
                    rng.integers(0, 64, run // 3),
                )
                text += [letters[(t // d) % 4] for t in triplets for d in (16, 4, 1)]
                labels += ["coding+" if state == 1 else "coding-"] * (3 * len(triplets))
            state = int(rng.choice([s for s in (0, 1, 2) if s != state]))
        joined = "".join(["N"] * 5 + text + ["N"] * 5)
        X.append(
            [
                [f"{k}:{joined[i + 5 - k : i + 6 + k]}" for k in (0, 1, 2, 3)]
                + [f"{o}={joined[i + 5 + o : i + 8 + o]}" for o in (-5, -3, 1, 3)]
                for i in range(len(text))
            ]
        )
        y.append(labels)
    return X, y


def sensors(n: int, seed: int = 14) -> tuple[list[Any], list[list[str]]]:
    """Return twelve real measurements a token, of different scales, and ten activities."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1, (10, 12))
    scales = 10.0 ** rng.uniform(-1, 1, 12)
    X, y = [], []
    for _ in range(n):
        state, states = int(rng.integers(10)), []
        for _ in range(int(rng.integers(40, 160))):
            state = state if rng.random() < 0.93 else int(rng.integers(10))
            states.append(state)
        values = (centres[states] + rng.normal(0, 1.6, (len(states), 12))) * scales
        X.append([{f"m{k}": float(v) for k, v in enumerate(row)} | {"bias": 1.0} for row in values])
        y.append([f"a{s}" for s in states])
    return X, y


def fine_tags(n: int, seed: int = 15, n_labels: int = 300) -> Sentences:
    """Yield sentences whose words each have one to three of three hundred labels."""
    rng = np.random.default_rng(seed)
    lexicon = _lexicon(rng, 15000, (1, 5))
    usual = rng.zipf(1.4, size=(len(lexicon), 3)) % n_labels
    weights = 1.0 / np.arange(1, len(lexicon) + 1)
    steps = np.cumsum(weights / weights.sum())
    follows = rng.integers(0, n_labels, size=(n_labels, 6))
    for _ in range(n):
        words, labels = [], []
        before = 0
        for _ in range(int(rng.integers(6, 35))):
            at = min(int(np.searchsorted(steps, rng.random())), len(lexicon) - 1)
            options = usual[at]
            liked = [t for t in options if t in follows[before]]
            tag = int(liked[0]) if liked else int(options[int(rng.integers(3))])
            words.append(lexicon[at])
            labels.append(f"T{tag}")
            before = tag
        yield words, labels
