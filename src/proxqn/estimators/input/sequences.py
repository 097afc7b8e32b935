"""Lists of sequences of numbers: told from matrices, and joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn.problem import Ints


def is_list_of_sequences(X: Any) -> bool:
    """Tell a list of matrices from a matrix written as a list of rows."""
    if not isinstance(X, list | tuple):
        return False
    if not X:
        raise ValueError("X is an empty list; expected at least one sequence.")
    head = X[0]
    if hasattr(head, "ndim"):
        return bool(head.ndim == 2)
    return is_nested(head) and len(head) > 0 and is_nested(head[0])


def is_nested(value: Any) -> bool:
    """Whether a value is a list, a tuple or an array, rather than a number or a text."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def join(sequences: Sequence[Any]) -> tuple[Any, Ints]:
    """Stack the sequences' matrices; sparse if one of them is."""
    parts: list[Any] = [s if sp.issparse(s) else np.asarray(s) for s in sequences]
    width = parts[0].shape[1]
    for i, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != width:
            raise ValueError(
                f"sequence {i} has shape {part.shape}; expected (tokens, {width}), as many "
                "features as sequence 0 has."
            )
    lengths = np.array([part.shape[0] for part in parts])
    if any(sp.issparse(part) for part in parts):
        rows: Any = [sp.csr_array(part) for part in parts]
        return sp.vstack(rows, format="csr"), lengths
    return np.concatenate(parts), lengths
