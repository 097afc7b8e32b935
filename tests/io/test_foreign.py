"""Other programs' files: nothing outside the bytes that are there is looked at."""

import pickle

import numpy as np
import pytest

from proxqn.io.foreign import BinaryReader, ForeignFileError

DATA = bytes(range(16))


@pytest.fixture
def file():
    return BinaryReader(DATA, "m.bin")


def test_what_lies_inside_is_returned(file):
    assert len(file) == 16
    assert file.span(2, 3, "x") == DATA[2:5]
    assert file.uint32(12, "x") == int.from_bytes(DATA[12:], "little")
    assert file.array(0, 2, "<f8", "x").tobytes() == DATA
    assert file.array(16, 0, "<u4", "x").size == 0
    assert file.text(10, 1, "x") == "\n"


@pytest.mark.parametrize(
    "ask",
    [
        lambda f: f.span(15, 2, "the names"),
        lambda f: f.span(-1, 1, "the names"),
        lambda f: f.span(3, -1, "the names"),
        lambda f: f.span(2**64, 1, "the names"),
        lambda f: f.uint32(13, "the names"),
        lambda f: f.array(0, 2**62, "<f8", "the names"),
        lambda f: f.array(0, -1, "<f8", "the names"),
        lambda f: f.text(0, 17, "the names"),
    ],
)
def test_what_lies_outside_is_refused_before_it_is_allocated(file, ask):
    with pytest.raises(ForeignFileError, match=r"m\.bin: damaged: the names .* outside the file"):
        ask(file)


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(ForeignFileError, match=r"a name at 1 is not utf-8 text \(byte 0\)"):
        BinaryReader(b"a\xff").text(1, 1, "a name")


def test_arrays_cannot_be_written_to(file):
    assert not file.array(0, 4, np.dtype("<u4"), "x").flags.writeable


def test_open_reads_the_file(tmp_path):
    path = tmp_path / "m.bin"
    path.write_bytes(DATA)
    assert BinaryReader.open(path).data == DATA
    with pytest.raises(FileNotFoundError):
        BinaryReader.open(tmp_path / "none")


def test_the_error_says_where_and_why_also_after_pickling():
    error = pickle.loads(pickle.dumps(ForeignFileError("m", "not a model.")))
    assert isinstance(error, ValueError)
    assert (error.path, error.reason, str(error)) == ("m", "not a model.", "m: not a model.")
