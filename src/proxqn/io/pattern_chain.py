"""From what Wapiti's and CRF++'s files hold to a fitted chain, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final, final

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import Templates
from proxqn.features.vocabulary import Vocabulary
from proxqn.io.foreign import ForeignFileError
from proxqn.io.imported_chain import imported_chain
from proxqn.io.pattern_model import Blocks, PatternModel
from proxqn.io.pattern_names import Translation

__all__ = ["PLAIN", "chain_of", "pattern_model_of"]

PLAIN: Final = "b"  # what stands for plain transitions where data hold the features themselves


def chain_of(model: PatternModel, path: str | os.PathLike[str] = "the model") -> ChainCRF:
    """Return a fitted chain that gives every labelling the model's score."""
    n_labels, blocks = len(model.labels), model.blocks
    plain = _plain_names(model, path)
    tokens = np.flatnonzero(blocks.of_tokens)
    edges = np.flatnonzero(blocks.of_steps & ~plain)
    if model.templates is not None and not model.templates.edge:
        edges = edges[:0]  # what no pattern makes has no effect
    transitions: Any = model.edge_weights[np.flatnonzero(plain)].sum(axis=0)
    encoder = SequenceEncoder(
        model.templates,
        vocabulary=Vocabulary.from_names([model.names[i] for i in tokens.tolist()]),
        edge_vocabulary=Vocabulary.from_names([model.names[i] for i in edges.tolist()]),
    )
    return imported_chain(
        path,
        model.labels,
        encoder,
        sp.csr_array(model.weights[tokens].T),
        np.asarray(transitions).reshape(n_labels, n_labels),
        sp.csr_array(model.edge_weights[edges].T),
    )


def _plain_names(model: PatternModel, path: str | os.PathLike[str]) -> Any:
    """Return which names stand for every step alike: patterns of pairs without a command."""
    if model.templates is not None:
        bare = {t.text for t in model.templates if t.is_bigram and not t.commands}
        return model.blocks.of_steps & np.array([name in bare for name in model.names], bool)
    wrong = [
        name
        for name, of_steps in zip(model.names, model.blocks.of_steps.tolist(), strict=True)
        if of_steps and name != PLAIN
    ]
    if wrong:
        raise ForeignFileError(
            path,
            f"has no patterns, and observations of steps such as {wrong[0][:40]!r}; expected the "
            f"plain {PLAIN!r} alone. Train with patterns.",
        )
    return model.blocks.of_steps


def pattern_model_of(
    crf: Any, to: Dialect, *, compact: bool, encoder: SequenceEncoder | None = None
) -> PatternModel:
    """Return a fitted chain as a program holds it; refuse weights that it cannot hold.

    Parameters
    ----------
    crf : ChainCRF
    to : Dialect
        The program's.
    compact : bool
        Whether features without a weight are left out.
    encoder : SequenceEncoder, optional
        What names the features; the chain's own by default.
    """
    program = "Wapiti" if to is Dialect.WAPITI else "CRF++"
    _refuse_ends(crf, program)
    encoder = crf.encoder_ if encoder is None else encoder
    if encoder is None or encoder.templates is None:
        raise ValueError(
            f"{program}'s models need feature templates; this model was trained without. Train it "
            "with templates=, on rows of columns."
        )
    translation = Translation(encoder.templates, to)
    lines, plain = _lines(crf, translation)
    found = _Names(translation, f"the model for {program}")
    found.add(crf.coef_, encoder.vocabulary, "u", compact=compact)
    if crf.edge_coef_.shape[1]:
        found.add(crf.edge_coef_, encoder.edge_vocabulary, "b", compact=compact)
    if plain is not None:
        found.add(crf.transitions_.reshape(-1, 1), [plain], "b", compact=False)
    return found.model(Templates.parse("\n".join(lines), dialect=to), crf.classes_)


def _lines(crf: Any, translation: Translation) -> tuple[list[str], str | None]:
    """Return the lines of the templates, and the one whose feature are the plain transitions.

    Chains have transitions, whether or not a template asks for them: so one is added to ask.
    """
    templates = translation.templates
    bare = [template for template in templates if template.is_bigram and not template.commands]
    lines = [line for template in templates for line in translation.line(template)]
    if bare:
        return lines, bare[0].text
    if crf.transitions_.any():
        return [*lines, *translation.plain()], translation.plain()[0]
    return lines, None


def _refuse_ends(crf: Any, program: str) -> None:
    """Refuse weights that no program with patterns has."""
    for name, what, instead in (
        ("intercept_", "at every token", "fit_intercept=False, and the template U"),
        ("start_weights_", "at the first token", "end_weights=False"),
        ("end_weights_", "at the last token", "end_weights=False"),
    ):
        weights = getattr(crf, name)
        if weights.any():
            worst = int(np.argmax(np.abs(weights)))
            raise ValueError(
                f"{program} has no weights of a label {what} ({name}; the largest is "
                f"{weights[worst]:.4g}, of {str(crf.classes_[worst])!r}). Train with {instead}."
            )


@final
class _Names:
    """The names of a program's file, and which columns of the chain's weights are theirs."""

    def __init__(self, translation: Translation, path: str) -> None:
        self._translation, self._path = translation, path
        self._columns: dict[str, dict[str, int]] = {}  # by name: of tokens (u), of steps (b)
        self._sources: dict[str, list[sp.csr_array]] = {"u": [], "b": []}

    def add(self, coef: Any, names: Iterable[str], letter: str, *, compact: bool) -> None:
        """Take in the names of columns, those with weights alone if the file is compact."""
        by_name = sp.csr_array(sp.csr_array(coef).T)
        by_name.eliminate_zeros()
        before = sum(part.shape[0] for part in self._sources[letter])
        self._sources[letter].append(by_name)
        used = np.diff(by_name.indptr) > 0
        for column, (name, has_weights) in enumerate(zip(names, used.tolist(), strict=True)):
            if compact and not has_weights:
                continue
            for one in self._translation.names(name):
                if one[0].lower() in (letter, "*"):
                    self._put(one, letter, before + column)

    def _put(self, name: str, letter: str, column: int) -> None:
        columns = self._columns.setdefault(name, {})
        if letter in columns:
            raise ValueError(
                f"{self._path}: two features would both be called {name!r} there, and have one "
                "weight; rename one of their templates."
            )
        columns[letter] = column

    def model(self, templates: Templates, classes: Any) -> PatternModel:
        """Return the contents of the file."""
        letters = np.array([name[0].lower() for name in self._columns], "U1")
        n_labels = len(classes)
        blocks = Blocks.behind_each_other(n_labels, letters != "b", letters != "u")
        weights = self._rows("u", n_labels), self._rows("b", n_labels**2)
        labels = [str(label) for label in classes.tolist()]
        return PatternModel(templates, labels, list(self._columns), blocks, *weights)

    def _rows(self, letter: str, width: int) -> sp.csr_array:
        """Return the weights of all names, a row each, empty where they have none of the kind."""
        parts = [*self._sources[letter], sp.csr_array((1, width))]
        source: Any = sp.csr_array(sp.vstack(parts, format="csr"))
        rows = [columns.get(letter, -1) for columns in self._columns.values()]
        return sp.csr_array(source[np.array(rows, np.int64) % source.shape[0]])
