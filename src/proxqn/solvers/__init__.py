"""What minimises ℓ + Ω: proximal quasi-Newton, and the methods it is compared with."""

from proxqn import _old

__path__.append(f"{_old.__path__[0]}/solvers")  # paths of before, with a deprecation line each
