"""Model files: one format, checked before it is read; see ``docs/model-format.md``."""

from proxqn.persistence.chain import SavedChain
from proxqn.persistence.container import FORMAT_VERSION, ModelFileError
from proxqn.persistence.exports import to_crfpp, to_crfsuite
from proxqn.persistence.model_file import load, load_with_encoder, save
from proxqn.persistence.tree import SavedTree

__all__ = [
    "FORMAT_VERSION",
    "ModelFileError",
    "SavedChain",
    "SavedTree",
    "load",
    "load_with_encoder",
    "save",
    "to_crfpp",
    "to_crfsuite",
]
