"""The record of a run, as data."""
