"""SVMlight files; faults are in the table of ``tests/cli/test_tree_commands.py``."""

import io

import numpy as np
import pytest

from proxqn.io.readers.record import DataFileError
from proxqn.io.readers.svmlight import read_svmlight


def test_columns_are_the_files_features():
    rows = read_svmlight(io.BytesIO(b"a 5:1 2:0.5 5:2\n\n# all comment\nb\n"))
    assert rows.labels == ["a", "b"]
    assert rows.X.shape == (2, 6)
    assert rows.X.toarray()[0].tolist() == [0, 0, 0.5, 0, 0, 3]
    assert rows.X.has_canonical_format


def test_ignored_features_leave_no_trace():
    rows = read_svmlight(io.BytesIO(b"a 0:99 3:1\nb 0:7\n"), ignore=[0])
    assert np.count_nonzero(rows.X.toarray()[:, 0]) == 0
    assert rows.X.nnz == 1


def test_large_feature_is_refused():
    with pytest.raises(DataFileError, match="line 1: expected a feature from 0"):
        read_svmlight(io.BytesIO(b"a 99999999999:1\n"))
