"""proxqn."""
