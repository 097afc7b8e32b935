"""Chains whose transitions look at the observation, or whose labels are partly unknown."""
