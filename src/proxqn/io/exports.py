"""Chains as other programs write them."""

from proxqn.io.crfpp.chain import lines as to_crfpp
from proxqn.io.crfsuite.chain import lines as to_crfsuite

__all__ = ["to_crfpp", "to_crfsuite"]
