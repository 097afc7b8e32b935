"""A small corpus, its template and a model, made once."""

from __future__ import annotations

import random

import pytest
from click.testing import CliRunner

from proxqn.cli.app import proxqn
from proxqn.cli.failures import report

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%x[1,1]\nB\n"
WORDS = {
    "D": ["the", "a", "<b>&amp;"], "N": ["dog", "cat", "tree", "café"],
    "V": ["sees", "bites"], "P": ["of", "in"],
}  # fmt: skip


def corpus(n_sentences: int, seed: int = 0, noise: float = 0.0) -> str:
    rng = random.Random(seed)
    blocks = []
    for _ in range(n_sentences):
        rows = []
        for tag in rng.choice(["DNVDN", "DNPDN", "NV", "DNVPDN"]):
            label = {"D": "B-NP", "V": "B-VP", "P": "O"}.get(tag, "")
            if tag == "N":
                label = "I-NP" if rows and rows[-1][1] == "D" else "B-NP"
            if rng.random() < noise:
                label = rng.choice(["B-NP", "I-NP", "O", "B-VP"])
            word = rng.choice(WORDS[tag])
            if noise:
                word += str(rng.randrange(200))
            rows.append((word, tag, label))
        blocks.append("".join(" ".join(row) + "\n" for row in rows))
    return "\n".join(blocks)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder with train.txt, test.txt, t.txt, and model.proxqn."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "train.txt").write_text(corpus(40), encoding="utf-8")
    (folder / "test.txt").write_text(corpus(10, seed=1), encoding="utf-8")
    (folder / "t.txt").write_text(TEMPLATE)
    done = run("train", "chain", folder / "train.txt", "--template", folder / "t.txt", "--lam",
               "0.2", "-o", folder / "model.proxqn", "-q")  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder


def run(*arguments, stdin: bytes | None = None):
    """Run a command as the entry point does, foreseen errors turned into exit codes."""
    result = CliRunner().invoke(proxqn, [str(a) for a in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        with pytest.MonkeyPatch.context() as patch:
            said: list[str] = []
            patch.setattr("click.echo", lambda text, **_: said.append(text))
            result.exit_code = report(result.exception)
            result.stderr_bytes = "\n".join(said).encode()
    return result


@pytest.fixture
def cli():
    return run
