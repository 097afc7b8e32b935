"""A chain as Wapiti and CRF++ hold it: patterns, labels, names, and a block of weights for each.

Both programs number all weights in one row, block after block in the order of the names: a name of
tokens has a weight for each label, a name of the steps between them one for each pair of labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import TemplateError, Templates
from proxqn.io.foreign import ForeignFileError
from proxqn.problem import Floats, Ints

__all__ = ["Blocks", "PatternModel", "check_distinct", "check_labels", "read_templates"]

_MOST_LABELS = 4096  # a square of weights of this side takes 128 MiB; no real model comes near


@final
@dataclass(frozen=True)
class Blocks:
    """Where the weights of each name stand in the row of all.

    Examples
    --------
    >>> both = Blocks.behind_each_other(2, np.array([True, True]), np.array([False, True]))
    >>> both.starts.tolist(), both.end  # two weights for labels; then two, and four for pairs
    ([0, 2], 8)
    """

    n_labels: int
    of_tokens: NDArray[np.bool_]  # [n_names] has weights for labels
    of_steps: NDArray[
        np.bool_
    ]  # [n_names] has weights for pairs of labels, behind those for labels
    starts: Ints  # [n_names]

    @classmethod
    def behind_each_other(
        cls, n_labels: int, of_tokens: NDArray[np.bool_], of_steps: NDArray[np.bool_]
    ) -> Self:
        """Give the names their places in their own order."""
        sizes = _sizes(n_labels, of_tokens, of_steps)
        return cls(n_labels, of_tokens, of_steps, np.cumsum(sizes) - sizes)

    @property
    def sizes(self) -> Ints:
        """Weights of each name."""
        return _sizes(self.n_labels, self.of_tokens, self.of_steps)

    @property
    def end(self) -> int:
        """Behind the last weight."""
        return int((self.starts + self.sizes).max(initial=0))

    def cut(self, places: Ints, values: Floats) -> tuple[sp.csr_array, sp.csr_array]:
        """Give weights in the row to their names: [n_names, labels], [n_names, pairs of labels].

        Blocks do not overlap; what stands between them belongs to none.
        """
        n, order = self.n_labels, np.argsort(self.starts, kind="stable")
        block = np.searchsorted(self.starts[order], places, side="right") - 1
        places, values, name = places[block >= 0], values[block >= 0], order[block[block >= 0]]
        offset = places - self.starts[name]
        behind = offset - n * self.of_tokens[name]
        parts = []
        for here, column, width in (
            (self.of_tokens[name] & (behind < 0), offset, n),
            (self.of_steps[name] & (behind >= 0) & (behind < n * n), behind, n * n),
        ):
            cells: Any = values[here], (name[here], column[here])
            found: Any = sp.csr_array(cells, shape=(len(order), width), dtype=np.float64)
            parts.append(found)
        return parts[0], parts[1]

    def row(self, weights: sp.csr_array, edge_weights: sp.csr_array) -> tuple[Ints, Floats]:
        """Return the places of weights other than zero, ascending, and their values."""
        labels, pairs = sp.coo_array(weights), sp.coo_array(edge_weights)
        behind = self.starts + self.n_labels * self.of_tokens
        places = np.concatenate(
            [self.starts[labels.row] + labels.col, behind[pairs.row] + pairs.col]
        )
        values = np.concatenate([labels.data, pairs.data])
        order = np.argsort(places, kind="stable")
        order = order[values[order] != 0.0]
        return places[order], values[order]


def _sizes(n_labels: int, of_tokens: NDArray[np.bool_], of_steps: NDArray[np.bool_]) -> Ints:
    return n_labels * of_tokens.astype(np.int64) + n_labels**2 * of_steps.astype(np.int64)


@final
@dataclass(frozen=True)
class PatternModel:
    """The contents of a file of Wapiti's or CRF++'s.

    Attributes
    ----------
    templates : Templates or None
        The patterns; None where the data hold the features themselves.
    labels, names : list of str
        In the file's order.
    blocks : Blocks
        Which names are of tokens, of steps or of both, and where their weights stand.
    weights : csr_array of shape (n_names, n_labels)
    edge_weights : csr_array of shape (n_names, n_labels²)
        Column ``i * n_labels + j``: label i followed by label j.
    """

    templates: Templates | None
    labels: list[str]
    names: list[str]
    blocks: Blocks
    weights: sp.csr_array
    edge_weights: sp.csr_array


def check_labels(labels: list[str], path: str) -> None:
    """Refuse labels that no chain can have."""
    if not 1 <= len(labels) <= _MOST_LABELS:
        reason = f"expected 1 to {_MOST_LABELS:,} labels, got {len(labels):,}."
        raise ForeignFileError(path, reason)
    check_distinct(labels, "labels", path)


def check_distinct(found: list[str], what: str, path: str) -> None:
    """Refuse a name that comes twice, and the empty one."""
    seen: set[str] = set()
    for name in found:
        if not name or name in seen:
            problem = f"{name[:40]!r} comes twice" if name else "one is empty"
            raise ForeignFileError(path, f"damaged: expected {what} that differ, but {problem}.")
        seen.add(name)


def read_templates(lines: list[str], path: str, dialect: Dialect) -> Templates:
    """Read the patterns of a file."""
    try:
        return Templates.parse("\n".join(lines), "its patterns", dialect)
    except TemplateError as error:
        raise ForeignFileError(path, str(error)) from None
