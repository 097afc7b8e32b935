"""Templates and names go from one program's language to the other's."""

import pytest

from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import Templates
from proxqn.io.pattern_names import Translation


@pytest.mark.parametrize(
    ("template", "name", "expected"),
    [
        ("U00:%x[-1,0]", "U00:_B-1", ["u00:_x-1"]),
        ("U00:%x[-1,0]/%x[5,0]", "U00:a/b/_B+5", ["u00:a/b/_x+#"]),
        ("U00:%x[-1,0]/%x[0,0]", "U00:_B-1/_B-1", ["u00:_x-1/_B-1"]),
        ("U00:%x[0,0]", "U00:_B-1", ["u00:_B-1"]),
        ("*1:%x[-2,0]", "*1:_B-2", ["*1:_x-2"]),
        ("B1:%x[1,0]", "B1:_B+1", ["b1:_x+1"]),
        ("U00:%x[-1,0]", "U00:_B-1x", ["u00:_B-1x"]),
        ("U00:%x[-1,0]", "U00:_B-2", ["u00:_B-2"]),  # texts that only look like marks
        ("U00:%x[-1,0]", "U00:_B+1", ["u00:_B+1"]),
        ("U00:%x[-1,0]\nU00:%x[1,0]", "U00:_B+1", ["u00:_x+1"]),
    ],
)
def test_to_wapiti(template, name, expected):
    assert Translation(Templates.parse(template), Dialect.WAPITI).names(name) == expected


@pytest.mark.parametrize(
    ("template", "name", "expected"),
    [
        ("u00:%x[-1,0]", "u00:_x-1", ["U00:_B-1"]),
        ("u00:%x[-6,0]/%x[1,0]", "u00:_x-#/_x+1", ["U00:_B-5/_B+1", "U00:_B-6/_B+1"]),
        ("*1:%x[-2,0]", "*1:_x-2", ["U*1:_B-2", "B*1:_B-2"]),
        ("b", "b", ["B"]),
        ("u00:%x[-2,0]", "u00:_x-#", ["U00:_x-#"]),
    ],
)
def test_to_crfpp(template, name, expected):
    wapiti = Templates.parse(template, dialect="wapiti")
    assert Translation(wapiti, Dialect.CRFPP).names(name) == expected


@pytest.mark.parametrize("template", ['u:%m[0,0,"."]', 'u:%t[0,0,"."]', "u:%X[0,0]", "u:%x[@1,0]"])
def test_what_crfpp_cannot_say_is_named(template):
    wapiti = Templates.parse(template, dialect="wapiti")
    with pytest.raises(ValueError, match=r"cannot hold the template 'u:.*offset from the token"):
        Translation(wapiti, Dialect.CRFPP)


def test_crfpp_looks_eight_tokens_far():
    with pytest.raises(ValueError, match="at most 8 tokens"):
        Translation(Templates.parse("U:%x[-9,0]"), Dialect.CRFPP)


def test_a_warning_says_that_wapiti_knows_bytes():
    with pytest.warns(UserWarning, match="know bytes"):
        Translation(Templates.parse('U:%m[0,0,"."]'), Dialect.WAPITI)


def test_a_sharp_begins_a_comment_of_wapitis():
    with pytest.raises(ValueError, match="begins a comment"):
        Translation(Templates.parse("U#:%x[0,0]"), Dialect.WAPITI)
