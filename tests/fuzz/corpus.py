"""Training data made here, of any size, that take some iterations to fit."""

from __future__ import annotations

from pathlib import Path
from random import Random

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%x[1,1]\nB\n"
_WORDS = {"D": ["the", "a"], "N": ["dog", "cat", "tree", "café"], "V": ["sees"], "P": ["of", "in"]}


def write_sentences(path: Path, n_sentences: int) -> None:
    """Write sentences of columns, with labels of which half are noise."""
    rng, blocks = Random(0), []
    for _ in range(n_sentences):
        rows = []
        for tag in rng.choice(["DNVDN", "DNPDN", "NV", "DNVPDN"]):
            word = rng.choice(_WORDS[tag]) + str(rng.randrange(200))
            label = tag if rng.random() < 0.5 else rng.choice("DNVP")
            rows.append(f"{word} {tag} {label}\n")
        blocks.append("".join(rows))
    path.write_text("\n".join(blocks), encoding="utf-8")


def write_samples(path: Path, tree: Path, n_samples: int) -> None:
    """Write samples for a tree of nine leaves, and the tree."""
    rng = Random(1)
    tree.write_text("".join(f"top{a} leaf{a}{b}\n" for a in range(3) for b in range(3)))
    lines = []
    for _ in range(n_samples):
        a, b = rng.randrange(3), rng.randrange(3)
        columns = {rng.randrange(300), 300 + 20 * a + rng.randrange(30), 400 + rng.randrange(9)}
        entries = " ".join(f"{j}:{rng.uniform(0.5, 2):.3f}" for j in sorted(columns))
        lines.append(f"leaf{a}{b} {entries}\n")
    path.write_text("".join(lines))
