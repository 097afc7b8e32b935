"""What is not right in a file of CRFsuite's is refused, and said."""

import struct

import numpy as np
import pytest
from tests.fuzz.other_models import crfsuite_file

from proxqn.io.crfsuite import from_bytes, read
from proxqn.io.crfsuite.format import FEATURE, HEADER
from proxqn.io.foreign import ForeignFileError

FILE = crfsuite_file(1)
_, SIZE, _, _, _, N_LABELS, N_ATTRIBUTES, FEATURES, LABELS, ATTRIBUTES, LFRF, AFRF = (
    HEADER.unpack_from(FILE)
)


def word(at):
    return struct.unpack_from("<I", FILE, at)[0]


SOURCES = np.frombuffer(FILE, FEATURE, word(FEATURES + 8), FEATURES + 12)["source"].tolist()
# A feature of the same attribute as the one before it.
TWIN = FEATURES + 12 + 20 * next(i for i in range(1, 99) if SOURCES[i] == SOURCES[i - 1])


def with_word(at, word):
    data = bytearray(FILE)
    struct.pack_into("<I", data, at, word)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"foo", "not a CRFsuite model"),
        (b"lCRFfoo", "the header .* outside the file"),
        (FILE[:-1], "its header says"),
        (FILE + b"\0", "its header says"),
        (with_word(8, 0), "expected a model of kind FOMC"),
        (with_word(12, 101), "version 100, got 'FOMC' and 101"),
        (with_word(20, 2**14 + 1), "16,385 labels"),
        (with_word(20, N_LABELS + 1), "the dictionary of labels has room"),
        (with_word(24, N_ATTRIBUTES - 1), "dictionary of attributes|references"),
        (with_word(28, SIZE - 8), "the part FEAT .* outside"),
        (with_word(28, 0), "expected the part FEAT at 0"),
        (with_word(FEATURES + 8, 2**31), "the features .* outside the file"),
        (with_word(32, SIZE), "the dictionary of labels .* outside the file"),
        (with_word(LFRF + 8, 1), "the part LFRF is not of"),
        (with_word(LFRF + 12, SIZE - 3), "a list of the part LFRF"),
        (with_word(word(AFRF + 12), 2**30), "a list of the part AFRF"),
        (with_word(word(AFRF + 12), 0), "features, but .* references"),
        (with_word(word(AFRF + 12) + 4, 2**30), "a feature that is not there"),
        (with_word(FEATURES + 12, 1), "not of the label or attribute"),
        (with_word(FEATURES + 12 + 4, 3), "not of the label or attribute"),
        (with_word(FEATURES + 12 + 8, N_LABELS), "not of the label or attribute"),
        (with_word(FEATURES + 12 + 16, 0x7FF00000), "not a finite number"),
        (with_word(TWIN + 8, word(TWIN - 20 + 8)), "two weights of the same"),
    ],
)
def test_what_is_wrong_is_said(data, message):
    with pytest.raises(ForeignFileError, match=message) as caught:
        from_bytes(data, "m.crfsuite")
    assert caught.value.path == "m.crfsuite"


def test_files_are_read_from_their_paths(tmp_path):
    path = tmp_path / "m.crfsuite"
    path.write_bytes(FILE)
    assert len(read(path).labels) == N_LABELS
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")
