"""λ chosen by cross-validation: every fold's path starts from the path of all data."""

from proxqn.estimators.cv.estimators import ChainCRFCV, HierarchicalClassifierCV

__all__ = ["ChainCRFCV", "HierarchicalClassifierCV"]
