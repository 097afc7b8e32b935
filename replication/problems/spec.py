"""Which data an experiment runs on, small enough to be handed to another process as JSON."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, final

from replication import paper_numbers
from replication.paper_numbers import Reported

Kind = Literal["ocr", "lshtc", "generated"]


@final
@dataclass(frozen=True)
class ProblemSpec:
    """A choice of data.

    Attributes
    ----------
    kind
        ``"ocr"``: the bundled letters; ``"lshtc"``: a folder of the challenge; ``"generated"``:
        documents of the same kind at the paper's size.
    quick
        A small part of it, for a first look and for tests.
    folder
        Of the challenge's files; for generated documents only its tree is used.
    task, train, test
        Which of its files.
    threads
        For the loss; results do not depend on it.
    """

    kind: Kind
    quick: bool = False
    folder: str | None = None
    task: str = "Task1"
    train: str = "train"
    test: str = "test"
    threads: int = 1
    seed: int = 0

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)

    @property
    def title(self) -> str:
        """Name the data for a reader."""
        size = " (a small part of it: --quick)" if self.quick else ""
        match self.kind:
            case "ocr":
                return "OCR letters" + size
            case "lshtc":
                return f"LSHTC1 {self.task}, trained on {self.train}.txt" + size
            case "generated":
                at = "small" if self.quick else "of the paper's size"
                return f"Generated documents {at}"

    @property
    def lams(self) -> tuple[float, ...]:
        """The λ's of the paper, the main one first; for a small part smaller ones."""
        if self.kind == "ocr":
            return (5.0, 10.0) if self.quick else (100.0, 50.0, 500.0)
        return (1.0, 0.5) if self.quick else (1.0, 2.0, 0.5)

    @property
    def is_the_papers(self) -> bool:
        """Whether the paper's numbers are of this problem, up to its own random split."""
        if self.quick or self.kind == "generated":
            return False
        return self.kind == "ocr" or (self.task.startswith("Task1") and self.train == "train")

    @property
    def reported(self) -> dict[float, Reported]:
        """The paper's table, to stand beside ours; empty where ours is a small part."""
        if self.quick:
            return {}
        if self.kind == "lshtc" and not self.task.startswith("Task1"):
            return {}
        return dict(paper_numbers.OCR if self.kind == "ocr" else paper_numbers.LSHTC)

    @property
    def paper_rate(self) -> float:
        """The SGD step of the paper."""
        return paper_numbers.OCR_SGD_RATE if self.kind == "ocr" else paper_numbers.LSHTC_SGD_RATE

    @property
    def identity(self) -> dict[str, Any]:
        """What the data follow from; two runs with the same belong together."""
        same = self.to_json()
        same.pop("folder")
        return same | {"files": self._files_digest()}

    def _files_digest(self) -> str:
        if self.folder is None:
            return "bundled" if self.kind == "ocr" else "generated tree"
        return _digest(tuple(self._files()))

    def _files(self) -> list[Path]:
        root = Path(self.folder or ".")
        tree = [*root.glob("cat_hier.txt"), *root.glob("*/cat_hier.txt")][:1]
        if self.kind == "generated" or not tree:
            return tree
        task = tree[0].parent.glob(f"{self.task}*")
        splits = [folder / f"{name}.txt" for folder in task for name in (self.train, self.test)]
        return tree + sorted(path for path in splits if path.is_file())


@cache
def _digest(paths: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
