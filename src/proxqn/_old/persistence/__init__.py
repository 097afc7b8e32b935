"""Moved to ``proxqn.io``."""

from proxqn._moved import alias
from proxqn.io.container import FORMAT_VERSION, ModelFileError
from proxqn.io.exports import to_crfpp, to_crfsuite
from proxqn.io.model_file import load, save

__all__ = ["FORMAT_VERSION", "ModelFileError", "load", "save", "to_crfpp", "to_crfsuite"]

alias(
    __name__,
    {
        "model_file": "proxqn.io.model_file",
        "exports": "proxqn.io.exports",
        "container": "proxqn.io.container",
    },
)
