"""λ after λ: passes, proofs and cross-validation. ``python -m benchmarks.paths``."""
