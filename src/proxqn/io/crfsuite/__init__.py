"""CRFsuite's binary model files (``.crfsuite``), read and written."""

from proxqn.io.crfsuite.format import CRFsuiteModel
from proxqn.io.crfsuite.reader import from_bytes, read
from proxqn.io.crfsuite.writer import to_bytes

__all__ = ["CRFsuiteModel", "from_bytes", "read", "to_bytes"]
