"""Labelling with the interface of ``pycrfsuite.Tagger``."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable
from typing import Any, final

import numpy as np

from proxqn.compat.attributes import attributes_of
from proxqn.compat.pycrfsuite._dumpparser import ParsedDump
from proxqn.compat.pycrfsuite.item_sequence import ItemSequence
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.io.crfsuite import CRFsuiteModel, from_bytes
from proxqn.io.crfsuite.chain import to_chain
from proxqn.io.crfsuite.dump import dump_lines, header_fields
from proxqn.io.whole_file import read_whole
from proxqn.replacing import replacing

Tokens = list[Any]


@final
class Tagger:
    """Labels sequences with a model of CRFsuite's, whoever has written it.

    Attributes
    ----------
    crf : ChainCRF or None
        The model as this package has it: n-best labellings, constraints, batches. None of a model
        of one label.
    """

    def __init__(self) -> None:
        self._data = b""
        self._model: CRFsuiteModel | None = None
        self.crf: ChainCRF | None = None
        self._tokens: Tokens = []
        self._marginals: list[dict[str, float]] | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; ``with tagger.open(name):`` closes it at the end."""
        return self._open(read_whole(name), name)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open the bytes of a model file."""
        if not isinstance(value, bytes):
            raise TypeError(f"expected the bytes of a model file, got a {type(value).__name__}")
        return self._open(value, "the model in memory")

    def _open(self, data: bytes, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        model = from_bytes(data, name)
        self.close()
        self.crf = to_chain(model, name) if len(model.labels) > 1 else None
        self._data, self._model = data, model
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._data, self._model, self.crf = b"", None, None
        self._keep([])

    def labels(self) -> list[str]:
        """Return the labels, in the order of the file."""
        return list(self._opened().labels)

    def set(self, xseq: Iterable[Any]) -> None:
        """Set the sequence that is asked about later."""
        self._opened()
        self._keep(_tokens(xseq))

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """Return the most probable labels of a sequence; of the one set before if none is given."""
        if xseq is not None:
            self.set(xseq)
        return self.tag_many([self._tokens])[0]

    def tag_many(self, sequences: Iterable[Iterable[Any]]) -> list[list[str]]:
        """Return the most probable labels of each sequence (not one of the original's methods)."""
        labels, X = self._opened().labels, [_tokens(xseq) for xseq in sequences]
        if self.crf is None:
            return [[self._only_label()] * len(tokens) if tokens else [] for tokens in X]
        full = [tokens for tokens in X if tokens]
        found = iter(self.crf.predict(full)) if full else iter(())
        assert labels
        return [next(found).tolist() if tokens else [] for tokens in X]

    def marginals(self, sequences: Iterable[Iterable[Any]]) -> list[list[dict[str, float]]]:
        """Return one dict ``label -> probability`` a token (not one of the original's methods)."""
        labels, X = self.labels(), [_tokens(xseq) for xseq in sequences]
        if self.crf is None:
            return [[{self._only_label(): 1.0} for _ in tokens] for tokens in X]
        full = [tokens for tokens in X if tokens]
        found = iter(self.crf.predict_marginal_dicts(full)) if full else iter(())
        return [
            [{label: p[label] for label in labels} for p in next(found)] if tokens else []
            for tokens in X
        ]

    def probability(self, yseq: Iterable[str]) -> float:
        """Return the probability of a labelling of the sequence."""
        labels, known = list(yseq), frozenset(self._opened().labels)
        if len(labels) != len(self._tokens):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(self._tokens)}, "
                f"|y| = {len(labels)}"
            )
        for label in labels:
            self._check_label(label, known)
        if not labels or self.crf is None:
            return float(bool(labels))
        return math.exp(self.crf.log_probability([self._tokens], [labels])[0])

    def score(self, yseq: Iterable[str]) -> float:
        """Return the sum of a labelling's weights (not one of the original's methods)."""
        model, labels = self._opened(), list(yseq)
        if self.crf is None or self.crf.encoder_ is None or not labels:
            return 0.0
        place = {label: i for i, label in enumerate(model.labels)}
        path = [place[label] for label in labels]
        X = self.crf.encoder_.transform([self._tokens]).X
        score = float((X @ model.state)[np.arange(len(path)), path].sum())
        return score + float(model.transitions[path[:-1], path[1:]].sum())

    def marginal(self, y: str, pos: int) -> float:
        """Return the probability of a label at a position of the sequence."""
        self._check_label(y, frozenset(self._opened().labels))
        if not 0 <= pos < len(self._tokens):
            raise ValueError(f"The position, {pos}, is out of range of {len(self._tokens)}")
        if self._marginals is None:
            self._marginals = self.marginals([self._tokens])[0]
        return self._marginals[pos][y]

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, to standard output if no file is named."""
        lines = dump_lines(self._not_closed(), header_fields(self._data))
        if filename is None:
            sys.stdout.writelines(lines)
            return
        with replacing(filename) as file:
            file.writelines(line.encode() for line in lines)

    def info(self) -> ParsedDump:
        """Return what the model holds."""
        return ParsedDump.of(self._not_closed(), self._data)

    def _keep(self, tokens: Tokens) -> None:
        self._tokens, self._marginals = tokens, None

    def _opened(self) -> CRFsuiteModel:
        if self._model is None:
            raise ValueError("The tagger is not opened")
        return self._model

    def _not_closed(self) -> CRFsuiteModel:
        if self._model is None:
            raise RuntimeError("Tagger is closed")
        return self._model

    def _only_label(self) -> str:
        labels = self._opened().labels
        if not labels:
            raise ValueError("the model was trained without data: it has no label.")
        return labels[0]

    def _check_label(self, label: str, known: frozenset[str]) -> None:
        if label not in known:
            raise RuntimeError(f"Failed to convert into label identifier: {label}")


def _tokens(xseq: Iterable[Any]) -> Tokens:
    """Return the tokens in forms that mean the same to the package."""
    if isinstance(xseq, ItemSequence):
        return list(xseq)
    return [token if isinstance(token, dict) else _listed(token) for token in xseq]


def _listed(token: Any) -> dict[str, float]:
    ((names, _),) = attributes_of([token])
    found: dict[str, float] = {}
    for name in names:
        found[name] = found.get(name, 0.0) + 1.0
    return found
