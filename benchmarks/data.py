"""Where the data sets that cannot be bundled lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
VARIABLE = "PROXQN_DATA"


class MissingDataError(FileNotFoundError):
    """A data set is not where it was looked for; the message says where and how to change it."""


def data_file(*parts: str) -> Path:
    """Return a file of the data folder: PROXQN_DATA, or ``shared/data`` beside the repository.

    Raises
    ------
    MissingDataError
        If it is not there.
    """
    folder = Path(os.environ.get(VARIABLE, REPOSITORY.parent / "shared" / "data"))
    path = folder.joinpath(*parts)
    if not path.exists():
        raise MissingDataError(
            f"{Path(*parts)} is not in {folder}. Set {VARIABLE} to the folder that holds it, or "
            "leave out the problems that need it (--problems)."
        )
    return path
