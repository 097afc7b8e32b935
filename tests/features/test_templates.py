"""Templates: CRF++'s documented examples, Wapiti's commands, messages."""

import time
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from proxqn.features.template_regex import compile_wapiti_regex
from proxqn.features.templates import TemplateError, Templates

# The example of CRF++'s manual; the current token is "the".
ROWS = [
    ["He", "PRP", "B-NP"],
    ["reckons", "VBZ", "B-VP"],
    ["the", "DT", "B-NP"],
    ["current", "JJ", "I-NP"],
    ["account", "NN", "I-NP"],
]
REPO = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("template", "feature"),
    [
        ("U%x[0,0]", "Uthe"),
        ("U%x[0,1]", "UDT"),
        ("U%x[-1,0]", "Ureckons"),
        ("U%x[-2,1]", "UPRP"),
        ("U%x[0,0]/%x[0,1]", "Uthe/DT"),
        ("UABC%x[0,1]123", "UABCDT123"),
        ("U01:%x[0,1]", "U01:DT"),
        ("U%x[-3,0]", "U_B-1"),
        ("U%x[-4,0]", "U_B-2"),
        ("U%x[3,0]", "U_B+1"),
        ("U%x[4,0]", "U_B+2"),
        ("U%x[+1,0]", "Ucurrent"),
        ("B01:%x[0,0]", "B01:the"),
        ("*:%X[-2,0]", "*:he"),
        ("U%X[-3,0]", "U_B-1"),
        ("U%x[@1,0]", "UHe"),
        ("U%x[@-1,0]", "Uaccount"),
        ("U%x[@7,0]", "U_B+2"),
        ("U%x[@-6,0]", "U_B-1"),
        ('U%t[-2,0,"^\\u"]', "Utrue"),
        ('U%T[0,0,"^\\u"]', "Ufalse"),
        ('U%m[1,0,"^.?.?.?"]', "Ucur"),
        ('U%m[1,0,"..$"]', "Unt"),
        ('U%M[-2,0,"^\\u"]', "Uh"),
        ('U%m[0,0,"z"]', "U"),
        ('U%t[0,0,"\\""]', "Ufalse"),
    ],
)
def test_expansion(template, feature):
    (parsed,) = Templates.parse(template)
    assert parsed.expand(ROWS, 2) == feature


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a*b", "xaab", "aab"),
        ("a.*", "abc", "a"),  # the star takes as few as possible
        ("^a.*$", "abc", "abc"),
        ("a?b?", "ab", "ab"),
        (r"\d\d", "a12b", "12"),
        (r"\a*$", "1éa", "éa"),
        (r"\l", "Éé", "é"),
        (r"\u", "éÉ", "É"),
        (r"\U\L", "aA", "aA"),
        (r"\p", "a_b", "_"),
        (r"\P\P", ".a b", "a "),
        (r"\w\W", "a_", "a_"),
        (r"\s\S", "a b", " b"),
        (r"\A\D", "1a", "1a"),
        (r"[a-z]+", "ab[a-z]+", "[a-z]+"),  # brackets and plus are ordinary characters
        (r"\*\?\\", r"x*?\y", "*?\\"),
        (r"a\$", "a$", "a$"),
        ("a$b", "a$b", "a$b"),
        (r"\\$", "a\\", "\\"),
        ("", "abc", ""),
        ("zz", "abc", None),
    ],
)
def test_wapiti_regular_expressions(pattern, text, found):
    regex = compile_wapiti_regex(pattern)
    assert regex.search(text) == found
    assert regex.search_each_place_once(text) == found


@given(st.text("ab.*?^$\\d1", max_size=9), st.text("ab1é", max_size=9), st.booleans())
def test_both_ways_to_match_agree(pattern, text, ascii_only):
    try:
        regex = compile_wapiti_regex(pattern, ascii_only=ascii_only)
    except ValueError:
        reject()
    assert regex.search(text) == regex.search_each_place_once(text)


@pytest.mark.parametrize(
    "pattern", [".*" * 40 + "x", ".?" * 60 + "x", "a*" * 30 + "b", "^.*.*.*$", r"\u" * 999]
)
def test_patterns_made_to_harm_take_no_time(pattern):
    begin = time.process_time()
    for template in (f'U:%m[0,0,"{pattern}"]', f'U:%t[0,0,"{pattern}"]'):
        Templates.parse(template)[0].expand([["a" * 1000]], 0)
    assert time.process_time() - begin < 1.0


def test_chunking_templates_are_those_of_crfpp():
    templates = Templates.from_file(REPO / "examples" / "chunking.template")
    assert len(templates.unigram) == 19
    assert templates.edge == ()
    assert templates.has_transitions
    assert templates.n_columns == 2
    assert templates.unigram[5].expand(ROWS, 0) == "U05:_B-1/He"


def test_kinds():
    templates = Templates.parse(
        "# comment\r\n\r\nU\r\n  u1:%x[0,0] \r\n*\r\n*2:%x[0,1]\r\nb3:%x[0,2]"
    )
    assert [t.text for t in templates.unigram] == ["U", "u1:%x[0,0]", "*", "*2:%x[0,1]"]
    assert [t.text for t in templates.edge] == ["*2:%x[0,1]", "b3:%x[0,2]"]
    assert templates.has_transitions
    assert templates[1].line == 4
    assert [t.text for t in templates[:2]] == ["U", "u1:%x[0,0]"]
    assert Templates.parse(str(templates)).n_columns == 3
    assert not Templates.parse("U00:%x[0,0]").has_transitions


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t: expected at least one template"),
        ("# only a comment\n", "t: expected at least one template"),
        ("U0\nX:%x[0,0]", r"t, line 2: expected to start with U, B or \*, not 'X'"),
        ("U:%y[0,0]", "line 1: expected x, t or m after the % of '%y"),
        ("U:%", "expected x, t or m after the % of '%'"),
        ("U:%x0,0]", r"expected \[offset,column\] after %x"),
        ("U:%x[0]", r"expected \[offset,column\] after %x"),
        ("U:%x[0,-1]", r"expected \[offset,column\] after %x"),
        ("U:%x[0,0", r"expected '\]' after '%x\[0,0'"),
        ('U:%x[0,0,"a"]', r"expected '\]' after"),
        ("U:%t[0,0]", r"expected a quoted pattern, as in %t\[0,0,"),
        ('U:%m[0,0,"a]', "expected a quoted pattern"),
        ('U:%m[0,0,"*"]', "expected a regular expression, but nothing before '\\*' to repeat"),
        ('U:%m[0,0,"a**"]', "nothing before '\\*'"),
        ("U:%x[999999999,0]", "an offset and a column of at most 4 characters"),
        (f"U:%x[-{'9' * 5000},0]", "an offset and a column of at most 4 characters"),
        ("U:%x[0,99999]", "an offset and a column of at most 4 characters"),
        ("U:%x[@0,0]", "expected an @ offset from 1 up, or from -1 down"),
    ],
)
def test_bad_templates_are_named(text, message):
    with pytest.raises(TemplateError, match=message):
        Templates.parse(text, "t")


def test_bad_columns_are_named():
    templates = Templates.parse("U0:%x[0,0]\n\nU1:%x[0,3]", "t.txt")
    with pytest.raises(TemplateError, match=r"t.txt, line 3: .* reads column 3, but .* 3 columns"):
        templates.check_columns(3)
    with pytest.raises(TemplateError, match=r"line 3: .* column 3, which holds the label"):
        templates.check_columns(4, label_column=3)
    templates.check_columns(5, label_column=4)


def test_a_template_file_must_be_text(tmp_path):
    (tmp_path / "t").write_bytes(b"U\xff")
    with pytest.raises(TemplateError, match="expected UTF-8 text"):
        Templates.from_file(tmp_path / "t")
