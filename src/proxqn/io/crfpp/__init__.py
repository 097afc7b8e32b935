"""CRF++'s model files, binary and text."""

from proxqn.io.crfpp.reader import parse_model, read_model
from proxqn.io.crfpp.writer import model_bytes, model_lines

__all__ = ["model_bytes", "model_lines", "parse_model", "read_model"]
