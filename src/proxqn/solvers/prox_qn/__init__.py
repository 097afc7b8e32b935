"""Proximal quasi-Newton: the loop, its settings, and its ideas in files of their own."""

from proxqn.solvers.prox_qn.settings import ProxQN

__all__ = ["ProxQN"]
