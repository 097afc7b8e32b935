"""Wapiti's templates look at bytes, and have marks of their own beyond the ends."""

import numpy as np
import pytest

from proxqn.features.byte_text import text_of
from proxqn.features.name_finder import NameFinder
from proxqn.features.template_columns import ColumnStretch
from proxqn.features.templates import TemplateError, Templates
from proxqn.features.vocabulary import Vocabulary

ROWS = [["É1", "D"], ["ab", "N"], ["Zoë", "V"]]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("U:%x[-5,0]/%x[4,0]", ["u:_x-#/_x+2", "u:_x-4/_x+3", "u:_x-3/_x+4"]),
        ('U:%m[0,0,"^."]', ["u:" + text_of("É".encode()[:1]), "u:a", "u:Z"]),
        ('U:%m[0,0,".?$"]', ["u:1", "u:b", "u:" + text_of("ë".encode()[1:])]),
        ('U:%t[0,0,"^\\u"]/%t[0,0,"^\\A"]', ["u:false/true", "u:false/false", "u:true/false"]),
        ('U:%t[0,0,"\\p"]/%t[0,0,"\\P"]', ["u:false/true"] * 3),
        ("U:%X[0,0]", ["u:É1", "u:ab", "u:zoë"]),
        ('U:%M[0,0,"\\u\\l*$"]', ["u:", "u:", "u:"]),
        ("*:%x[@1,1]  # a comment", ["*:D"] * 3),
    ],
)
def test_features_are_wapitis(template, expected):
    templates = Templates.parse(template, dialect="wapiti")
    assert [templates[0].expand(ROWS, t) for t in range(3)] == expected
    stretch = ColumnStretch(ROWS, np.array([3])).entries(templates.items)
    assert [stretch.names[code] for code in stretch.codes.tolist()] == expected
    names = list(dict.fromkeys(expected))
    vocabularies = Vocabulary.from_names(names), Vocabulary.from_names([])
    finder = NameFinder(templates, *(vocabulary.index.kernel for vocabulary in vocabularies))
    found, _ = finder.find([ROWS], None)
    assert [names[column] for column in found.columns.tolist()] == expected


def test_comments_begin_anywhere():
    templates = Templates.parse("# all\nU0:%x[0,0] # a word\n#\nb", dialect="wapiti")
    assert [template.text for template in templates] == ["u0:%x[0,0]", "b"]
    assert templates != Templates.parse("u0:%x[0,0]\nb")
    with pytest.raises(TemplateError, match="at least one template"):
        Templates.parse("# U0:%x[0,0]", dialect="wapiti")
