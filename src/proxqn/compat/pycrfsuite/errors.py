"""The error class of the original, for programs that catch it."""

from __future__ import annotations


class CRFSuiteError(Exception):
    """What went wrong in training, for programs that catch it.

    Here training fails with ``ValueError`` or ``OSError``, which say what was wrong with what.
    """

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"CRFsuite's error {code}")
