"""Sparse joint classification into a label tree as a scikit-learn estimator."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from proxqn.estimators import fitting as _fitting
from proxqn.estimators.inference.tree import TreeInference
from proxqn.estimators.input import trees as tree_input
from proxqn.estimators.input.trees import LabelledTree
from proxqn.features.distinct import distinct_samples
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.metrics.hierarchical import Average, HierarchicalScores, hierarchical_scores
from proxqn.problem import Floats, SparseVector
from proxqn.solvers.prox_qn import ProxQN


@final
class HierarchicalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier into the leaves of a label tree: one joint ℓ1 model with a certificate.

    Minimises ``Σ_i -log P(y_i|x_i) + lam ‖W‖₁ + (l2/2) ‖W‖²`` where a leaf's score is the sum over
    the nodes on its path, ``P(y|x) ∝ exp(Σ_{k ∈ Path(y)} coef_[k]·x)``. A weight of an inner node
    speaks for all leaves below it, so related classes share what they have in common. All weights
    are penalised, so the fit ends with a duality gap: ``objective_ - gap_`` is a proven lower bound
    of the optimum. Equal samples are merged, and neither their order nor ``n_jobs`` changes the
    result by a bit.

    Parameters
    ----------
    hierarchy : Hierarchy, optional
        The label tree. Without one it is flat, which makes the model ℓ1 multinomial logistic
        regression; or, if y holds paths, the tree of these paths.
    lam : float, default=1.0
        λ, the strength of the ℓ1 penalty against the *sum* of the samples' losses (``1/C`` of
        scikit-learn's logistic regression). Larger means fewer nonzero weights.
    l2 : float, default=0.0
        Strength of an additional ridge penalty.
    fit_intercept : bool, default=True
        Add a constant feature as large as the others, the root mean square of X's nonzero values;
        a 1 beside small values would be hardly penalised and slow the solver down many times. Its
        weights are penalised like all others (scikit-learn's are not): there is a certificate only
        then. The paper's model has none.
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
    objective_, gap_ : float
        The penalised loss reached, and how far above the optimum it is at most.
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
        Features seen in fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X was a DataFrame.

    Examples
    --------
    >>> from proxqn import Hierarchy
    >>> tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak", "fig"]})
    >>> X = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]] * 5)
    >>> y = ["cat", "dog", "oak", "fig"] * 5
    >>> model = HierarchicalClassifier(tree, lam=0.5).fit(X, y)
    >>> model.predict(X[:2])
    array(['cat', 'dog'], dtype='<U3')
    >>> bool(model.gap_ <= 1e-4 * model.objective_)
    True
    """

    def __init__(
        self,
        hierarchy: Hierarchy | None = None,
        *,
        lam: float = 1.0,
        l2: float = 0.0,
        fit_intercept: bool = True,
        solver: str | ProxQN = "prox-qn",
        tol: float = 1e-4,
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
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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

        Returns
        -------
        HierarchicalClassifier
            Itself. Ctrl-C ends the fit at the last accepted iterate, with a warning.
        """
        _fitting.check_settings(self)
        previous = self._previous_weights()
        samples = tree_input.read_samples(self, X, reset=previous is None)
        labelled = tree_input.read_labels(y, self.hierarchy, samples)
        weights = tree_input.read_weights(sample_weight, self.class_weight, labelled, samples)
        design, leaves, factors = distinct_samples(samples, labelled.leaves, weights)
        constant = _typical_size(design) if self.fit_intercept else None
        oracle = TreeOracle(
            design if constant is None else _with_constant(design, constant),
            leaves,
            labelled.hierarchy,
            sample_weight=factors,
            n_jobs=_fitting.resolve_n_jobs(self.n_jobs),
        )
        start = SparseVector.empty()
        if previous is not None:
            start = oracle.pack(previous.onto(labelled.hierarchy, constant))
        model_at = partial(self._at, oracle, labelled, constant)
        self._keep(_fitting.solve(self, oracle, start, model_at), oracle, labelled, constant)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable leaf of each sample, by name."""
        samples, inference = self._prepare(X)
        return self.classes_[inference.most_probable(samples)]

    def predict_proba(self, X: Any) -> Floats:
        """Return ``P(leaf | x)`` of shape (n_samples, n_leaves), in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ``log P(leaf | x)``, exact also where the probability is tiny."""
        samples, inference = self._prepare(X)
        return inference.log_probabilities(samples)

    def predict_node_proba(self, X: Any) -> Floats:
        """Return the probability that each node is on the path of the sample's leaf.

        Returns
        -------
        array of shape (n_samples, n_nodes)
            In the order of ``hierarchy_.names``: 1 at the root, at a node the sum of its children.
        """
        samples, inference = self._prepare(X)
        return inference.node_marginals(samples)

    def top_k(self, X: Any, k: int = 5) -> tuple[NDArray[Any], Floats]:
        """Return the k most probable leaves of each sample, best first.

        Returns
        -------
        names : array of shape (n_samples, k)
            Leaf names.
        probabilities : array of shape (n_samples, k)
            Their probabilities.
        """
        samples, inference = self._prepare(X)
        if not 1 <= k <= len(self.classes_):
            raise ValueError(f"k must be from 1 to {len(self.classes_)}, the leaves, got {k!r}.")
        best, log_p = inference.best_classes(samples, k)
        return self.classes_[best], np.exp(log_p)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of samples whose leaf is right.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        """
        return float(super().score(X, self._leaf_names(y), sample_weight=sample_weight))

    def hierarchical_score(
        self, X: Any, y: Any, *, average: Average = "micro"
    ) -> HierarchicalScores:
        """Return hierarchical precision, recall and F1: a near miss counts for the shared path."""
        check_is_fitted(self)
        names = np.asarray(self._leaf_names(y)).tolist()
        predicted = self.predict(X).tolist()
        return hierarchical_scores(names, predicted, self.hierarchy_, average=average)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _leaf_names(self, y: Any) -> Any:
        if not tree_input.is_paths(y):
            return y
        check_is_fitted(self)
        return np.array(self.hierarchy_.leaf_names)[self.hierarchy_.leaf_index_of_paths(y)]

    def _prepare(self, X: Any) -> tuple[sp.csr_array, TreeInference]:
        check_is_fitted(self)
        samples = tree_input.read_samples(self, X, reset=False)
        return samples, TreeInference(
            self.coef_, self.intercept_, self.hierarchy_, self._leaf_of_class
        )

    def _previous_weights(self) -> _Weights | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        return _Weights(self.coef_, self.intercept_, self.hierarchy_)

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
            self.intercept_ = constant * coef[:, [-1]].toarray().ravel()
            coef = sp.csr_array(coef[:, :-1])
        self.coef_ = coef
        self.hierarchy_ = labelled.hierarchy
        self.classes_ = labelled.classes
        self._leaf_of_class = labelled.leaf_of_class

    def _keep(
        self, result: Any, oracle: TreeOracle, labelled: LabelledTree, constant: float | None
    ) -> None:
        """Set the fitted attributes."""
        weights = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
        self._keep_weights(oracle, labelled, constant, weights)
        self.objective_: float = result.fun
        self.gap_: float = result.gap
        self.n_iter_: int = result.nit
        self.trace_ = result.trace
        self.status_ = result.status
        self.n_parameters_ = oracle.n_parameters
        self.result_ = result


@final
@dataclass(frozen=True)
class _Weights:
    """A fitted model, as the start of another fit."""

    coef: sp.csr_array  # [n_nodes, n_features]
    intercept: Floats  # [n_nodes]
    hierarchy: Hierarchy

    def onto(self, new: Hierarchy, constant: float | None) -> sp.csr_array:
        """Move each row to the node of the same name; rows of names that are gone are dropped."""
        coef = self.coef
        if constant is not None:
            last = sp.csr_array(self.intercept[:, None] / constant)
            coef = sp.csr_array(sp.hstack([coef, last]))
        entries = sp.coo_array(coef)
        place = {name: node for node, name in enumerate(new.names)}
        node = np.array([place.get(name, -1) for name in self.hierarchy.names])[entries.row]
        kept = node >= 0
        shape = (len(new), coef.shape[1])
        return sp.csr_array((entries.data[kept], (node[kept], entries.col[kept])), shape=shape)


def _typical_size(X: sp.csr_array) -> float:
    """Return the root mean square of the nonzero values."""
    return float(np.sqrt(np.square(X.data).mean())) if X.nnz else 1.0


def _with_constant(X: sp.csr_array, value: float) -> sp.csr_array:
    """Append a constant feature."""
    column = sp.csr_array(np.full((X.shape[0], 1), value))
    return sp.csr_array(sp.hstack([X, column], format="csr"))
