"""From sequences in any form to sparse data: tokens × features, and the sequences' lengths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proxqn.features.name_finder import NameFinder
from proxqn.features.named_entries import FoundEntries, MatrixBuilder
from proxqn.features.sequence_forms import Stretch, stretches
from proxqn.features.templates import Templates
from proxqn.features.vocabulary import Vocabulary, VocabularyBuilder
from proxqn.features.weight_pairs import WeightPairs

__all__ = ["EncodedSequences", "SequenceEncoder"]


@dataclass(frozen=True, slots=True)
class EncodedSequences:
    """Sequences as numbers.

    Attributes
    ----------
    X : csr_array of shape (n_tokens, n_features)
        The tokens of all sequences, one after the other.
    lengths : int64 array of shape (n_sequences,)
        Tokens of each sequence; they sum to n_tokens.
    edges : csr_array of shape (n_tokens, n_edge_features), or None
        Row t holds what is observed on the edge from token t−1 to t (``B`` templates with a
        command); the rows of first tokens are empty.  None where no template asks for it.
    labels : list of lists of str, or None
        Where the input carries labels, as records from files do.
    weights : float64 array of shape (n_sequences,), or None
        Where the input carries weights other than 1.
    n_unseen : int
        Feature occurrences left out because training did not have the feature.
    encoder : SequenceEncoder or None
        What numbered them: estimators keep it, for new sequences and for names.
    pairs : WeightPairs or None
        Which weights a model of them has, whatever its own ``pairs`` says.
    """

    X: sparse.csr_array
    lengths: NDArray[np.int64]
    edges: sparse.csr_array | None
    labels: list[list[str]] | None
    weights: NDArray[np.float64] | None
    n_unseen: int
    encoder: SequenceEncoder | None = field(default=None, repr=False, compare=False)
    pairs: WeightPairs | None = field(default=None, repr=False, compare=False)


class SequenceEncoder:
    """Turn sequences into sparse data, and remember the features for prediction.

    The sequences may be any of:

    - lists of lists of dicts, of lists of strings or of strings (see `proxqn.features.items`);
    - rows of columns with ``templates`` (``sequence[t][c]`` is column c of token t);
    - records from the file readers (`proxqn.io.readers`), as a stream;
    - a list of arrays or sparse matrices, one row a token: features ``x0``, ``x1``, …;
    - a pandas DataFrame with ``sequence_id`` naming the column that tells sequences apart: the
      other columns are features, or the columns the templates read.

    Parameters
    ----------
    templates : Templates, optional
        Feature templates, for columns.
    min_freq : int, default=1
        Features that occur fewer times in the training data are left out.
    sequence_id : str, optional
        Name of the DataFrame column with the sequences' identity.
    vocabulary, edge_vocabulary : Vocabulary, optional
        Fitted vocabularies, as from a model file; `fit_transform` sets them otherwise.
    chunk_tokens : int, default=131072
        Tokens worked on at once; the result does not depend on it.

    Examples
    --------
    >>> encoder = SequenceEncoder()
    >>> encoded = encoder.fit_transform([[{"word": "the"}, {"word": "dog", "len": 3}]])
    >>> encoded.X.toarray().tolist(), encoded.lengths.tolist()
    ([[1.0, 0.0, 0.0], [0.0, 1.0, 3.0]], [2])
    >>> encoder.vocabulary.names()
    ['word:the', 'word:dog', 'len']
    >>> encoder.transform([[{"word": "the"}, {"word": "cat"}]]).n_unseen
    1
    """

    # Made when it is first needed, and of what; not pickled.
    _finders: tuple[tuple[tuple[Any, ...], NameFinder], ...] = ()  # the last two, and what of

    def __init__(
        self,
        templates: Templates | None = None,
        *,
        min_freq: int = 1,
        sequence_id: str | None = None,
        vocabulary: Vocabulary | None = None,
        edge_vocabulary: Vocabulary | None = None,
        chunk_tokens: int = 1 << 17,
    ) -> None:
        self.templates = templates
        self.min_freq = min_freq
        self.sequence_id = sequence_id
        self.chunk_tokens = chunk_tokens
        self._vocabulary = vocabulary
        self._edge_vocabulary = edge_vocabulary

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_finders"}

    @property
    def vocabulary(self) -> Vocabulary:
        """The features of tokens, in column order."""
        return _fitted(self._vocabulary)

    @property
    def edge_vocabulary(self) -> Vocabulary:
        """The features of edges, in column order; empty without such templates."""
        return _fitted(self._edge_vocabulary)

    def with_settings_of(self, other: SequenceEncoder) -> SequenceEncoder:
        """Return an encoder with this one's vocabularies that reads as the other does."""
        return SequenceEncoder(
            other.templates,
            min_freq=other.min_freq,
            sequence_id=other.sequence_id,
            vocabulary=self.vocabulary,
            edge_vocabulary=self.edge_vocabulary,
            chunk_tokens=other.chunk_tokens,
        )

    def fit(self, sequences: Any) -> Self:
        """Learn the vocabulary only."""
        self.fit_transform(sequences)
        return self

    def fit_transform(self, sequences: Any) -> EncodedSequences:
        """Learn the vocabulary and encode the same sequences, in one pass over them."""
        return self._learn(sequences, VocabularyBuilder(), VocabularyBuilder())

    def grow_transform(self, sequences: Any) -> EncodedSequences:
        """Encode sequences and learn their new features; known ones keep their columns.

        Examples
        --------
        >>> encoder = SequenceEncoder().fit([["the", "dog"]])
        >>> encoder.grow_transform([["a", "dog"]]).X.toarray().tolist()
        [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        >>> encoder.vocabulary.most_common(2)
        [('dog', 2), ('the', 1)]
        """
        known = VocabularyBuilder(self.vocabulary), VocabularyBuilder(self.edge_vocabulary)
        return self._learn(sequences, *known)

    def _learn(self, sequences: Any, *builders: VocabularyBuilder) -> EncodedSequences:
        finder = NameFinder(self.templates, *(builder.kernel for builder in builders))
        collected = _Collected(builders[0], builders[1], has_edges=finder.has_edges)
        collected.extend(self._stretches(sequences, finder))
        if not collected.lengths:
            msg = "expected at least one sequence to fit, got none"
            raise ValueError(msg)
        self._vocabulary, token_columns = builders[0].freeze(self.min_freq)
        self._edge_vocabulary, edge_columns = builders[1].freeze(self.min_freq)
        return collected.finish(self, token_columns, edge_columns)

    def transform(self, sequences: Any) -> EncodedSequences:
        """Encode sequences with the features known from training; others are counted."""
        finder = self._known()
        return self._found(self._stretches(sequences, finder), finder)

    def find(self, sequences: list[Any], among: NDArray[np.int32]) -> FoundEntries | None:
        """Give the features of sequences without making a matrix, in some of the columns only.

        The columns found are places in ``among``.

        A sparse model has weights for few features: their names fit the cache, all names do not.
        What was made of an array of columns serves as long as the same one is given.

        None where they are not of the usual forms, have edges, or are wrong: see `transform`.

        Examples
        --------
        >>> encoder = SequenceEncoder().fit([["the", "dog"]])
        >>> encoder.find([["the", "dog"]], among=np.array([1], dtype=np.int32)).columns
        array([0], dtype=int32)
        """
        finder = self._known(among)
        if finder.has_edges or self.sequence_id is not None:
            return None
        found = finder.find(sequences, None)
        return None if found is None else found[0]

    def transform_stream(self, sequences: Any) -> Iterator[EncodedSequences]:
        """Encode a stream piece by piece (about ``chunk_tokens`` tokens each)."""
        finder = self._known()
        for stretch in self._stretches(sequences, finder):
            yield self._found([stretch], finder)

    def _found(self, parts: Iterable[Stretch], finder: NameFinder) -> EncodedSequences:
        tokens, edges = self.vocabulary, self.edge_vocabulary
        collected = _Collected(tokens, edges, has_edges=finder.has_edges)
        collected.extend(parts)
        return collected.finish(self)

    def _known(self, among: NDArray[np.int32] | None = None) -> NameFinder:
        made_of = (self.templates, self.vocabulary, self.edge_vocabulary, among)
        for known, finder in self._finders:
            if all(a is b for a, b in zip(known, made_of, strict=True)):
                return finder
        vocabulary = self.vocabulary if among is None else self.vocabulary.subset(among)
        kernels = vocabulary.index.kernel, self.edge_vocabulary.index.kernel
        finder = NameFinder(self.templates, *kernels)
        self._finders = ((made_of, finder), *self._finders[:1])
        return finder

    def _stretches(self, sequences: Any, finder: NameFinder) -> Iterator[Stretch]:
        return stretches(
            sequences,
            templates=self.templates,
            sequence_id=self.sequence_id,
            chunk_tokens=self.chunk_tokens,
            finder=finder,
        )


class _Collected:
    """What has been encoded so far."""

    def __init__(
        self,
        vocabulary: VocabularyBuilder | Vocabulary,
        edge_vocabulary: VocabularyBuilder | Vocabulary,
        *,
        has_edges: bool,
    ) -> None:
        self.tokens = MatrixBuilder(vocabulary)
        self.edges = MatrixBuilder(edge_vocabulary) if has_edges else None
        self.lengths: list[int] = []
        self.labels: list[list[str]] = []
        self.weights: list[float] = []

    def extend(self, parts: Iterable[Stretch]) -> None:
        for part in parts:
            self.tokens.append(part.tokens)
            if self.edges is not None and part.edges is not None:
                self.edges.append(part.edges)
            self.lengths += part.lengths.tolist()
            self.labels += part.labels
            self.weights += part.weights

    def finish(
        self,
        encoder: SequenceEncoder,
        token_columns: NDArray[np.int64] | None = None,
        edge_columns: NDArray[np.int64] | None = None,
    ) -> EncodedSequences:
        if self.labels and len(self.labels) != len(self.lengths):
            msg = (
                f"expected labels for all sequences or for none: {len(self.labels)} of "
                f"{len(self.lengths)} have them"
            )
            raise ValueError(msg)
        edges, n_unseen = None, self.tokens.n_unseen
        if self.edges is not None:
            n_unseen += self.edges.n_unseen
            edges = self.edges.finish(len(encoder.edge_vocabulary), edge_columns)
        weighted = any(weight != 1.0 for weight in self.weights)
        return EncodedSequences(
            X=self.tokens.finish(len(encoder.vocabulary), token_columns),
            lengths=np.array(self.lengths, np.int64),
            edges=edges,
            labels=self.labels or None,
            weights=np.array(self.weights) if weighted else None,
            n_unseen=n_unseen,
            encoder=encoder,
        )


def _fitted(vocabulary: Vocabulary | None) -> Vocabulary:
    if vocabulary is None:
        msg = "this encoder has no vocabulary yet; call fit_transform first"
        raise ValueError(msg)
    return vocabulary
