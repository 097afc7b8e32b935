"""The solutions for all λ of a range, with proofs in between: a path."""

from proxqn.path.largest_lam import lambda_max
from proxqn.path.result import Path
from proxqn.path.solve import minimize_path

__all__ = ["Path", "lambda_max", "minimize_path"]
