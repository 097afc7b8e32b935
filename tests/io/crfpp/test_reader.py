"""CRF++'s files are read to the last weight; what is not right in one is refused, and said."""

import struct

import numpy as np
import pytest
from tests.io.golden_files import FOLDER, golden

from proxqn.io.crfpp import model_bytes, model_lines, parse_model, read_model
from proxqn.io.crfpp.reader import HEADER
from proxqn.io.foreign import ForeignFileError

FILE, TEXT = golden("letters.crfpp"), golden("letters.crfpp.txt")
LABELS = HEADER.size + 4
N_WEIGHTS, N_BYTES = HEADER.unpack_from(FILE)[3], HEADER.unpack_from(FILE)[5]
ARRAY = len(FILE) - 4 * N_WEIGHTS - N_BYTES


def test_both_forms_hold_the_same():
    binary, text = read_model(FOLDER / "letters.crfpp"), read_model(FOLDER / "letters.crfpp.txt")
    assert binary.labels == text.labels == ["B", "I", "O"]
    assert binary.templates == text.templates
    assert binary.names == text.names
    for one, other in (
        (binary.weights, text.weights),
        (binary.edge_weights, text.edge_weights),
    ):
        np.testing.assert_array_equal(one.toarray(), other.toarray().astype(np.float32))
    assert text.weights.nnz > 100
    assert text.edge_weights.nnz > 100


def test_the_text_is_written_byte_for_byte():
    assert b"".join(model_lines(parse_model(TEXT))) == TEXT


@pytest.mark.parametrize("name", ["letters.crfpp", "frequent.crfpp"])
def test_a_binary_file_is_written_and_read_again(name):
    came = read_model(FOLDER / name)
    back = parse_model(model_bytes(came))
    assert back.names == came.names
    assert (back.weights != came.weights).nnz == 0
    assert (back.edge_weights != came.edge_weights).nnz == 0
    assert len(model_bytes(came)) < len(golden(name)) + 8 * 600


def with_words(at, *words):
    data = bytearray(FILE)
    struct.pack_into(f"<{len(words)}I", data, at, *words)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the header .* outside the file"),
        (b"d\0\0\0", "the header .* outside the file"),
        (FILE[:-1], "its header says"),
        (FILE + b"\0", "its header says"),
        (with_words(0, 200), "expected a CRF.. model, of version 100"),
        (with_words(16, N_WEIGHTS + 1), "its header says"),
        (with_words(24, 2**32 - 8), "its header says"),
        (with_words(28, 2**31), "the labels .* outside the file"),
        (with_words(28, 5), "the labels have no end"),
        (FILE[:LABELS] + b"I\0" + FILE[LABELS + 2 :], "'I' comes twice"),
        (FILE[:LABELS] + b"\0" + FILE[LABELS + 1 :], "one is empty"),
        (FILE.replace(b"U00:%x[-1,0]", b"U00:%y[-1,0]"), "expected x, t or m"),
        (FILE.replace(b"U00:%x[-1,0]", b"x00:%x[-1,0]"), "begin with U or B"),
        (with_words(ARRAY, 0), "neither a node nor the end"),
        (with_words(ARRAY, 7), "a unit belongs to no node"),
        (with_words(ARRAY + 4, 1), "outside the children"),
        (with_words(len(FILE) - 4, 0x7F800000), "not finite"),
    ],
)
def test_what_is_wrong_is_said(data, message):
    with pytest.raises(ForeignFileError, match=message) as caught:
        parse_model(data, "m.crfpp")
    assert caught.value.path == "m.crfpp"


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        (b"\n\nB\nI\nO\n\n", b"\n\nB\nI\nI\n\n", "'I' comes twice"),
        (b"maxid: ", b"maxid: 1", "weights announced"),
        (b"maxid: ", b"nothing: ", "no number of weights announced"),
        (b"\n0 U00", b"\nx U00", "expected NUMBER NAME"),
        (b"\n0 U00", b"\n1 U00", "overlap"),
        (b"\n0 U00", b"\n99999 U00", "overlap, or lie outside"),
        (b"U00:_B-1\n", b"U00:Anna\n", "comes twice"),
        (b"\n\n", b"\n", "no empty line|expected|weights|could not convert"),
        (b"\n0.", b"\nx0.", "a weight"),
        (b"\n0.", b"\n1e999.", "a weight|not finite"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(was, becomes, message):
    assert was in TEXT
    with pytest.raises(ForeignFileError, match=message):
        parse_model(TEXT.replace(was, becomes, 1))
