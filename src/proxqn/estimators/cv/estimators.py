"""``ChainCRFCV`` and ``HierarchicalClassifierCV``: an estimator whose λ the data choose."""

from __future__ import annotations

from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.base import resolve_n_jobs
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.estimators.cv.choice import Choice, Rule
from proxqn.estimators.cv.folds import FoldPaths, split
from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.estimators.scoring import scorer_of
from proxqn.path import Path, lambda_max, minimize_path

_LEAST_SHARE = 0.01  # of lambda_max: the smallest λ
_LEAST = 0.5  # or this, if it is smaller: half of what a feature of one token can ask for


class PathCV(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What both share; the docstrings of the two tell the rest."""

    _kind: ClassVar[Any]

    def __init__(
        self,
        estimator: Any = None,
        *,
        lams: Any = None,
        cv: Any = 5,
        scoring: Any = None,
        rule: Rule = "best",
        eps: float = 1e-2,
        lam_min: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.eps = eps
        self.lam_min = lam_min
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *more: Any, groups: Any = None, **given: Any) -> Self:
        """Find the path of all data, score those of the folds, keep the model of the best λ.

        Parameters
        ----------
        X, y, lengths, sample_weight
            As in the estimator's ``fit``.
        groups : array of shape (n_sequences,), optional
            Groups that no fold may cut, such as documents.
        """
        resolve_n_jobs(self.n_jobs)
        model = self._estimator()
        stated = model.stated(X, y, *more, **given)
        solver = {"solver": model.solver, "max_iter": model.max_iter}
        self.path_: Path = self._whole_path(stated, solver)
        folds = FoldPaths(
            stated, self.path_, scorer_of(self.scoring, model), solver | {"tol": model.tol}
        )
        scores = folds.scores(split(stated.held, self.cv, groups), self.n_jobs)
        choice = Choice.of(scores, self.rule)
        self.lams_ = self.path_.lams_
        self.cv_scores_ = scores
        self.cv_mean_, self.cv_error_ = choice.mean, choice.error
        self.lam_ = float(self.lams_[choice.index])
        found = stated.model_at(self.path_.solutions[choice.index])
        self.best_estimator_ = model.set_params(lam=self._parameter(model, self.lam_)).fit(
            X, y, *more, **given, initial=found.coefficients()
        )
        self.classes_ = self.best_estimator_.classes_
        self.n_features_in_ = self.best_estimator_.n_features_in_
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def predict(self, X: Any, *more: Any, **given: Any) -> Any:
        """Return what the chosen model predicts."""
        return self._model.predict(X, *more, **given)

    def score(self, X: Any, y: Any, *more: Any, **given: Any) -> float:
        """Return the chosen model's score."""
        return float(self._model.score(X, y, *more, **given))

    def plot(self, axes: Any = None) -> Any:
        """Draw the folds' mean score with its standard error against λ; return the axes."""
        from proxqn.estimators.cv.plot import plot  # here: matplotlib is an extra

        return plot(self, axes)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _estimator(self) -> Any:
        if self.estimator is None:
            return self._kind()
        if not isinstance(self.estimator, self._kind):
            raise TypeError(
                f"estimator must be a {self._kind.__name__} or None, got a "
                f"{type(self.estimator).__name__}."
            )
        return clone(self.estimator)

    def _parameter(self, model: Any, lam: float) -> Any:
        return model.levels(lam) if hasattr(model, "levels") else lam

    def _whole_path(self, stated: Any, solver: dict[str, Any]) -> Path:
        lams, least = "certified" if self.lams is None else self.lams, self.lam_min
        largest = lambda_max(stated.oracle, penalty=stated.penalty) if np.ndim(lams) == 0 else None
        if largest == 0.0:  # one class alone: every λ gives the same model
            lams, least = [1.0], None
        elif least is None and largest is not None:
            least = min(_LEAST_SHARE * largest, max(_LEAST, _LEAST_SHARE**2 * largest))
        path = minimize_path(
            stated.oracle, lams, eps=self.eps, penalty=stated.penalty, lam_min=least, **solver
        )
        if not path.complete:
            raise KeyboardInterrupt(path.message)
        return path


@final
class ChainCRFCV(PathCV):
    """A :class:`~proxqn.ChainCRF` whose ``lam`` is chosen by cross-validation.

    One encoding, one path over all data, and from there a path of each fold: a fraction of what
    separate fits take. Sequences are never cut.

    Parameters
    ----------
    estimator : ChainCRF, optional
        Its other parameters; ``ChainCRF()`` by default.
    lams : array, int or None, default=None
        λs to try, or how many. None places them so that at every λ in between a mixture of its
        neighbours is within ``eps`` of the optimum, as proved, or as estimated where proofs lag.
    cv : int, splitter or iterable, default=5
        Folds of sequences, as in scikit-learn.
    scoring : str, callable or None, default=None
        ``"entity_f1"``, ``"token_accuracy"``, ``"sequence_accuracy"``, ``"log_likelihood"``, or a
        scorer; None for the model's own score, the share of tokens labelled rightly.
    rule : {"best", "1se"}, default="best"
        The λ with the best mean; or the largest whose mean is within a standard error of it.
    eps : float, default=0.01
        See ``lams``.
    lam_min : float, optional
        The smallest λ: by default a hundredth of the largest, or 0.5 where that is smaller.
    n_jobs : int, optional
        Folds at once; the result does not depend on it.

    Attributes
    ----------
    lam_ : float
        The λ chosen.
    lams_ : array of shape (n_λ,)
        Those tried, descending.
    cv_scores_ : array of shape (n_λ, n_folds)
    cv_mean_, cv_error_ : array of shape (n_λ,)
        Means, and their standard errors.
    path_ : Path
        Of all data.
    best_estimator_ : ChainCRF
        The model; :func:`proxqn.save` takes it.

    Examples
    --------
    >>> X = [[{"word": w} for w in s.split()] for s in ("dogs bark", "cats purr", "cows moo")] * 4
    >>> cv = ChainCRFCV(lams=[2.0, 0.5], cv=3).fit(X, [["noun", "verb"]] * 12)
    >>> cv.lam_, cv.cv_scores_.shape
    (2.0, (2, 3))
    >>> cv.predict([[{"word": "cats"}, {"word": "moo"}]])
    [array(['noun', 'verb'], dtype='<U4')]
    """

    _kind = ChainCRF

    def predict_marginals(self, X: Any, *more: Any, **given: Any) -> Any:
        """Return the chosen model's marginals."""
        return self._model.predict_marginals(X, *more, **given)


@final
class HierarchicalClassifierCV(PathCV):
    """A :class:`~proxqn.HierarchicalClassifier` whose ``lam`` is chosen by cross-validation.

    Parameters
    ----------
    estimator : HierarchicalClassifier, optional
        Its other parameters. Where its ``lam`` is a number a level, these keep their proportions
        and λ is the largest of them.
    lams, cv, rule, eps, lam_min, n_jobs
        As for :class:`ChainCRFCV`.
    scoring : str, callable or None, default=None
        ``"log_likelihood"``, a name of scikit-learn, or a scorer; None for accuracy.

    Attributes
    ----------
    lam_, lams_, cv_scores_, cv_mean_, cv_error_, path_, best_estimator_
        As of :class:`ChainCRFCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> cv = HierarchicalClassifierCV(lams=[30.0, 1.0], cv=3).fit(X, y)
    >>> cv.lam_, bool(cv.score(X, y) > 0.95)
    (1.0, True)
    """

    _kind = HierarchicalClassifier

    def predict_proba(self, X: Any) -> Any:
        """Return the chosen model's probabilities of the classes."""
        return self._model.predict_proba(X)
