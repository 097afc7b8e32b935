"""Losses ℓ whose value needs inference, and functions of one's own."""
