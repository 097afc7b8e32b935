"""Whether an oracle or a penalty of one's own keeps the promises that solvers rely on.

:func:`check_oracle` and :func:`check_penalty` are meant for tests: they return nothing, or raise an
``AssertionError`` that says which promise is broken, where, and what to do. The project's own
losses and penalties go through them, too.
"""

from proxqn.testing.oracle import check_oracle
from proxqn.testing.penalty import check_penalty

__all__ = ["check_oracle", "check_penalty"]
