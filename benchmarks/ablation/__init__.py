"""What each idea of the solver brings: ``python -m benchmarks.ablation``."""
