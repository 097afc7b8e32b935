"""Moved to ``proxqn.losses``."""

from proxqn._moved import alias

alias(
    __name__,
    {
        "chain": "proxqn.losses.chain.oracle",
        "lattice": "proxqn.losses.lattice.oracle",
        "tree": "proxqn.losses.tree.oracle",
        "function": "proxqn.losses.function",
    },
)
