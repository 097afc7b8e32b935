"""Sparse linear-chain conditional random fields for scikit-learn: parameters and fit."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from proxqn.estimators.base import (
    all_or_nothing,
    check_settings,
    coefficients_of,
    keep_result,
    pickled,
    resolve_n_jobs,
    solve,
    with_defaults,
)
from proxqn.estimators.callbacks import ModelWatcher
from proxqn.estimators.chain_crf import training
from proxqn.estimators.chain_crf.fitted import FittedChain
from proxqn.estimators.chain_crf.problem import ChainPenalty, ChainProblem, Structure
from proxqn.estimators.chain_weights import ChainCoefficients
from proxqn.estimators.early_stopping import PATIENCE, early_stopping
from proxqn.estimators.stated import HeldSequences, Stated
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.losses.chain.oracle import Pairs
from proxqn.path import lambda_max
from proxqn.problem import Floats, SparseVector
from proxqn.run.watch import Callback
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.standing import Stop


@final
class ChainCRF(FittedChain):
    """Linear-chain conditional random field with an ℓ1 penalty and a certificate.

    Minimises ``Σ_i -log P(y_i|x_i) + lam ‖w‖₁ + (l2/2) ‖w‖²`` over the sequences i, where
    ``P(y|x) ∝ exp(Σ_t coef_[y_t]·x_t + Σ_t transitions_[y_t, y_{t+1}])``; with ``edges``, features
    of the steps between tokens, transitions depend on the observation too. All weights are
    penalised, so the fit comes with a duality gap: ``objective_ - gap_`` is a proven lower bound of
    the optimum.

    Parameters
    ----------
    lam : float, default=1.0
        λ, the strength of the ℓ1 penalty against the *sum* of the sequences' losses (CRFsuite's
        ``c1``). Larger means fewer nonzero weights.
    l2 : float, default=0.0
        Strength of an additional ridge penalty; twice CRFsuite's ``c2``.
    lam_transitions : float or None, default=None
        λ of the transitions, where it shall differ from ``lam``. 0 leaves them unpenalised (by
        ``l2`` too): the labels' order is then learned in full, and there is no duality gap.
    fit_intercept : bool, default=False
        Add a weight for each label that every token has, ``intercept_``: the labels' frequencies.
    lam_intercept : float or None, default=None
        λ of the intercept, where it shall differ from ``lam``; 0 leaves it unpenalised.
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
    max_weight : float or None, default=None
        No weight may be larger in size. With such a bound more can be proved under small ``lam``:
        the gap is that of the problem with the bound.
    solver : str or ProxQN, default="prox-qn"
        The solver, or its settings, such as ``ProxQN.paper()``.
    tol : float, default=1e-4
        How far above the optimum to stop, as a fraction of the objective.
    stop : {"estimate", "gap"}, default="estimate"
        What is to be within ``tol``: the error as the solver estimates it, or the gap that is
        proved, which takes several times as many iterations on text.
    max_iter : int, default=1000
        At most this many iterations; a ``ConvergenceWarning`` tells how far they led.
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
    intercept_ : array of shape (n_classes,)
        Weight of a label at every token; zero without ``fit_intercept``.
    edge_coef_ : csr_array of shape (n_classes², n_edge_features)
        Weights of edge features: row ``i * n_classes + j`` for label i followed by label j.
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    objective_ : float
        The penalised loss reached.
    gap_ : float
        At most this much above the optimum, as proved; infinite where no bound is known, as with
        missing labels.
    estimate_ : float
        About this much above the optimum, as the solver estimates it; ``gap_`` where it has made no
        estimate. No proof.
    gap_box_, box_ : float
        At most ``gap_box_`` above the best with weights up to ``box_`` in size: a proof under an
        assumption, that no weight is larger than twice the largest found.
    n_iter_ : int
        Iterations made.
    trace_ : Trace
        One row an iteration; ``trace_.to_pandas()``.
    status_ : Status
        Why the fit stopped; its ``value`` is a sentence.
    validation_ : Selection or None
        What the development set said: ``iterations``, ``scores``, ``best_iteration``,
        ``best_score``, and ``reason``, where and why the fit stopped.
    result_ : scipy.optimize.OptimizeResult
        All that the solver returned; a pickle has it without the point (`x`, `weights`).
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
    >>> import scipy.sparse as sp
    >>> from proxqn import ChainCRF
    >>> X = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]])
    >>> y = ["noun", "verb", "noun", "verb", "noun"]
    >>> crf = ChainCRF(lam=0.1, stop="gap").fit(X, y, lengths=[3, 2])
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

    Searches over lists need ``cv=KFold(n)``: with ``cv=n`` scikit-learn looks for classes in y, and
    takes lists of labels for its "legacy multi-label data".

    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> y = [["noun", "verb"], ["noun", "verb"]]
    >>> cross_val_score(ChainCRF(lam=0.1), X, y, cv=KFold(2))
    array([1., 1.])

    Transitions that look at the observation: after a comma the label changes, else it stays.

    >>> comma = np.array([[0], [0], [1], [0], [1], [0]])  # of the step into each token
    >>> crf = ChainCRF(lam=0.1).fit(np.ones((6, 1)), list("AABBAA"), lengths=[6], edges=comma)
    >>> new, forced = [[0], [1], [0], [1]], ["B", None, None, None]
    >>> crf.predict(np.ones((4, 1)), lengths=[4], edges=new, forced=forced).tolist()
    ['B', 'A', 'A', 'B']

    Embeddings beside words, in arrays that are not copied:

    >>> embeddings = np.array([[0.3, -1.2], [0.7, 0.4], [-0.5, 0.9], [0.2, 0.1]], dtype=np.float32)
    >>> blocks = embeddings, sp.csr_array(np.eye(4))
    >>> crf = ChainCRF(lam=0.1).fit(blocks, ["a", "b", "b", "a"], lengths=[2, 2])
    >>> crf.coef_.shape, crf.predict(blocks, lengths=[2, 2]).tolist()
    ((2, 6), ['a', 'b', 'b', 'a'])

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
        lam_transitions: float | None = None,
        fit_intercept: bool = False,
        lam_intercept: float | None = None,
        pairs: Literal["all", "observed"] = "all",
        transition_pairs: Literal["all", "observed"] | None = None,
        end_weights: bool | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        templates: Templates | str | None = None,
        min_freq: int = 1,
        sequence_id: str | None = None,
        solver: str | ProxQN = "prox-qn",
        tol: float = 1e-4,
        stop: Stop = "estimate",
        max_weight: float | None = None,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.lam = lam
        self.l2 = l2
        self.lam_transitions = lam_transitions
        self.fit_intercept = fit_intercept
        self.lam_intercept = lam_intercept
        self.pairs = pairs
        self.transition_pairs = transition_pairs
        self.end_weights = end_weights
        self.class_weight = class_weight
        self.templates = templates
        self.min_freq = min_freq
        self.sequence_id = sequence_id
        self.solver = solver
        self.tol = tol
        self.stop = stop
        self.max_weight = max_weight
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.warm_start = warm_start

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        lengths: Any = None,
        sample_weight: Any = None,
        *,
        edges: Any = None,
        validation: Any = None,
        patience: int | None = PATIENCE,
        scoring: Any = None,
        callback: Callback | ModelWatcher | None = None,
        initial: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : sequences in one of these forms
            - an array or sparse matrix of shape (n_tokens, n_features), the tokens of all sequences
              one after the other; a CSR matrix is not copied, nor an array of dense features, such
              as embeddings, in float32 or float64 and C order;
            - a tuple of such matrices side by side, as ``(X_dense, X_sparse)``, with ``lengths``;
              columns are numbered as if they were stacked, which would copy them;
            - a list of matrices, one a sequence, or a tuple of such lists;
            - a list of sequences whose tokens are dicts (as in sklearn-crfsuite), strings or lists
              of strings; with ``templates``, of rows of columns;
            - a DataFrame of numbers, or with the column ``sequence_id`` and others of any kind;
            - records from `proxqn.io.readers`, a list or a stream;
            - what a :class:`~proxqn.features.encoding.SequenceEncoder` has made of any of these.
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
        validation : tuple or EarlyStopping, optional
            A development set, ``(X_dev, y_dev)`` or ``(X_dev, y_dev, lengths_dev)``: the iterate
            that scores best on it is kept, with its objective and its gap; see ``validation_``.
        patience : int or None, default=5
            End the fit after so many looks at it without a better score; None: never.
        scoring : str, callable or None
            ``"entity_f1"``, ``"token_accuracy"``, ``"sequence_accuracy"``, ``"log_likelihood"``, a
            scorer. None is entity F1 where labels mark entities (``B-PER``, ``O``), else accuracy.
        callback : callable, optional
            Called with each :class:`~proxqn.run.trace.Row`; return True to stop. A
            :class:`~proxqn.estimators.callbacks.ModelWatcher` may look at the model on the way.
        initial : ChainCRF or ChainCoefficients, optional
            A fitted model, or its ``coefficients()``, to start from. Labels and named features are
            matched by name, what this fit does not have is left out; features without names must
            be as many.

        Returns
        -------
        ChainCRF
            Itself. Ctrl-C ends the fit at the last accepted iterate, with a warning.
        """
        check_settings(self)
        early = early_stopping(validation, patience, scoring)
        penalty = self._penalty(self.lam)
        structure = self._structure()
        goes_on = self.warm_start and initial is None and hasattr(self, "coef_")
        problem = ChainProblem.of(  # from here on the loss has the data, and nobody their matrix
            training.read(self, X, y, lengths, sample_weight, edges, goes_on=goes_on),
            structure,
            resolve_n_jobs(self.n_jobs),
        )
        meaning = problem.meaning
        start = SparseVector.empty()
        if goes_on:
            start = problem.start(meaning.matched(meaning.continued(self.coefficients())))
        elif initial is not None:
            given = coefficients_of(initial, ChainCoefficients, type(self))
            start = problem.start(meaning.matched(given))
        result = solve(
            self,
            problem.oracle,
            penalty.on_groups(problem.groups),
            start,
            partial(self._at, problem),
            callback,
            early,
        )
        self._keep_weights(problem, result.weights)
        keep_result(self, result, problem.oracle.n_parameters)
        return self

    def lambda_max(
        self,
        X: Any,
        y: Any = None,
        lengths: Any = None,
        sample_weight: Any = None,
        *,
        edges: Any = None,
    ) -> float:
        """Return the smallest ``lam`` whose model has no weights but those with a λ of their own.

        Parameters
        ----------
        X, y, lengths, sample_weight, edges
            As in :meth:`fit`.

        Examples
        --------
        >>> X = [[{"word": "dogs"}, {"word": "bark"}], [{"word": "cats"}, {"word": "purr"}]]
        >>> ChainCRF().lambda_max(X, [["noun", "verb"], ["noun", "verb"]])
        1.5
        """
        stated = self.stated(X, y, lengths, sample_weight, edges=edges)
        return lambda_max(stated.oracle, penalty=stated.penalty)

    def stated(
        self,
        X: Any,
        y: Any = None,
        lengths: Any = None,
        sample_weight: Any = None,
        *,
        edges: Any = None,
    ) -> Stated:
        """Return what :meth:`fit` would minimise for any ``lam``, and the data as it reads them."""
        check_settings(self)
        data = training.read(self, X, y, lengths, sample_weight, edges, goes_on=False)
        problem = ChainProblem.of(data, self._structure(), resolve_n_jobs(self.n_jobs))
        return Stated(
            problem.oracle,
            lambda lam: self._penalty(lam).on_groups(problem.groups),
            partial(self._at, problem),
            HeldSequences(data.tokens, data.labels, data.meaning.classes),
        )

    def _penalty(self, lam: float) -> ChainPenalty:
        steps, constant = self.lam_transitions, self.lam_intercept
        return ChainPenalty.of(lam, self.l2, lam_transitions=steps, lam_intercept=constant)

    def __getstate__(self) -> dict[str, Any]:
        return pickled(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(with_defaults(self, state))
        if hasattr(self, "classes_") and not hasattr(self, "intercept_"):  # pickled by 0.1
            self.intercept_ = np.zeros(len(self.classes_))

    def _structure(self) -> Structure:
        steps = self.transition_pairs
        return Structure(
            pairs=_as_pairs("pairs", self.pairs),
            transition_pairs=None if steps is None else _as_pairs("transition_pairs", steps),
            end_weights=self.end_weights,
            fit_intercept=bool(self.fit_intercept),
        )

    def _at(self, problem: ChainProblem, weights: SparseVector) -> ChainCRF:
        """Return a copy with the weights of an iterate, good for predictions."""
        model = copy(self)
        model._keep_weights(problem, weights)
        return model

    def _keep_weights(self, problem: ChainProblem, w: SparseVector) -> None:
        found, meaning = problem.weights(w), problem.meaning
        self.coef_, self.transitions_ = found.coef, found.transitions
        self.start_weights_, self.end_weights_ = found.start, found.end
        nothing = np.zeros(len(meaning.classes))
        self.intercept_: Floats = nothing if found.intercept is None else found.intercept
        self.edge_coef_ = found.edges
        self.classes_: NDArray[Any] = meaning.classes
        self.n_features_in_ = meaning.columns.number
        self.encoder_: SequenceEncoder | None = meaning.encoder
        if meaning.encoder is not None:
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to a matrix


def _as_pairs(name: str, pairs: str) -> Pairs:
    try:
        return Pairs(pairs)
    except ValueError:
        raise ValueError(f"{name} must be 'all' or 'observed', got {pairs!r}.") from None
