"""What people train every day, CRFsuite beside us: ``python -m benchmarks.everyday``."""
