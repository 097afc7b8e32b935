"""Feature-indexed data turned back into rows, for methods that walk sample by sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.matrix import FeatureIndexed
from proxqn.problem.sparse import Floats, Ints


@final
@dataclass(frozen=True)
class RowIndexed:
    """The columns and values of each row."""

    start: Ints  # [n_rows + 1]
    columns: NDArray[np.int32]
    values: Floats | None  # None where all are 1

    @classmethod
    def from_features(
        cls, data: FeatureIndexed, slot_row: NDArray[np.int32], n_rows: int
    ) -> RowIndexed:
        """Transpose the data, slot s being row ``slot_row[s]``."""
        counts = np.diff(data.start)
        real = data.value_start >= 0
        values: Any = np.ones(data.n_entries, dtype=np.float64 if real.any() else np.int8)
        values[np.repeat(real, counts)] = data.values
        by_column = sp.csc_array(
            (values, slot_row[data.slots], data.start), shape=(n_rows, data.n_columns)
        )
        by_row = by_column.tocsr()
        return cls(
            by_row.indptr.astype(np.int64),
            by_row.indices.astype(np.int32),
            by_row.data if real.any() else None,
        )
