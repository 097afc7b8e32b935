"""The dictionaries of CRFsuite's files."""

import numpy as np
import pytest

from proxqn.features.vocabulary import Vocabulary
from proxqn.io.crfsuite import cqdb
from proxqn.io.foreign import BinaryReader, ForeignFileError

NAMES = [f"{'名前' * (i % 4)}{i}" for i in range(700)]


def read(data, n):
    return cqdb.read(BinaryReader(data, "m"), 0, n, "labels")


@pytest.mark.parametrize("n", [0, 1, 2, 257, 700])
def test_what_is_written_is_read(n):
    data = cqdb.write(Vocabulary.from_names(NAMES[:n]))
    assert read(data, n).names() == NAMES[:n]


@pytest.mark.parametrize("name", ["", "a" * 5000])
def test_names_of_any_size(name):
    data = cqdb.write(Vocabulary.from_names([name, "b"]))
    assert read(data, 2).names() == [name, "b"]


@pytest.mark.parametrize(("name", "message"), [("a\0b", "zero byte"), ("a" * (1 << 20), "longer")])
def test_names_that_no_file_can_hold(name, message):
    with pytest.raises(ValueError, match=message):
        cqdb.write(Vocabulary.from_names([name]))


def changed(at, word, n=40):
    data = bytearray(cqdb.write(Vocabulary.from_names(NAMES[:n])))
    data[at : at + 4] = int(word).to_bytes(4, "little")
    return bytes(data)


RECORDS = 24 + 8 * 256


@pytest.mark.parametrize(
    ("at", "word", "message"),
    [
        (0, 0, "expected the dictionary of labels"),
        (4, 2**31, "lie outside the file"),
        (4, 100, "has room"),
        (12, 0x71534462, "expected the dictionary"),
        (16, 3, "has room for 3 of 40"),
        (20, 2**32 - 1, "offsets outside itself"),
        (24, 2**31, "hash table outside itself"),
        (RECORDS, 7, "record of another number"),
        (RECORDS + 4, 0, "impossible size"),
        (RECORDS + 4, 2**20, "impossible size"),
        (RECORDS + 4, 1, "not found"),
        (RECORDS + 8, ord("x") + 2**16, "not found"),  # and the next number as it was,
    ],
)
def test_damage_is_named(at, word, message):
    with pytest.raises(ForeignFileError, match=message):
        read(changed(at, word), 40)


def test_a_table_without_an_empty_place_would_be_searched_for_ever():
    data = bytearray(cqdb.write(Vocabulary.from_names(["a"])))
    table = next(i for i in range(256) if data[24 + 8 * i])
    data[24 + 8 * table + 4] = 1  # of two places
    with pytest.raises(ForeignFileError, match="not found"):
        read(bytes(data), 1)


def test_names_that_overlap_are_refused_before_they_are_put_side_by_side():
    n, size = 500, 100_000
    offsets = np.full(n, RECORDS, "<u4") + np.arange(n, dtype="<u4") * 8
    body = np.zeros(size, np.uint8)
    heads = np.stack([np.arange(n), np.full(n, size // 2)], axis=1).astype("<u4").view(np.uint8)
    body[: 8 * n] = heads.ravel()
    at = RECORDS + size
    head = np.array([at + 4 * n, 0, 0x62445371, n, at], "<u4").tobytes()
    data = b"CQDB" + head + bytes(8 * 256) + body.tobytes() + offsets.tobytes()
    with pytest.raises(ForeignFileError, match="impossible size"):
        read(data, n)
