"""What a practitioner meets, measured: ``python -m benchmarks.practitioner``."""
