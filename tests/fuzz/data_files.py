"""Files of data, templates and label trees: read as ``train`` and ``predict`` read them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.kind import Kind
from tests.fuzz.words import word_changer

from proxqn import ChainCRF, HierarchicalClassifier, Hierarchy
from proxqn.cli.chain.files import Reading, encode
from proxqn.cli.kind import Wishes, commands_of
from proxqn.cli.tree.files import TreeReading, fitted_columns, read_hierarchy, read_labelled
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import TemplateError, Templates
from proxqn.io.model_file import SavedModel
from proxqn.io.readers import DataFileError

_ROWS = [[["the", "D"], ["dog", "N"]], [["Dogs", "N"], ["bark", "V"]], [["naïve", "N"]]] * 4
_LABELS = [["O", "B-X"], ["B-X", "I-X"], ["O"]] * 4
_PATTERNS = 'U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%m[0,0,".?.?$"]\nB'
_FIT_EVERY = 50  # mutants: a fit takes longer than all the rest


@cache
def _place() -> Path:
    """Return where mutants are written for readers that take a path: in memory, if it can be."""
    memory = Path("/dev/shm")
    folder = memory if os.access(memory, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="proxqn-fuzz-", dir=folder))


def _written(data: bytes) -> str:
    path = _place() / str(os.getpid())
    path.write_bytes(data)
    return str(path)


# --- sequences -----------------------------------------------------------------------------------


@cache
def _chain(format: str) -> SavedModel:
    """Return a small model of a format's features."""
    reading = Reading(format=format)
    if reading.needs_templates:
        crf = ChainCRF(lam=0.1, templates=Templates.parse(_PATTERNS)).fit(_ROWS, _LABELS)
    else:
        X = [[{"w": word, "n": 2.0} for word, _ in sentence] for sentence in _ROWS]
        crf = ChainCRF(lam=0.1).fit(X, _LABELS)
    return SavedModel(crf, reading.to_json())


def _sequences(format: str) -> Callable[[bytes], None]:
    reading = Reading(format=format)

    def attempt(data: bytes) -> None:
        """Label a file, and read it as training data; now and then fit a model to it."""
        path = _written(data)
        for _ in commands_of("chain").predict(_chain(format), path, Wishes({})):
            pass
        templates = Templates.parse(_PATTERNS) if reading.needs_templates else None
        encoded = encode(SequenceEncoder(templates), reading, path, fit=True)
        if len(data) % _FIT_EVERY == 0 and encoded.X.shape[0] < 10_000:
            _fit(ChainCRF(max_iter=2), encoded)

    return attempt


def _fit(model: Any, *data: Any) -> None:
    with suppress(TypeError, ValueError):  # one class only, and the like
        model.fit(*data)


_COLUMNS = b"The DT B-NP\ndog NN I-NP\nbarks VBZ B-VP\n\nNa\xc3\xafve JJ B-NP\n. . O\n"
_CONLLU = b"# sent_id = 1\n# text = Dogs bark\n" + b"".join(
    b"\t".join((number, form, form.lower(), tag, b"_", b"_", b"0", b"root", b"_", b"_")) + b"\n"
    for number, form, tag in ((b"1-2", b"Dogsbark", b"_"), (b"1", b"Dogs", b"NOUN"),
                              (b"2", b"bark", b"VERB"), (b"2.1", b"x", b"_"))
) + b"\n"  # fmt: skip
_ATTRIBUTES = b"@weight:2\nB-X\tw=the\tlen:3\nI-X\tw=\\:\\\\\tn:-0.5\n\nO\tw=dog\n"
_JSONL = (
    b'{"tokens": [{"w": "the", "n": 2.5}, {"w": {"x": 1, "y": ["u"]}}], "labels": ["A", "B"]}\n'
    b'{"tokens": ["dog", ["a", "b"]], "labels": ["A", "A"], "weight": 2}\n'
)


# --- trees ---------------------------------------------------------------------------------------


@cache
def _tree() -> SavedModel:
    X = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]] * 5)
    tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak", "fig"]})
    model = HierarchicalClassifier(tree, lam=0.2).fit(X, ["cat", "dog", "oak", "fig"] * 5)
    return SavedModel(model, TreeReading((0,)).to_json())


def _samples(data: bytes) -> None:
    """Give each sample a leaf, and read the file as training data; now and then fit to it."""
    path = _written(data)
    for _ in commands_of("tree").predict(_tree(), path, Wishes({})):
        pass
    rows = read_labelled(path, TreeReading(), None, fit=True)
    X, _ = fitted_columns(rows.X, 1000)
    if len(data) % _FIT_EVERY == 0:
        _fit(HierarchicalClassifier(max_iter=2), X, np.array(rows.labels))


def _hierarchy(data: bytes) -> None:
    """Read a label tree, and use it."""
    tree = read_hierarchy(_written(data))
    leaves = tree.leaf_names
    assert tree.leaf_index(list(leaves)).tolist() == list(range(tree.n_leaves))
    assert len(tree.downward(np.ones(len(tree)))) == tree.n_leaves
    assert len(tree.upward(np.ones(tree.n_leaves))) == len(tree)
    assert tree.path(leaves[-1])[-1] == leaves[-1]


_SVMLIGHT = b"cat 1:1 3:0.5 # a comment\ndog 2:1 3:-0.5e-3\n\nfig 0:7 2:1\n"
_PATHS = b"animal pet cat\nanimal pet dog\nplant oak\nplant fig\n"


# --- templates -----------------------------------------------------------------------------------


def _templates(dialect: str) -> Callable[[bytes], None]:
    rows = [[["The", "DT"], ["dog" * 20, "NN"]], [["Naïve" + "x" * 200, "JJ"]]]

    def attempt(data: bytes) -> None:
        """Read templates, and make features with them."""
        path = _written(data)
        templates = Templates.from_file(path, dialect)
        again = Templates.parse(str(templates), "again", dialect)
        assert str(again) == str(templates)
        templates.check_columns(2, None)
        if len(templates) < 100:
            SequenceEncoder(templates).fit_transform(rows)

    return attempt


_TEMPLATES = (
    b'U00:%x[-2,0]\nU01:%x[0,0]/%x[1,1]\nU02:%t[0,0,"^\\u"]\nU03:%m[0,0,".?.?.?$"]\n'
    b"U04:%X[0,0]\nU05:%x[@-1,0]\n# a comment\nB\nB01:%x[0,1]\n*40:%x[0,0]\n"
)
_GRAMMAR = (
    b"U", b"B", b"*", b"%x", b"%t", b"%m", b"%X", b"%", b"[", b"]", b"[0,0]", b"[-1,0]",
    b"[@1,0]", b"[@0,0]", b"[99999,0]", b"[-999,0]", b"[0,9999]", b"[0,0", b',"', b'"]', b'"',
    b"^", b"$", b"*", b"?", b".", b".*", b".?", b"\\", b"\\d", b"\\u", b"\\w", b"\\\\", b'\\"',
    b".*" * 40 + b"x", b".?" * 60, b"a*" * 30 + b"b", b"\\u\\l*" * 9, b"(", b")", b"|", b"+",
    b"{9}",
)  # fmt: skip

_DATA = (DataFileError, TemplateError)

KINDS = {
    "columns": Kind(
        lambda: [_COLUMNS],
        _sequences("columns"),
        _DATA,
        word_changer(b"-DOCSTART-", b"B-NP", b"NN NN", b"O", b"The DT B-NP\n"),
    ),
    "conllu": Kind(
        lambda: [_CONLLU],
        _sequences("conllu"),
        _DATA,
        word_changer(b"_", b"1-2", b"2.1", b"1-", b"-1", b"0", b"# newdoc", b"NOUN", b"\t_" * 9),
    ),
    "attributes": Kind(
        lambda: [_ATTRIBUTES],
        _sequences("crfsuite"),
        _DATA,
        word_changer(
            b"@weight:", b"@weight:-1", b"@weight:nan", b"@eof", b"\\:", b":0", b"w=", b"\\" * 501
        ),
    ),
    "jsonl": Kind(
        lambda: [_JSONL],
        _sequences("jsonl"),
        _DATA,
        word_changer(
            b"{",
            b"}",
            b"[",
            b"]",
            b'"',
            b'"tokens"',
            b'"labels"',
            b'"weight"',
            b"null",
            b"true",
            b"NaN",
            b"Infinity",
            b"\\ud800",
            b"\\u0000",
            b"[" * 3000,
            b'{"a":' * 3000,
            b"[]",
            b"{}",
            b'{"tokens": [], "labels": []}',
            b"-1",
            b"1e999",
            b"1" + b"0" * 400,
        ),
    ),
    "svmlight": Kind(
        lambda: [_SVMLIGHT],
        _samples,
        _DATA,
        word_changer(
            b"1:1",
            b"0:0",
            b"2147483646:1",
            b"2147483647:1",
            b"-1:1",
            b"1:nan",
            b"1:",
            b":1",
            b"qid:1",
            b"cat,dog",
            b"1:1 " * 999,
        ),
    ),
    "hierarchy": Kind(
        lambda: [_PATHS],
        _hierarchy,
        _DATA,
        word_changer(
            b"animal", b"pet", b"cat", b"<root>", b"oak plant", b"a b c d e f g h i j k", b"\n"
        ),
    ),
    "templates": Kind(lambda: [_TEMPLATES], _templates("crfpp"), _DATA, word_changer(*_GRAMMAR)),
    "patterns": Kind(lambda: [_TEMPLATES], _templates("wapiti"), _DATA, word_changer(*_GRAMMAR)),
}
