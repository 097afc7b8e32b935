"""What a fitted chain says of new sequences: labels, probabilities, scores."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.base import resolve_n_jobs
from proxqn.estimators.chain_crf.training import with_edges
from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.class_weight import read_sample_weight
from proxqn.estimators.inference.chain import ChainInference
from proxqn.estimators.inference.constraints import Constraints, read_forced
from proxqn.estimators.inference.tagger import NamedTokens, tagger_of
from proxqn.estimators.input import named as named_input
from proxqn.estimators.input.labels import known_labels, read_given, read_labels
from proxqn.estimators.input.tokens import Tokens, cut
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.vocabulary import Vocabulary
from proxqn.problem import Floats


class ChainPredictor(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What can be asked of a fitted chain; ``fit``, in ``estimator.py``, sets the attributes."""

    coef_: sp.csr_array
    transitions_: Floats
    start_weights_: Floats
    end_weights_: Floats
    intercept_: Floats
    edge_coef_: sp.csr_array
    classes_: NDArray[Any]
    encoder_: SequenceEncoder | None
    n_jobs: int | None

    def predict(
        self,
        X: Any,
        lengths: Any = None,
        *,
        edges: Any = None,
        constraints: Constraints | None = None,
        forced: Any = None,
    ) -> NDArray[Any] | list[NDArray[Any]]:
        """Return the most probable labelling of every sequence (Viterbi).

        Parameters
        ----------
        X, lengths, edges
            As in :meth:`fit`.
        constraints : Constraints, optional
            Rules the labelling must keep, such as
            ``Constraints.from_scheme(crf.classes_, "BIO")``.
        forced : array of shape (n_tokens,), or list of lists, optional
            Labels known beforehand, in the form of X; None for the tokens that are free.

        Returns
        -------
        array of shape (n_tokens,), or list of arrays
            Labels in the form of X: flat for a matrix, one array a sequence for a list; an empty
            one for an empty sequence.
        """
        if all(option is None for option in (lengths, edges, constraints, forced)):
            at_once = self._read_names(X)
            if at_once is not None:
                return cut(self.classes_[at_once.best_labels()], at_once.lengths)
        tokens, inference = self._prepare(X, lengths, edges, empty=True)
        known = None if forced is None else read_forced(forced, tokens, self.classes_)
        labels = inference.best_labels(tokens, constraints, known)
        return tokens.in_form_of_input(self.classes_[labels])

    def predict_n_best(
        self, X: Any, lengths: Any = None, *, edges: Any = None, n: int = 5
    ) -> list[list[tuple[NDArray[Any], float]]]:
        """Return the n most probable labellings of every sequence, with their probabilities.

        Parameters
        ----------
        X, lengths, edges
            As in :meth:`fit`.
        n : int
            How many; fewer where a sequence has fewer labellings.

        Returns
        -------
        list of lists of (labels, probability)
            One list a sequence, the most probable first.
        """
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be an integer, 1 or above, got {n!r}.")
        tokens, inference = self._prepare(X, lengths, edges, empty=True)
        found = inference.n_best(tokens, int(n))
        nothing = np.zeros((1, 0), dtype=np.int64), np.zeros(1)  # one labelling, and it is certain
        return [
            self._named(*(next(found) if size else nothing))
            for size in tokens.given_lengths.tolist()
        ]

    def predict_marginals(
        self, X: Any, lengths: Any = None, *, edges: Any = None
    ) -> Floats | list[Floats]:
        """Return ``P(y_t = y | x)`` for every token t and label y.

        Parameters
        ----------
        X, lengths, edges
            As in :meth:`fit`.

        Returns
        -------
        array of shape (n_tokens, n_classes), or list of arrays
            Columns in the order of ``classes_``; every row sums to 1.
        """
        if lengths is None and edges is None:
            at_once = self._read_names(X)
            if at_once is not None:
                return cut(at_once.marginals(), at_once.lengths)
        tokens, inference = self._prepare(X, lengths, edges, empty=True)
        return tokens.in_form_of_input(inference.marginals(tokens))

    def predict_marginal_dicts(
        self, X: Any, lengths: Any = None, *, edges: Any = None
    ) -> list[list[dict[Any, float]]]:
        """Return :meth:`predict_marginals` as sklearn-crfsuite does.

        Parameters
        ----------
        X, lengths, edges
            As in :meth:`fit`.

        Returns
        -------
        list of lists of dicts
            For every sequence, one dict ``label -> probability`` a token.
        """
        at_once = self._read_names(X) if lengths is None and edges is None else None
        if at_once is not None:
            marginals, sizes = at_once.marginals(), at_once.lengths
        else:
            tokens, inference = self._prepare(X, lengths, edges, empty=True)
            marginals, sizes = inference.marginals(tokens), tokens.given_lengths.tolist()
        labels = self.classes_.tolist()
        dicts = iter([dict(zip(labels, row, strict=True)) for row in marginals.tolist()])
        return [list(islice(dicts, size)) for size in sizes]

    def count_unseen(self, X: Any) -> int:
        """Count the occurrences of features that were not there at fit; predictions ignore them.

        Parameters
        ----------
        X : sequences of named features
            As in :meth:`fit`.
        """
        check_is_fitted(self)
        return named_input.count_unseen(self, X)

    @property
    def vocabulary_(self) -> Vocabulary:
        """The named features, in the order of the columns of ``coef_``."""
        if getattr(self, "encoder_", None) is None:
            raise AttributeError("vocabulary_ is there after a fit to named features only.")
        return self.encoder_.vocabulary  # type: ignore[union-attr]

    def log_probability(self, X: Any, y: Any, lengths: Any = None, *, edges: Any = None) -> Floats:
        """Return ``log P(y_i | x_i)`` of every sequence i with the given labels.

        Where labels are missing (None) or one of several (a set), it is the log-probability of all
        labellings that agree with them.

        Parameters
        ----------
        X, y, lengths, edges
            As in :meth:`fit`; only labels that were there at fit.

        Returns
        -------
        array of shape (n_sequences,)
            Their negative sum is the unpenalised loss of this data.
        """
        tokens, inference = self._prepare(X, lengths, edges)
        return inference.log_probabilities(tokens, read_given(y, tokens).numbered_in(self.classes_))

    def score(
        self,
        X: Any,
        y: Any,
        lengths: Any = None,
        sample_weight: Any = None,
        *,
        edges: Any = None,
    ) -> float:
        """Return the fraction of tokens whose predicted label is right.

        Parameters
        ----------
        X, y, lengths, edges
            As in :meth:`fit`; only labels that were there at fit.
        sample_weight : array of shape (n_sequences,), optional
            Weights of the sequences' tokens.
        """
        tokens, inference = self._prepare(X, lengths, edges)
        labels = known_labels(read_labels(y, tokens), self.classes_)
        weights = read_sample_weight(sample_weight, tokens)
        right = inference.best_labels(tokens) == labels
        return float(
            np.average(right, weights=None if weights is None else weights.repeat(tokens.lengths))
        )

    def held_out(
        self, X: Any, y: Any = None, lengths: Any = None, *, edges: Any = None
    ) -> tuple[Any, Any]:
        """Return labelled data, read once, to score any number of models with these columns.

        Parameters
        ----------
        X, y, lengths, edges
            As in :meth:`fit`; only labels that were there at fit.

        Returns
        -------
        X, y
            For ``predict`` and scorers: ``y`` is a list with an array a sequence, or flat.
        """
        if y is None and named_input.is_named(X, getattr(self, "sequence_id", None)):
            X = self.encoder_.transform(X) if self.encoder_ is not None else X
        y = getattr(X, "labels", None) if y is None else y
        tokens, _ = self._prepare(X, lengths, edges)
        labels = self.classes_[known_labels(read_labels(y, tokens), self.classes_)]
        tokens = replace(tokens, listed=tokens.listed or not tokens.alone)
        return tokens, tokens.in_form_of_input(labels)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _named(self, paths: NDArray[np.int64], log_p: Floats) -> list[tuple[NDArray[Any], float]]:
        return [
            (self.classes_[path], float(p)) for path, p in zip(paths, np.exp(log_p), strict=True)
        ]

    @property
    def _n_edge_features(self) -> int:
        return int(self.edge_coef_.shape[1])

    def _prepare(
        self, X: Any, lengths: Any, edges: Any, *, empty: bool = False
    ) -> tuple[Tokens, ChainInference]:
        if not hasattr(self, "coef_"):  # the check itself takes longer than to label a sentence
            check_is_fitted(self)
        tokens = named_input.read_new(self, X, lengths, empty=empty)
        if len(tokens.lengths):
            tokens = with_edges(tokens, edges, self._n_edge_features)
        weights, n_jobs = self._weights().without_intercept(), resolve_n_jobs(self.n_jobs)
        return tokens, ChainInference(weights, n_jobs, tagger_of(self, weights))

    def _read_names(self, X: Any) -> NamedTokens | None:
        """Read named features without a matrix in between, which takes longer than a sentence.

        None for what has to be read, or refused, in the general way.
        """
        encoder = getattr(self, "encoder_", None)
        if encoder is None or self._n_edge_features or not isinstance(X, list):
            return None
        if not named_input.is_named(X, None):
            return None
        weights, n_jobs = self._weights().without_intercept(), resolve_n_jobs(self.n_jobs)
        tagger = tagger_of(self, weights)
        found = encoder.find(X, tagger.used)
        if found is None or not all(X):
            return None
        return NamedTokens(tagger, found, list(map(len, X)), n_jobs)

    def _weights(self) -> ChainWeights:
        return ChainWeights(
            self.coef_,
            self.transitions_,
            self.start_weights_,
            self.end_weights_,
            self.edge_coef_,
            self.intercept_,
        )
