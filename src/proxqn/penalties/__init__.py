"""Penalties: separable, with a kink at zero."""

from proxqn.penalties.elastic_net import ElasticNet

__all__ = ["ElasticNet"]
