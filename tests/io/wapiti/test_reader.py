"""Wapiti's files are read to the last weight; what is not right in one is refused, and said."""

import re

import pytest
from tests.io.golden_files import FOLDER, golden

from proxqn.features.template_dialect import Dialect
from proxqn.io.foreign import ForeignFileError
from proxqn.io.wapiti import model_bytes, parse_model, read_model

FILE = golden("letters.wapiti")


def test_a_file_is_read_to_the_last_weight():
    model = read_model(FOLDER / "letters.wapiti")
    assert model.labels == ["B", "I", "O"]
    assert model.templates is not None
    assert model.templates.dialect is Dialect.WAPITI
    assert [t.text for t in model.templates][:3] == ["u00:%x[-1,0]", "u01:%X[0,0]", "*02:%x[0,1]"]
    shown = {}  # as `wapiti dump --prec 5` shows them
    for name, labels, pairs in zip(
        model.names, model.weights.toarray(), model.edge_weights.toarray(), strict=True
    ):
        for label, weight in zip(model.labels, labels, strict=True):
            shown[name, "#", label] = weight
        for pair, weight in enumerate(pairs):
            shown[name, model.labels[pair // 3], model.labels[pair % 3]] = weight
    dump = [line.split("\t") for line in golden("wapiti-dump.txt").decode().splitlines() if line]
    for name, before, label, weight in dump:
        assert f"{shown.pop((name, before, label)):.5f}" == weight
    assert len(dump) > 40
    assert not any(shown.values())


@pytest.mark.parametrize("name", ["letters.wapiti", "compact.wapiti"])
def test_what_was_read_is_written_byte_for_byte(name):
    assert b"".join(model_bytes(parse_model(golden(name)))) == golden(name)


def test_files_of_earlier_versions_have_shorter_headers():
    old = FILE.replace(b"#mdl#2#", b"#mdl#").replace(b"/1/0\n#", b"/1\n#", 1)
    old = re.sub(rb"(#rdr#\d+/\d+)/0", rb"\1", old)
    assert parse_model(old).weights.nnz == parse_model(FILE).weights.nnz


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        (b"#mdl#2#", b"#mdl#1#", "maximum-entropy Markov model"),
        (b"#mdl#", b"mdl", "expected #mdl#"),
        (b"#rdr#", b"#xxx#", "expected #rdr#"),
        (b"/1/0\n", b"/1/1\n", "trained with --me"),
        (b"#rdr#11/", b"#rdr#999999/", "999,999 patterns announced"),
        (b"#rdr#11/", b"#rdr#12/", "LENGTH:TEXT"),
        (b"12:u00:%x[-1,0],", b"12:u00:%y[-1,0],", "expected x, t or m"),
        (b"12:u00:%x[-1,0],", b"13:u00:%x[-1,0],", "LENGTH:TEXT"),
        (b"1:B,\n1:I,\n", b"1:B,\n1:B,\n", "labels that differ, but 'B' comes twice"),
        (b"1:B,\n", b"0:,\n", "one is empty"),
        (b"1:B,\n", b"1:\0,\n", "a zero byte"),
        (b"#qrk#3\n", b"#qrk#99999999\n", "99,999,999 labels announced"),
        (b"5:*02:D", b"5:x02:D", "begin with u, b or "),
        (b"=0x", b"=zz", "expected a weight, got"),
        (b"=0x1", b"=inf0x1", "expected a weight, got"),
        (b"=-0x", b"=-1e999 0x", "weights announced|expected NUMBER"),
    ],
)
def test_what_is_wrong_is_said(was, becomes, message):
    assert was in FILE
    with pytest.raises(ForeignFileError, match=message) as caught:
        parse_model(FILE.replace(was, becomes, 1), "m.wapiti")
    assert caught.value.path == "m.wapiti"


def with_weights(*lines):
    head = re.sub(rb"#mdl#2#\d+", b"#mdl#2#%d" % len(lines), FILE)
    return head[: head.index(b"\n", head.rindex(b",\n")) + 1] + b"\n".join(lines)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([b"0=1e999"], "not finite"),
        ([b"0=nan"], "not finite"),
        ([b"1=0x1p+0", b"1=0x1p+0"], "given twice"),
        ([b"999999=0x1p+0"], "weight 999,999 of"),
        ([b"-1=0x1p+0"], "expected NUMBER=WEIGHT"),
        ([b"1=1_0"], "expected a weight"),
        ([b"1:0x1p+0"], "expected NUMBER=WEIGHT"),
        ([b"0=0x1p+0 1=0x1p+0"], "1 weights announced, 2 there"),
    ],
)
def test_what_is_wrong_with_weights_is_said(lines, message):
    with pytest.raises(ForeignFileError, match=message):
        parse_model(with_weights(*lines))


def test_weights_may_be_decimal():
    assert parse_model(with_weights(b"0=2.5")).weights[0, 0] == 2.5


def test_too_many_labels_are_refused_before_a_square_of_them_is_made():
    labels = b"".join(b"5:%05d,\n" % i for i in range(5000))
    file = b"#mdl#2#0\n#rdr#0/0/0\n#qrk#5000\n" + labels + b"#qrk#1\n1:b,\n"
    with pytest.raises(ForeignFileError, match="expected 1 to 4,096 labels, got 5,000"):
        parse_model(file)
