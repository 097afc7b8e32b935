"""Sections 3 and 4 of the paper in numbers, on problems small enough to write out."""
