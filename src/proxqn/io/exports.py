"""Chains as other programs write them; the estimator knows how."""

from proxqn.estimators.chain_crf.exports import to_crfpp, to_crfsuite

__all__ = ["to_crfpp", "to_crfsuite"]
