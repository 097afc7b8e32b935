"""Readers: the formats, their dark corners, and messages with file and line."""

import gzip
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.readers import (
    DataFileError,
    read_columns,
    read_conllu,
    read_crfsuite,
    read_jsonl,
    write_crfsuite,
)

CUT_SHORT = gzip.compress(b"a b\n" * 99, mtime=0)[:-9]
TEXT = "the DT B-NP\ndog NN I-NP\n\n# # O\n"


def file_of(text):
    return io.BytesIO(text.encode())


def test_columns():
    first, second = read_columns(file_of(TEXT))
    assert first.tokens == [["the", "DT", "B-NP"], ["dog", "NN", "I-NP"]]
    assert first.labels == ["B-NP", "I-NP"]
    assert (first.line, second.line) == (1, 4)
    assert second.tokens == [["#", "#", "O"]]  # a word in CoNLL-2000
    assert first.label_column == 2


def test_column_options():
    text = "#c\na,b,\xa0 c,d\n-DOCSTART-,x\nq,,r,s\r\n \n"
    first, second = read_columns(file_of(text), separator=",", label_column=0, comment="#")
    assert first.tokens == [["a", "b", "\xa0 c", "d"]]
    assert first.labels == ["a"]
    assert second.tokens == [["q", "", "r", "s"]]


def test_document_lines_of_conll2003():
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n-DOCSTART- -X- O O\n\nx y z O\n"
    assert [record.labels for record in read_columns(file_of(text))] == [["I-ORG"], ["O"]]


def test_unlabelled_columns_and_no_break_space():
    (record,) = read_columns(file_of("a\xa0b \t NN\n"), label_column=None)
    assert record.tokens == [["a\xa0b", "NN"]]
    assert record.labels is None


@pytest.mark.parametrize("packed", [False, True])
def test_paths_gzip_and_standard_input(tmp_path, monkeypatch, packed):
    data = ("\ufeff" + TEXT).encode()
    data = gzip.compress(data, mtime=0) if packed else data
    path = tmp_path / "data"
    path.write_bytes(data)
    expected = list(read_columns(file_of(TEXT)))
    assert list(read_columns(path)) == expected
    assert list(read_columns(str(path))) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert list(read_columns("-")) == expected
    stream = io.BytesIO(data)
    assert list(read_columns(stream)) == expected
    assert not stream.closed


def test_reading_is_a_stream():
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            line = b"a B\n\n"
            buffer[: len(line)] = line
            return len(line)

    records = read_columns(Endless())
    assert [next(records).labels for _ in range(3)] == [["B"]] * 3


def test_conllu():
    rest = "\t_" * 6
    text = (
        "# sent_id = 1\n1-2\tdu\t_\t_" + rest + "\n1\tde\tde\tADP" + rest + "\n2\tle\tle\tDET"
        f"{rest}\n2.1\tx\tx\tX{rest}\n\n# c\n1\t#\t#\tSYM{rest}\n"
    )
    first, second = read_conllu(file_of(text))
    assert [row[1] for row in first.tokens] == ["de", "le"]
    assert first.labels == ["ADP", "DET"]
    assert first.line == 3
    assert second.labels == ["SYM"]
    assert next(read_conllu(file_of(text), label=None)).labels is None
    with pytest.raises(ValueError, match="expected label to be one of ID, FORM"):
        next(read_conllu(file_of(text), label="pos"))


def test_crfsuite_escapes_values_and_weights():
    text = "@weight:2.5\nB-X\tw\\:a\tb:0.5\tc\\\\:2\tb:1\t\nO\n\n\nO\tx\n"
    first, second = read_crfsuite(file_of(text))
    assert first.tokens == [{"w:a": 1.0, "b": 1.5, "c\\": 2.0}, {}]
    assert (first.labels, first.weight, first.line) == (["B-X", "O"], 2.5, 2)
    assert (second.labels, second.weight) == (["O"], 1.0)


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\ufeff"))
records = st.lists(
    st.lists(
        st.tuples(
            names.filter(lambda name: name and not name.startswith("@weight:")),
            st.dictionaries(
                names.filter(bool), st.floats(allow_nan=False, allow_infinity=False), max_size=4
            ),
        ),
        min_size=1,
        max_size=4,
    )
)


@given(records)
def test_crfsuite_round_trip(sequences):
    written = [
        SequenceRecord([item for _, item in pairs], [label for label, _ in pairs], 1)
        for pairs in sequences
    ]
    read = list(read_crfsuite(file_of("".join(write_crfsuite(written)))))
    assert [(r.tokens, r.labels) for r in read] == [(r.tokens, r.labels) for r in written]


def test_crfsuite_cannot_hold_tabs_in_names():
    with pytest.raises(ValueError, match="without tabs and line ends"):
        list(write_crfsuite([SequenceRecord([["a\tb"]], ["O"], 1)]))


def test_jsonl():
    lines = [
        {"tokens": [{"a": 1}], "labels": ["X"], "weight": 2},
        {"tokens": ["a", "b"]},
        ["a", {"b": {"c": True}}],
    ]
    text = "\n\n".join(json.dumps(line) for line in lines)
    first, second, third = read_jsonl(file_of(text))
    assert (first.tokens, first.labels, first.weight) == ([{"a": 1}], ["X"], 2.0)
    assert (second.tokens, second.labels, second.line) == (["a", "b"], None, 3)
    assert third.tokens == ["a", {"b": {"c": True}}]
    assert next(read_jsonl(file_of(text), labels=None)).labels is None


@pytest.mark.parametrize(
    ("reader", "data", "message"),
    [
        (read_columns, b"a b\nc\n", r"bad, line 2: expected 2 columns as in line 1, got 1 \('c'\)"),
        (read_columns, b"a b\n\nc\xff d\n", "bad, line 3: expected utf-8 text, but byte 2"),
        (
            lambda f: read_columns(f, label_column=5),
            b"a b\n",
            "bad, line 1: expected a label in column 5, but there are 2",
        ),
        (read_columns, CUT_SHORT, "bad, line [0-9]+: cannot read on"),
        (read_conllu, b"1\ta\n", "bad, line 1: expected 10 tab-separated columns, got 2"),
        (read_conllu, b"x" + b"\t_" * 9, "bad, line 1: expected an ID such as 3, 3-4 or 5.1"),
        (
            read_crfsuite,
            b"O\ta\nO\ta:b:1\n",
            r"line 2: expected a finite number after .*'b:1'",
        ),
        (
            read_crfsuite,
            b"O\ta:\n",
            "line 1: expected a finite number after the colon of 'a:'",
        ),
        (read_crfsuite, b"\ta\n", "bad, line 1: expected a label before the first tab"),
        (read_crfsuite, b"@weight:x\n", "bad, line 1: expected a finite number after"),
        (read_jsonl, b"[]\n{", "bad, line 2: expected JSON: Expecting property name"),
        (read_jsonl, b"3", "bad, line 1: expected an object or an array, got 3"),
        (
            read_jsonl,
            b'{"words": []}',
            r"expected an array under 'tokens'; the keys are \['words'\]",
        ),
        (read_jsonl, b'{"tokens": ["a"], "labels": []}', "as many labels as tokens, got 0 and 1"),
        (read_jsonl, b'{"tokens": ["a"], "labels": [1]}', "array of strings under 'labels'"),
        (read_jsonl, b'{"tokens": [], "weight": "x"}', "a finite number under 'weight', got 'x'"),
        (read_jsonl, b'[{"a": NaN}]', "bad, line 1: expected finite numbers, got NaN"),
    ],
)
def test_bad_files_are_named(tmp_path, monkeypatch, reader, data, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(DataFileError, match=message) as caught:
        list(reader("bad"))
    assert caught.value.source == "bad"
    assert caught.value.line >= 1


def test_a_missing_file_stays_a_missing_file():
    with pytest.raises(FileNotFoundError):
        list(read_columns("no-such-file"))
