"""The methods that proximal quasi-Newton is compared with."""
