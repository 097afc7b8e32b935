"""One error of files that cannot be read, whichever they are."""

from __future__ import annotations

import copy
import pickle

import pytest

import proxqn
from proxqn.features.templates import Templates
from proxqn.io.readers import read_jsonl
from proxqn.io.wapiti import read_model


@pytest.mark.parametrize(
    ("content", "read", "line"),
    [
        (b"\n[NaN]\n", lambda path: list(read_jsonl(path)), 2),
        (b"B\nQ\n", Templates.from_file, 2),
        (b"", Templates.from_file, 0),
        (b"no model", proxqn.load, 0),
        (b"no model", read_model, 0),
    ],
)
def test_it_has_a_path_a_line_and_a_reason(tmp_path, content, read, line):
    path = tmp_path / "made"
    path.write_bytes(content)
    with pytest.raises(proxqn.FileError) as caught:
        read(path)
    error = caught.value
    assert (error.path, error.line) == (str(path), line)
    assert error.reason
    assert str(error) == f"{path}{', line 2' if line else ''}: {error.reason}"
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.path, again.line) == (str(error), error.path, error.line)
