"""Where the data that may not be shipped lie."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of shared data: PROXQN_DATA, or `shared/data` beside the repository."""
    default = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("PROXQN_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no data folder at {folder}; set PROXQN_DATA to run the tests on real data")
    return folder
