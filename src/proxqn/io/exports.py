"""Chains as other programs write them."""

from proxqn.estimators.chain_crf.exports import to_crfsuite
from proxqn.io.crfpp.chain import lines as to_crfpp

__all__ = ["to_crfpp", "to_crfsuite"]
