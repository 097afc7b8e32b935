"""Models of the loss's curvature: pairs of steps and draws, and their scale."""
