"""Files that are there whole or not at all, whatever ends the process."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(data: bytes, target: Path) -> None:
    """Write beside the target, then put it in its place."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        beside.write_bytes(data)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
