"""Sparse joint classification into a label tree for scikit-learn: parameters and fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

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
from proxqn.estimators.columns import Columns
from proxqn.estimators.early_stopping import PATIENCE, early_stopping
from proxqn.estimators.hierarchical import file as tree_file
from proxqn.estimators.hierarchical.coefficients import TreeCoefficients
from proxqn.estimators.hierarchical.penalty import TreePenalty
from proxqn.estimators.hierarchical.prediction import TreePredictor
from proxqn.estimators.input import trees as tree_input
from proxqn.estimators.input.trees import LabelledTree
from proxqn.estimators.model import Description, ModelReader, ModelWriter, feature_namer
from proxqn.estimators.stated import HeldSamples, Stated
from proxqn.features.distinct import distinct_samples
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.vocabulary import Vocabulary
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.path import lambda_max
from proxqn.problem import Floats, SparseVector
from proxqn.run.watch import Callback
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.standing import Stop

_SQUARED = 1e150  # the square of such a number is about to be out of range


@final
class HierarchicalClassifier(TreePredictor):
    """Classifier into the leaves of a label tree: one joint ℓ1 model with a certificate.

    Minimises ``Σ_i -log P(y_i|x_i) + lam ‖W‖₁ + (l2/2) ‖W‖²`` where a leaf's score is the sum over
    the nodes on its path, ``P(y|x) ∝ exp(Σ_{k ∈ Path(y)} coef_[k]·x)``. A weight of an inner node
    speaks for all leaves below it, so related classes share what they have in common. All weights
    are penalised, so the fit has a duality gap: ``objective_ - gap_`` is a proven lower bound
    of the optimum. Equal samples are merged, and neither their order nor ``n_jobs`` changes the
    result by a bit.

    Parameters
    ----------
    hierarchy : Hierarchy, optional
        The label tree. Without one it is flat, which makes the model ℓ1 multinomial logistic
        regression; or, if y holds paths, the tree of these paths.
    lam : float or sequence of float, default=1.0
        λ, the strength of the ℓ1 penalty against the *sum* of the samples' losses (``1/C`` of
        scikit-learn's logistic regression). Larger means fewer nonzero weights. A sequence has one
        number a depth, that of the top nodes first.
    l2 : float, default=0.0
        Strength of an additional ridge penalty.
    fit_intercept : bool, default=True
        Add a constant feature as large as the others, the root mean square of X's nonzero values;
        a 1 beside small values would be hardly penalised and slow the solver down many times. Its
        weights are penalised like all others (scikit-learn's are not): there is a certificate only
        then. The paper's model has none.
    lam_intercept : float or None, default=None
        λ of the constant feature's weights, where it shall differ from ``lam``. 0 leaves them
        unpenalised (by ``l2`` too), as in scikit-learn; there is no duality gap then.
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
        Start from the weights of the previous fit, for another ``lam`` or for more data. Weights go
        to the node of the same name.
    class_weight : dict or "balanced", optional
        Factors of the classes' losses by leaf name; "balanced" makes all classes weigh the same.

    Attributes
    ----------
    coef_ : csr_array of shape (n_nodes, n_features)
        Weights of nodes, in the order of ``hierarchy_.names``; sparse. The root's row is empty.
    intercept_ : array of shape (n_nodes,)
        The constant feature's share in the node scores; zero without ``fit_intercept``.
    hierarchy_ : Hierarchy
        The tree.
    classes_ : array of shape (n_leaves,)
        The leaf names, sorted; also leaves that had no training sample.
    objective_, gap_, estimate_ : float
        The penalised loss reached; how far above the optimum it is at most, as proved, and about,
        as the solver estimates it.
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
        Features seen in fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X was a DataFrame.

    Examples
    --------
    >>> from proxqn import Hierarchy
    >>> tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak", "fig"]})
    >>> X = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]] * 5)
    >>> y = ["cat", "dog", "oak", "fig"] * 5
    >>> model = HierarchicalClassifier(tree, lam=0.5, stop="gap").fit(X, y)
    >>> model.predict(X[:2])
    array(['cat', 'dog'], dtype='<U3')
    >>> bool(model.gap_ <= 1e-4 * model.objective_)
    True
    """

    kind: ClassVar[str] = "tree"

    def __init__(
        self,
        hierarchy: Hierarchy | None = None,
        *,
        lam: float | Sequence[float] = 1.0,
        l2: float = 0.0,
        fit_intercept: bool = True,
        lam_intercept: float | None = None,
        solver: str | ProxQN = "prox-qn",
        tol: float = 1e-4,
        stop: Stop = "estimate",
        max_weight: float | None = None,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        warm_start: bool = False,
        class_weight: Any = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.lam = lam
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.lam_intercept = lam_intercept
        self.solver = solver
        self.tol = tol
        self.stop = stop
        self.max_weight = max_weight
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: Any = None,
        patience: int | None = PATIENCE,
        scoring: Any = None,
        callback: Callback | ModelWatcher | None = None,
        initial: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The samples; CSR is not copied but for duplicates and order.
        y : array of shape (n_samples,), or paths
            Leaf names; or rows of levels from a top node down to a leaf, which may end early with
            None or "".
        sample_weight : array of shape (n_samples,), optional
            Factors of the samples' losses: 2 counts a sample twice, 0 leaves it out.
        validation : tuple or EarlyStopping, optional
            A development set, ``(X_dev, y_dev)``: the iterate that scores best on it is kept, with
            its objective and its gap; see ``validation_``.
        patience : int or None, default=5
            End the fit after so many looks at it without a better score; None: never.
        scoring : str, callable or None
            ``"log_likelihood"``, a name of scikit-learn or a scorer. None is accuracy.
        callback : callable, optional
            Called with each :class:`~proxqn.run.trace.Row`; return True to stop. A
            :class:`~proxqn.estimators.callbacks.ModelWatcher` may look at the model on the way.
        initial : HierarchicalClassifier or TreeCoefficients, optional
            A fitted model, or its ``coefficients()``, to start from. Nodes, and features of
            DataFrames, are matched by name; features without names must be as many.

        Returns
        -------
        HierarchicalClassifier
            Itself. Ctrl-C ends the fit at the last accepted iterate, with a warning.
        """
        check_settings(self)
        early = early_stopping(validation, patience, scoring)
        penalty = TreePenalty.of(self.lam, self.l2, self.lam_intercept)
        goes_on = self.warm_start and initial is None and hasattr(self, "coef_")
        given = None
        if goes_on or initial is not None:
            known = self if goes_on else initial
            given = coefficients_of(known, TreeCoefficients, type(self))
        samples = tree_input.read_samples(self, X, reset=not goes_on)
        labelled = tree_input.read_labels(y, self.hierarchy, samples)
        weights = tree_input.read_weights(sample_weight, self.class_weight, labelled, samples)
        distinct = distinct_samples(samples, labelled.leaves, weights)
        oracle, constant = self._loss(labelled.hierarchy, *distinct)
        start = SparseVector.empty()
        if given is not None:
            columns = Columns(samples.shape[1], self._feature_names())
            start = oracle.pack(given.onto(labelled.hierarchy, columns, constant))
        result = solve(
            self,
            oracle,
            penalty.on_tree(
                labelled.hierarchy, oracle.n_coordinates, intercept=constant is not None
            ),
            start,
            partial(self._at, oracle, labelled, constant),
            callback,
            early,
        )
        self._keep_weights(oracle, labelled, constant, result.weights)
        keep_result(self, result, oracle.n_parameters)
        return self

    def lambda_max(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the smallest ``lam`` whose model has no weights but those with a λ of their own.

        Where ``lam`` is a number a level, it is the largest of them, the others in proportion.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Examples
        --------
        >>> HierarchicalClassifier().lambda_max(np.array([[2.0, 0.0], [0.0, 1.0]]), ["a", "b"])
        1.0
        """
        stated = self.stated(X, y, sample_weight)
        return lambda_max(stated.oracle, penalty=stated.penalty)

    def stated(self, X: Any, y: Any, sample_weight: Any = None) -> Stated:
        """Return what :meth:`fit` would minimise, for any ``lam``, and the data as it reads them.

        Equal samples are not merged: they may be in different folds.
        """
        check_settings(self)
        samples = tree_input.read_samples(self, X, reset=True)
        labelled = tree_input.read_labels(y, self.hierarchy, samples)
        weights = tree_input.read_weights(sample_weight, self.class_weight, labelled, samples)
        keep: Any = slice(None) if weights is None else np.flatnonzero(weights)
        kept = sp.csr_array(samples[keep])
        factors = None if weights is None else weights[keep]
        oracle, constant = self._loss(labelled.hierarchy, kept, labelled.leaves[keep], factors)
        return Stated(
            oracle,
            lambda lam: TreePenalty.of(self.levels(lam), self.l2, self.lam_intercept).on_tree(
                labelled.hierarchy, oracle.n_coordinates, intercept=constant is not None
            ),
            partial(self._at, oracle, labelled, constant),
            HeldSamples(kept, labelled.labels[keep]),
        )

    def levels(self, lam: float) -> Any:
        """Return the parameter whose largest λ is this."""
        if np.ndim(self.lam) == 0:
            return lam
        numbers = np.asarray(self.lam, dtype=np.float64)
        return lam * numbers / numbers.max()

    def _loss(
        self,
        tree: Hierarchy,
        design: sp.csr_array,
        leaves: NDArray[np.int32],
        weights: Floats | None,
    ) -> tuple[TreeOracle, float | None]:
        """Return the loss, and the size of its constant feature where it has one."""
        constant = _typical_size(design) if self.fit_intercept else None
        X = design if constant is None else _with_constant(design, constant)
        n_jobs = resolve_n_jobs(self.n_jobs)
        return TreeOracle(X, leaves, tree, sample_weight=weights, n_jobs=n_jobs), constant

    def coefficients(self) -> TreeCoefficients:
        """Return all weights of the fitted model, with the names of nodes and features.

        Another fit may start from them, see ``initial`` of :meth:`fit`.
        """
        check_is_fitted(self)
        return TreeCoefficients(self.coef_, self.intercept_, self.hierarchy_, self._feature_names())

    def description(self) -> Description:
        """Return what there is to see in the fitted model: the nodes' weights."""
        check_is_fitted(self)
        names = [str(name) for name in self.hierarchy_.names]
        feature = feature_namer(getattr(self, "feature_names_in_", None), "")
        sizes = {"labels": len(self.classes_), "nodes": len(names)}
        return Description(names, self.coef_, feature, sizes)

    def exports(self) -> dict[str, Callable[[], Iterator[str]]]:
        """Return nothing: no other program's form is known."""
        return {}

    def to_file(self, file: ModelWriter) -> None:
        """Write what it is made of."""
        tree_file.write(self, file)

    @classmethod
    def from_file(cls, file: ModelReader) -> Self:
        """Return the model of a file."""
        model: Self = tree_file.read(cls, file)
        return model

    def __getstate__(self) -> dict[str, Any]:
        return pickled(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(with_defaults(self, state))

    def _feature_names(self) -> Vocabulary | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else Vocabulary.from_names(names.tolist())

    def _at(
        self,
        oracle: TreeOracle,
        labelled: LabelledTree,
        constant: float | None,
        weights: SparseVector,
    ) -> HierarchicalClassifier:
        """Return a copy with the weights of an iterate, good for predictions."""
        model = copy(self)
        model._keep_weights(oracle, labelled, constant, weights)
        return model

    def _keep_weights(
        self,
        oracle: TreeOracle,
        labelled: LabelledTree,
        constant: float | None,
        weights: SparseVector,
    ) -> None:
        coef = oracle.unpack(weights)
        self.intercept_: Floats = np.zeros(len(labelled.hierarchy))
        if constant is not None:
            self.intercept_ = (
                constant * coef[:, -1:].toarray().ravel()
            )  # no list of columns: it takes memory for all
            coef = sp.csr_array(coef[:, :-1])
        self.coef_ = coef
        self.hierarchy_ = labelled.hierarchy
        self.classes_ = labelled.classes
        self._leaf_of_class = labelled.leaf_of_class


def _typical_size(X: sp.csr_array) -> float:
    """Return the root mean square of the nonzero values."""
    largest = float(np.abs(X.data).max(initial=0.0))
    if not largest:
        return 1.0
    unit = largest if largest > _SQUARED else 1.0  # squares of such are out of range
    return unit * float(np.sqrt(np.square(X.data / unit).mean()))


def _with_constant(X: sp.csr_array, value: float) -> sp.csr_array:
    """Append a constant feature."""
    column = sp.csr_array(np.full((X.shape[0], 1), value))
    return sp.csr_array(sp.hstack([X, column], format="csr"))
