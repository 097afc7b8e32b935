"""Where the programs lie."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.data import REPOSITORY, MissingDataError

VARIABLE = "PROXQN_PROGRAMS"


def peer(*parts: str) -> Path:
    """Return a file of the folder PROXQN_PROGRAMS, ``shared/peers`` beside the repository.

    Raises
    ------
    MissingDataError
        If it is not there.
    """
    folder = Path(os.environ.get(VARIABLE, REPOSITORY.parent / "shared" / "peers"))
    path = folder.joinpath(*parts)
    if not path.exists():
        raise MissingDataError(f"{Path(*parts)} is not in {folder}. Set {VARIABLE} to its folder.")
    return path
