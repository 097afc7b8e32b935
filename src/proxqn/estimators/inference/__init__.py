"""What fitted models say about new data."""
