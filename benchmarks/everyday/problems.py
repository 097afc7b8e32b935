"""The problems: what to train on, and with which c1 and c2.

Those marked ``unseen`` were not looked at while the solver was tuned: they are the ones that tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.everyday import corpora
from benchmarks.everyday.corpora import Corpus


@dataclass(frozen=True)
class Problem:
    """A corpus, and the objective ``c1 ‖w‖₁ + c2 ‖w‖² + ℓ(w)`` in CRFsuite's own terms."""

    name: str
    load: Callable[[], Corpus]
    c1: float
    c2: float = 0.0
    all_pairs: bool = False
    unseen: bool = False


def _unseen(
    name: str, load: Callable[[], Corpus], c1: float, c2: float = 0.0, *, all_pairs: bool = False
) -> Problem:
    return Problem(name, load, c1, c2, all_pairs, unseen=True)


_BOOK = partial(corpora.references, 3000)
_NAMES = partial(corpora.spanish, 4000)
_STREETS = partial(corpora.tagged, "usaddress", "training", "labeled.xml")
_PEOPLE = partial(corpora.tagged, "probablepeople", "name_data", "labeled", "person_labeled.xml")
_FIRMS = partial(corpora.tagged, "probablepeople", "name_data", "labeled", "company_labeled.xml")
PROBLEMS = (
    *(Problem(f"tweets {c1:g}", corpora.tweets, c1) for c1 in (5.0, 0.5, 0.1, 0.05)),
    Problem("tweets net", corpora.tweets, 0.1, 0.1),
    Problem("chunks 1", partial(corpora.chunks, 3000), 1.0),
    Problem("chunks net", partial(corpora.chunks, 3000), 0.1, 0.1),
    Problem("xpos 2", partial(corpora.web, "dev", "XPOS"), 2.0),
    Problem("upos net", partial(corpora.web, "dev", "UPOS"), 0.3, 0.05, all_pairs=True),
    _unseen("references 0.5", _BOOK, 0.5),
    _unseen("references net", _BOOK, 0.1, 0.1),
    _unseen("spanish 1", _NAMES, 1.0),
    _unseen("spanish 0.1", _NAMES, 0.1),
    _unseen("spanish net", _NAMES, 0.1, 0.1),
    _unseen("streets", _STREETS, 0.1, 0.01),
    Problem("people", _PEOPLE, 0.1, 0.01),
    Problem("firms 0.02", _FIRMS, 0.02),
    _unseen("genes 3", partial(corpora.genes, 60), 3.0, all_pairs=True),
    _unseen("genes 0.1", partial(corpora.genes, 60), 0.1),
    _unseen("sensors", partial(corpora.sensors, 150), 0.5, all_pairs=True),
    _unseen("fine tags", partial(corpora.fine_tags, 120), 0.5, 0.05),
    _unseen("xpos test 0.1", partial(corpora.web, "test", "XPOS"), 0.1),
)
BY_NAME = {problem.name: problem for problem in PROBLEMS}
