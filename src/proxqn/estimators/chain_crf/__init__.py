"""Linear-chain conditional random fields."""

from proxqn.estimators.chain_crf.coefficients import ChainCoefficients
from proxqn.estimators.chain_crf.estimator import ChainCRF

__all__ = ["ChainCRF", "ChainCoefficients"]
