"""Sparse linear-chain conditional random fields as a scikit-learn estimator."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from proxqn.estimators import fitting as _fitting
from proxqn.estimators.chain_problem import chain_loss
from proxqn.estimators.chain_weights import ChainWeights, Loss
from proxqn.estimators.class_weight import combined_weights
from proxqn.estimators.inference.chain import ChainInference
from proxqn.estimators.inference.constraints import Constraints, read_forced
from proxqn.estimators.inference.tagger import tagger_of
from proxqn.estimators.input import named as named_input
from proxqn.estimators.input import sequences as sequence_input
from proxqn.estimators.input.edges import with_edges
from proxqn.estimators.input.labels import read_given
from proxqn.estimators.input.sequences import Tokens
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.features.vocabulary import Vocabulary
from proxqn.losses.chain.oracle import Pairs
from proxqn.problem import Floats, SparseVector
from proxqn.solvers.prox_qn import ProxQN


@final
class ChainCRF(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear-chain conditional random field with an ℓ1 penalty and a certificate.

    Minimises ``Σ_i -log P(y_i|x_i) + lam ‖w‖₁ + (l2/2) ‖w‖²`` over the sequences i, where
    ``P(y|x) ∝ exp(Σ_t coef_[y_t]·x_t + Σ_t transitions_[y_t, y_{t+1}])``; with ``edges``, features
    of the steps between tokens, transitions depend on the observation too. Sequences have no
    intercept: add a feature that is always 1 if the labels' frequencies matter. All weights are
    penalised, so the fit ends with a duality gap: ``objective_ - gap_`` is a proven lower bound of
    the optimum.

    Parameters
    ----------
    lam : float, default=1.0
        λ, the strength of the ℓ1 penalty against the *sum* of the sequences' losses (CRFsuite's
        ``c1``). Larger means fewer nonzero weights.
    l2 : float, default=0.0
        Strength of an additional ridge penalty; twice CRFsuite's ``c2``.
    pairs : {"all", "observed"}, default="all"
        Give a weight to every (label, feature) and (label, label) pair, or only to those that
        occur in the training data: faster and smaller for text, where most never do. CRFsuite's
        ``feature.possible_states``.
    transition_pairs : {"all", "observed"}, optional
        The same for (label, label) pairs alone, those of edge features included, where they shall
        differ from ``pairs``: CRFsuite's ``feature.possible_transitions``.
    end_weights : bool or None, default=None
        Give each label a weight for beginning and one for ending a sequence. None gives them only
        where every sequence has one token, as with scikit-learn's usual X: there the weight for
        beginning, ``start_weights_``, is the intercept.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, or weights in inverse proportion to the labels' frequencies. The loss has
        one term a sequence, so each sequence gets the mean weight of its tokens, times its
        ``sample_weight``.
    templates : Templates, str or None, default=None
        Feature templates (CRF++'s language) for sequences of rows of columns; text is parsed, a
        file is read with ``Templates.from_file``.
    min_freq : int, default=1
        Named features that occur fewer times in the training data are left out.
    sequence_id : str or None, default=None
        The DataFrame column that tells sequences apart; the others are features.
    solver : str or ProxQN, default="prox-qn"
        The solver, or its settings, such as ``ProxQN.paper()``.
    tol : float, default=1e-4
        Stop when the duality gap is at most this fraction of the objective.
    max_iter : int, default=1000
        At most this many iterations; a ``ConvergenceWarning`` tells the gap reached.
    n_jobs : int, optional
        Threads; -1 for all processors. The result does not depend on it. The steps of the solvers
        "sgd" and "bcd" follow one another and use one thread.
    verbose : int, default=0
        1 shows progress (a live table on a terminal, else a line now and then), 2 every iteration.
    random_state : int, RandomState instance or None, default=None
        Seeds the order in which coordinate descent visits the weights. None is repeatable as well.
    warm_start : bool, default=False
        Start from the weights of the previous fit, for another ``lam`` or for other data. Labels
        and named features known before are kept, new ones are added. The fit minimises the loss of
        the data it is given: pass old data with the new for a model of both.

    Attributes
    ----------
    coef_ : csr_array of shape (n_classes, n_features)
        Weights of labels and features; sparse.
    transitions_ : array of shape (n_classes, n_classes)
        Weight of a label (row) followed by another (column).
    start_weights_, end_weights_ : array of shape (n_classes,)
        Weight of a label at the first and at the last token; zero without ``end_weights``. Of
        sequences of one token only the first has a weight.
    edge_coef_ : csr_array of shape (n_classes², n_edge_features)
        Weights of edge features: row ``i * n_classes + j`` for label i followed by label j.
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    objective_ : float
        The penalised loss reached.
    gap_ : float
        At most this much above the optimum; infinite where no bound is known, as with missing
        labels.
    n_iter_ : int
        Iterations made.
    trace_ : Trace
        One row an iteration; ``trace_.to_pandas()``.
    status_ : Status
        Why the fit stopped; its ``value`` is a sentence.
    result_ : scipy.optimize.OptimizeResult
        All that the solver returned.
    n_parameters_ : int
        How many weights the model could have used.
    n_features_in_ : int
        Columns of ``coef_``.
    vocabulary_ : Vocabulary
        Names and columns of the features, if X had named features; can be searched.
    encoder_ : SequenceEncoder or None
        What numbers them; its ``edge_vocabulary`` has the edge features of ``B`` templates.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X was a DataFrame.

    Examples
    --------
    Two sequences, of three and two tokens:

    >>> import numpy as np
    >>> from proxqn import ChainCRF
    >>> X = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]])
    >>> y = ["noun", "verb", "noun", "verb", "noun"]
    >>> crf = ChainCRF(lam=0.1).fit(X, y, lengths=[3, 2])
    >>> crf.predict(X[:2], lengths=[2])
    array(['noun', 'verb'], dtype='<U4')
    >>> bool(crf.gap_ <= 1e-4 * crf.objective_)
    True

    Named features, as sklearn-crfsuite takes them:

    >>> X = [[{"word": "dogs"}, {"word": "bark"}], [{"word": "cats"}, {"word": "purr"}]]
    >>> crf = ChainCRF(lam=0.1).fit(X, [["noun", "verb"], ["noun", "verb"]])
    >>> crf.predict([[{"word": "cats"}, {"word": "bark"}]])
    [array(['noun', 'verb'], dtype='<U4')]
    >>> crf.vocabulary_
    Vocabulary(4 features: 'word:dogs', 'word:bark', 'word:cats', …)

    Transitions that look at the observation: after a comma the label changes, else it stays.

    >>> comma = np.array([[0], [0], [1], [0], [1], [0]])  # of the step into each token
    >>> crf = ChainCRF(lam=0.1).fit(np.ones((6, 1)), list("AABBAA"), lengths=[6], edges=comma)
    >>> new, forced = [[0], [1], [0], [1]], ["B", None, None, None]
    >>> crf.predict(np.ones((4, 1)), lengths=[4], edges=new, forced=forced).tolist()
    ['B', 'A', 'A', 'B']

    Some labels missing, or known to be one of a few:

    >>> y = ["noun", "verb", None, {"verb", "noun"}, "noun"]
    >>> crf = ChainCRF(lam=0.1).fit([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], y, lengths=[3, 2])
    >>> crf.gap_, crf.status_.name  # that loss is not convex: no certificate
    (inf, 'STATIONARY')
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        l2: float = 0.0,
        pairs: Literal["all", "observed"] = "all",
        transition_pairs: Literal["all", "observed"] | None = None,
        end_weights: bool | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        templates: Templates | str | None = None,
        min_freq: int = 1,
        sequence_id: str | None = None,
        solver: str | ProxQN = "prox-qn",
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.lam = lam
        self.l2 = l2
        self.pairs = pairs
        self.transition_pairs = transition_pairs
        self.end_weights = end_weights
        self.class_weight = class_weight
        self.templates = templates
        self.min_freq = min_freq
        self.sequence_id = sequence_id
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.warm_start = warm_start

    def fit(
        self,
        X: Any,
        y: Any = None,
        lengths: Any = None,
        sample_weight: Any = None,
        *,
        edges: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : sequences in one of these forms
            - an array or sparse matrix of shape (n_tokens, n_features), the tokens of all sequences
              one after the other; a CSR matrix is not copied;
            - a list of such matrices, one a sequence;
            - a list of sequences whose tokens are dicts (as in sklearn-crfsuite), strings or lists
              of strings; with ``templates``, of rows of columns;
            - a DataFrame of numbers, or with the column ``sequence_id`` and others of any kind;
            - records from `proxqn.io.readers`, a list or a stream.
        y : array of shape (n_tokens,), or list of lists
            The label of every token: flat for a matrix or a DataFrame, a list a sequence for lists.
            Records bring their own. None where the label is not known, a set where it is one of a
            few: the loss is then that of all labellings that agree. It is not convex, so the fit
            ends at a stationary point, without a certificate: ``gap_`` is infinite.
        lengths : array of int of shape (n_sequences,), optional
            For a matrix: tokens of each sequence. Without it every row is a sequence of its own.
        sample_weight : array of shape (n_sequences,), optional
            Factors of the sequences' losses: 2 counts a sequence twice, 0 leaves it out.
        edges : array or sparse matrix of shape (n_tokens, n_edge_features), or list, optional
            Features of the step from the token before into each token, which get weights for pairs
            of labels; the rows of first tokens are not used. ``B`` templates with a command
            (``B00:%x[0,1]``) make them too.

        Returns
        -------
        ChainCRF
            Itself. Ctrl-C ends the fit at the last accepted iterate, with a warning.
        """
        _fitting.check_settings(self)
        pairs = _as_pairs("pairs", self.pairs)
        steps = self.transition_pairs
        transition_pairs = None if steps is None else _as_pairs("transition_pairs", steps)
        goes_on = self.warm_start and hasattr(self, "coef_")
        known = self.classes_ if goes_on else None
        data = named_input.read_training(self, X, y, lengths, sample_weight, goes_on=goes_on)
        tokens = with_edges(data.tokens, edges, self._n_edge_features if goes_on else None)
        given = read_given(data.y, tokens)
        classes = _all_classes(given.names(), known)
        labels = given.numbered(classes)
        weights = combined_weights(
            sequence_input.read_sample_weight(data.sample_weight, tokens),
            self.class_weight,
            given,
            tokens.lengths,
        )
        if weights is not None and not weights.all():
            keep = weights > 0
            labels = labels.take(np.repeat(keep, tokens.lengths))
            tokens, weights = tokens.take(keep), weights[keep]
        sequence_input.check_several_classes(labels, classes)
        oracle = chain_loss(
            tokens,
            labels,
            n_labels=len(classes),
            end_weights=tokens.alone if self.end_weights is None else self.end_weights,
            pairs=pairs,
            transition_pairs=transition_pairs,
            sample_weight=weights,
            n_jobs=_fitting.resolve_n_jobs(self.n_jobs),
        )
        start = SparseVector.empty()
        if known is not None:
            n_edges = 0 if tokens.edges is None else tokens.edges.shape[1]
            old = self._weights().widened(tokens.X.shape[1], n_edges)
            start = old.onto(oracle, known, classes)
        fitted = _Fitted(oracle, classes, tokens.X.shape[1], data.encoder)
        result = _fitting.solve(self, oracle, start, partial(self._at, fitted))
        self._keep(result, fitted)
        return self

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
            Labels in the form of X: flat for a matrix, one array a sequence for a list.
        """
        if all(option is None for option in (lengths, edges, constraints, forced)):
            at_once = self._predict_names(X)
            if at_once is not None:
                return at_once
        tokens, inference = self._prepare(X, lengths, edges)
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
        tokens, inference = self._prepare(X, lengths, edges)
        return [
            [(self.classes_[path], float(p)) for path, p in zip(paths, np.exp(log_p), strict=True)]
            for paths, log_p in inference.n_best(tokens, int(n))
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
        tokens, inference = self._prepare(X, lengths, edges)
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
        tokens, inference = self._prepare(X, lengths, edges)
        labels, rows = self.classes_.tolist(), inference.marginals(tokens).tolist()
        dicts = iter([dict(zip(labels, row, strict=True)) for row in rows])
        return [list(islice(dicts, length)) for length in tokens.lengths.tolist()]

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
        return inference.log_probabilities(tokens, read_given(y, tokens).numbered(self.classes_))

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
        labels = sequence_input.known_labels(sequence_input.read_labels(y, tokens), self.classes_)
        weights = sequence_input.read_sample_weight(sample_weight, tokens)
        right = inference.best_labels(tokens) == labels
        return float(
            np.average(right, weights=None if weights is None else weights.repeat(tokens.lengths))
        )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_edge_features(self) -> int:
        return int(self.edge_coef_.shape[1])

    def _prepare(self, X: Any, lengths: Any, edges: Any) -> tuple[Tokens, ChainInference]:
        if not hasattr(self, "coef_"):  # the check itself takes longer than to label a sentence
            check_is_fitted(self)
        read = named_input.read_new(self, X, lengths)
        tokens = with_edges(read, edges, self._n_edge_features)
        weights, n_jobs = self._weights(), _fitting.resolve_n_jobs(self.n_jobs)
        return tokens, ChainInference(weights, n_jobs, tagger_of(self, weights))

    def _predict_names(self, X: Any) -> list[NDArray[Any]] | None:
        """Label named features without a matrix in between, which takes longer than a sentence.

        None for what has to be read, or refused, in the general way.
        """
        encoder = getattr(self, "encoder_", None)
        if encoder is None or self._n_edge_features or not isinstance(X, list):
            return None
        if not named_input.is_named(X, None):
            return None
        weights, n_jobs = self._weights(), _fitting.resolve_n_jobs(self.n_jobs)
        tagger = tagger_of(self, weights)
        found = encoder.find(X, tagger.used)
        if found is None or not all(X):
            return None
        lengths = list(map(len, X))
        entries = found.start, found.columns, found.values
        labels = tagger.tag_used(*entries, np.array(lengths), n_jobs)
        return sequence_input.cut(self.classes_[labels], lengths)

    def _weights(self) -> ChainWeights:
        return ChainWeights(
            self.coef_, self.transitions_, self.start_weights_, self.end_weights_, self.edge_coef_
        )

    def _at(self, fitted: _Fitted, weights: SparseVector) -> ChainCRF:
        """Return a copy with the weights of an iterate, good for predictions."""
        model = copy(self)
        model._keep_weights(fitted, weights)
        return model

    def _keep_weights(self, fitted: _Fitted, weights: SparseVector) -> None:
        found = ChainWeights.from_oracle(fitted.oracle, weights, fitted.n_features)
        self.coef_, self.transitions_ = found.coef, found.transitions
        self.start_weights_, self.end_weights_ = found.start, found.end
        self.edge_coef_ = found.edges
        self.classes_: NDArray[Any] = fitted.classes
        self.n_features_in_ = fitted.n_features
        self.encoder_: SequenceEncoder | None = fitted.encoder
        if fitted.encoder is not None:
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to a matrix

    def _keep(self, result: Any, fitted: _Fitted) -> None:
        """Set the fitted attributes."""
        weights = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
        self._keep_weights(fitted, weights)
        self.objective_: float = result.fun
        self.gap_: float = result.gap
        self.n_iter_: int = result.nit
        self.trace_ = result.trace
        self.status_ = result.status
        self.n_parameters_ = fitted.oracle.n_parameters
        self.result_ = result


@final
@dataclass(frozen=True)
class _Fitted:
    """What weights mean: the oracle that numbers them, labels and features."""

    oracle: Loss
    classes: NDArray[Any]  # [L]
    n_features: int
    encoder: SequenceEncoder | None


def _as_pairs(name: str, pairs: str) -> Pairs:
    try:
        return Pairs(pairs)
    except ValueError:
        raise ValueError(f"{name} must be 'all' or 'observed', got {pairs!r}.") from None


def _all_classes(labels: NDArray[Any], known: NDArray[Any] | None) -> NDArray[Any]:
    """Return the sorted distinct labels, with those of a previous fit that goes on."""
    return np.unique(labels) if known is None else np.union1d(labels, known)
