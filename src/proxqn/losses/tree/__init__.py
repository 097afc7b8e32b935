"""The joint model on a label tree."""
