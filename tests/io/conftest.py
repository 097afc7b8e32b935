"""Files that are none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest


@pytest.fixture
def null(tmp_path):
    """A device that takes everything: one of our own where root could destroy the machine's."""
    if os.geteuid():
        return Path(os.devnull)
    try:
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("no device can be made here")
    return tmp_path / "null"
