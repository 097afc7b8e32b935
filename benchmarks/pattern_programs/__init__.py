"""Wapiti and CRF++ beside proxqn in their place: the same files, the same numbers, less time."""
