"""The problem every peer is given: sparse features per token, integer labels, sequence lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


@dataclass(frozen=True)
class Problem:
    """An l1-penalised chain CRF to train, without its λ: n tokens, p features, L labels.

    Examples
    --------
    >>> X = sparse.csr_array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> problem = Problem.from_labels(X, ["O", "B", "O"], [2, 1], labels=["B", "O"])
    >>> problem.y, problem.n_labels, problem.is_binary
    (array([1, 0, 1], dtype=int32), 2, False)
    """

    X: sparse.csr_array[Any, tuple[int, int]]  # [n][p], without stored zeros
    y: NDArray[np.int32]  # [n], positions in the caller's list of labels
    lengths: NDArray[np.int64]  # tokens of each sequence; they sum to n
    n_labels: int

    @classmethod
    def from_labels(
        cls,
        X: sparse.csr_array[Any, tuple[int, int]],
        y: ArrayLike,
        lengths: ArrayLike,
        labels: Sequence[Any] | NDArray[Any],
    ) -> Problem:
        """Build the problem; ``labels`` fixes the order of the rows of every weight array."""
        names = np.asarray(labels)
        order = np.argsort(names)
        values = np.asarray(y)
        y_index = order[np.searchsorted(names, values, sorter=order).clip(max=len(names) - 1)]
        if not np.array_equal(names[y_index], values):
            missing = sorted(set(values.tolist()) - set(names.tolist()))
            raise ValueError(f"y has labels that are not in `labels`: {missing}")
        if not (X.data != 0).all():
            X = X.copy()
            X.eliminate_zeros()
        return cls(X, y_index.astype(np.int32), np.asarray(lengths, dtype=np.int64), len(names))

    @property
    def is_binary(self) -> bool:
        """Whether all stored values are 1, so that peers need no values."""
        return bool((self.X.data == 1).all())

    def save(self, path: Path) -> None:
        """Write one npz file; the values are left out of it when all are 1."""
        values = {} if self.is_binary else {"data": self.X.data}
        np.savez(
            path,
            allow_pickle=False,
            indices=self.X.indices,
            indptr=self.X.indptr,
            shape=np.array(self.X.shape),
            y=self.y,
            lengths=self.lengths,
            n_labels=np.array(self.n_labels),
            **values,
        )

    @classmethod
    def load(cls, path: Path) -> Problem:
        """Read what `save` wrote; values that are all 1 come back as one byte each."""
        with np.load(path) as file:
            indices = file["indices"]
            data = file["data"] if "data" in file else np.ones(len(indices), dtype=np.int8)
            shape = tuple(file["shape"].tolist())
            X = sparse.csr_array((data, indices, file["indptr"]), shape=shape)
            return cls(X, file["y"], file["lengths"], int(file["n_labels"]))
