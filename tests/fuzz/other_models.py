"""Model files of CRFsuite, Wapiti and CRF++."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.kind import Kind
from tests.fuzz.our_models import use_again

from proxqn import ChainCRF
from proxqn.io.container import ModelFileError
from proxqn.io.model_file import SavedModel

_GOLDEN = Path(__file__).parents[1] / "golden" / "other_programs"


def try_crfsuite(data: bytes) -> None:
    """Read a model, and label with it what could be read."""
    from proxqn.io.crfsuite import from_bytes
    from proxqn.io.crfsuite.chain import to_chain

    model = from_bytes(data)
    if len(model.labels) > 1:
        names, crf = model.attributes.names()[:3], to_chain(model)
        crf.predict([[names, [], names]])
        _use_again(crf)


def try_wapiti(data: bytes) -> None:
    """Read a model, and label with it what could be read."""
    from proxqn.io.pattern_chain import chain_of
    from proxqn.io.wapiti import parse_model

    _label(chain_of(parse_model(data)))


def try_crfpp(data: bytes) -> None:
    """Read a model of either form, and label with it what could be read."""
    from proxqn.io.crfpp import parse_model
    from proxqn.io.pattern_chain import chain_of

    _label(chain_of(parse_model(data)))


def _label(crf: Any) -> None:
    templates = crf.encoder_.templates
    if templates is None:
        crf.predict([["a", "b"]])
    elif templates.n_columns < 100:
        crf.predict([[["The"] * max(1, templates.n_columns)] * 3])
    _use_again(crf)


def _use_again(crf: ChainCRF) -> None:
    try:
        use_again(SavedModel(crf))
    except ValueError as error:
        if "cannot be stored" not in str(error):  # as weights beyond all bounds
            raise


def crfsuite_file(number: int) -> bytes:
    """Return a small model in CRFsuite's form, its own where it is installed; numbers differ."""
    rng = Random(number)
    X, y = [], []
    for _ in range(2 + 2 * number):
        words = [rng.randrange(3 + 4 * number) for _ in range(4)]
        X.append([{"w": str(w), "näher": 0.5, f"l{w % 3}": 1.0} for w in words])
        y.append([f"L{w % (2 + number)}" for w in words])
    try:
        return _theirs(X, y)
    except ImportError:
        from proxqn.io.crfsuite import to_bytes
        from proxqn.io.crfsuite.chain import to_model

        return to_bytes(to_model(ChainCRF(lam=0.05, pairs="observed").fit(X, y)))


def _theirs(X: list[Any], y: list[list[str]]) -> bytes:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.05, "max_iterations": 10})
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        trainer.train(str(path))
        return path.read_bytes()


def _golden(*names: str) -> Sequence[bytes]:
    return [(_GOLDEN / name).read_bytes() for name in names]


KINDS = {
    "crfsuite": Kind(
        lambda: [crfsuite_file(number) for number in range(4)], try_crfsuite, (ModelFileError,)
    ),
    "wapiti": Kind(
        lambda: _golden("letters.wapiti", "compact.wapiti"), try_wapiti, (ModelFileError,)
    ),
    "crfpp": Kind(lambda: _golden("letters.crfpp", "frequent.crfpp"), try_crfpp, (ModelFileError,)),
    "crfpp-text": Kind(lambda: _golden("letters.crfpp.txt"), try_crfpp, (ModelFileError,)),
}
