"""Wapiti's model file."""

from proxqn.io.wapiti.reader import parse_model, read_model
from proxqn.io.wapiti.writer import model_bytes

__all__ = ["model_bytes", "parse_model", "read_model"]
