"""What is trained and labelled: two data sets, each program's own templates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from benchmarks.data import data_file

_CONLL: Final = """\
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
"""
_WNUT: Final = """\
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
"""
_SHAPES: Final = """\
U20:%m[0,0,"^.?.?.?"]
U21:%m[0,0,".?.?.?$"]
U22:%t[0,0,"^\\u"]/%t[-1,0,"^\\u"]/%t[1,0,"^\\u"]
U23:%t[0,0,"\\d"]%t[0,0,"\\p"]%t[0,0,"\\A"]
U24:%X[0,0]
"""


@final
@dataclass(frozen=True)
class Data:
    """Labelled columns, and templates for either program, with edge features."""

    name: str
    train: Path
    test: Path
    n_columns: int  # before the label
    wapiti: str
    crfpp: str

    def cut(self, folder: Path, n_sequences: int) -> Path:
        """Write the first training sequences to a file of the folder; 0 for all."""
        paragraphs = self.train.read_bytes().split(b"\n\n")
        kept = paragraphs[: n_sequences or None]
        path = folder / f"{self.name}.{n_sequences}"
        path.write_bytes(b"\n\n".join(kept) + b"\n")
        return path


def data_sets() -> dict[str, Data]:
    """Return the data sets by name."""
    return {
        "conll2000": Data(
            "conll2000",
            data_file("conll2000", "train.txt"),
            data_file("conll2000", "test.txt"),
            2,
            _CONLL + _SHAPES + "*30:%x[-1,1]\nb\n",
            _CONLL + "B30:%x[-1,1]\nB\n",
        ),
        "wnut17": Data(
            "wnut17",
            data_file("wnut17", "train.conll"),
            data_file("wnut17", "test.conll"),
            1,
            _WNUT + _SHAPES + '*30:%t[-1,0,"^\\u"]/%t[0,0,"^\\u"]\nb\n',
            _WNUT + "B30:%x[0,0]\nB\n",
        ),
    }
