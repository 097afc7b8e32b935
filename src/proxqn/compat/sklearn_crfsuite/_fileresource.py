"""The file a model is in: one of the user's, or a temporary one that goes with its owner.

Module, class and the form it is pickled in have the original's names, so that pickles of
``sklearn_crfsuite.CRF`` can be read where this package stands in for it.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, final

_CONTENTS = "__FILE_RESOURCE_DATA__"


@final
class FileResource:
    """A file by name; without one, a temporary file, whose bytes are pickled with it."""

    def __init__(
        self,
        filename: str | None = None,
        keep_tempfiles: bool | None = False,
        suffix: str = "",
        prefix: str = "",
    ) -> None:
        self.name = filename
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix, self.prefix = suffix, prefix

    def is_of(self, filename: str | None) -> bool:
        """Whether it is the file of this name, or a temporary one if there is no name."""
        return self.auto if filename is None else self.name == filename

    def refresh(self) -> str:
        """Forget what was there, and return the name of a file to be written."""
        self.cleanup()
        if self.name is None:
            handle, self.name = tempfile.mkstemp(self.suffix, self.prefix)
            os.close(handle)
        return self.name

    def cleanup(self) -> None:
        """Remove a temporary file."""
        if self.auto and self.name is not None and not self.keep_tempfiles:
            with suppress(OSError):
                os.unlink(self.name)
            self.name = None

    def __del__(self) -> None:
        with suppress(Exception):  # the interpreter may be at its end
            self.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self.auto and self.name is not None:
            with suppress(OSError):
                state[_CONTENTS] = Path(self.name).read_bytes()
            state["name"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        contents = state.pop(_CONTENTS, None)
        self.__dict__.update(state)
        if contents is not None:
            Path(self.refresh()).write_bytes(contents)
