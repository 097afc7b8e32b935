"""Penalties Ω: separable, with a kink at zero; each says what it is on any coordinates."""

from proxqn.penalties.elastic_net import ElasticNet
from proxqn.penalties.separable import Separable

__all__ = ["ElasticNet", "Separable"]
