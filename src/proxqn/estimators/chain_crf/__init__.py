"""Linear-chain conditional random fields."""

from proxqn.estimators.chain_crf.estimator import ChainCRF
from proxqn.estimators.chain_weights import ChainCoefficients

__all__ = ["ChainCRF", "ChainCoefficients"]
