"""Drop-in for sklearn-crfsuite: ``from proxqn.compat import CRF`` instead of its ``CRF``.

The same parameters, methods and attributes, in front of `proxqn.ChainCRF`.  CRFsuite minimises
``Σ_i -log P(y_i|x_i) + c1 ‖w‖₁ + c2 ‖w‖²``; that is ``lam = c1`` and ``l2 = 2 c2`` here, and both
have the same optimum.  ``docs/migrating.md`` lists what differs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from proxqn.estimators.callbacks import ModelWatcher
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.io.model_file import SavedModel, to_bytes
from proxqn.metrics.sequence import token_accuracy_score
from proxqn.run.trace import Trace
from proxqn.run.watch import Callback

__all__ = ["CRF", "TrainingLog"]

_ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
_DEFAULT_C2 = 1.0  # CRFsuite's own, where c2 is None
_DEFAULT_MAX_ITER = 1000  # for CRFsuite's "unlimited"

# CRFsuite's default is c1 = 0, a ridge alone; this method needs λ > 0. An error would break `CRF()`
# and a search over c1=[0, …], so a small λ is used: it shifts the gradient by 1e-3, where one
# occurrence counts 1 (on 1,000 sentences of CoNLL-2000, F1 is within 0.001 of CRFsuite's).
_C1_FOR_ZERO = 1e-3

_WITHOUT_MEANING = (
    "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch",
    "calibration_eta", "calibration_rate", "calibration_samples", "calibration_candidates",
    "calibration_max_trials", "pa_type", "c", "error_sensitive", "averaging", "variance", "gamma",
    "model_filename", "trainer_cls",
)  # fmt: skip


@final
@dataclass(frozen=True)
class TrainingLog:
    """The iterations of a fit under python-crfsuite's names.

    Attributes
    ----------
    iterations : list of dict
        ``num``, ``loss`` (with its penalty), ``active_features``, ``linesearch_trials``,
        ``linesearch_step``, ``time`` (seconds of this iteration), and our ``gap``.
    """

    iterations: list[dict[str, Any]]

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last of the iterations, None where there are none."""
        return self.iterations[-1] if self.iterations else None

    @classmethod
    def from_trace(cls, trace: Trace) -> TrainingLog:
        """Rename the columns of a trace."""
        seconds = [0.0, *(row.seconds for row in trace)]
        return cls([
            {
                "num": row.iteration, "loss": row.objective, "active_features": row.nnz,
                "linesearch_trials": row.trials, "linesearch_step": row.step,
                "time": end - start, "gap": row.gap,
            }
            for row, (start, end) in zip(trace, pairwise(seconds), strict=True)
        ])  # fmt: skip


@final
class CRF(BaseEstimator):  # type: ignore[misc]
    """Linear-chain CRF with the interface of ``sklearn_crfsuite.CRF``.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        All fit the same ℓ1 + ℓ2 CRF here; a warning says so for all but ``"lbfgs"``.
    min_freq : float, optional
        Attributes whose values sum to less than this with every single label are left out. That
        leaves CRFsuite's attributes; it also cuts rare pairs of those that stay, and transitions.
    all_possible_states, all_possible_transitions : bool, optional
        Weights also for the (attribute, label) and (label, label) pairs that do not occur in the
        training data.
    c1 : float, optional
        The ℓ1 penalty, ``lam``. None or 0, CRFsuite's default, becomes 0.001, with a warning.
    c2 : float, optional
        The ℓ2 penalty ``c2 ‖w‖²``; 1 by default, as in CRFsuite.
    max_iterations : int, optional
        1000 by default, where CRFsuite's lbfgs has no limit.
    num_memories, epsilon, period, delta, linesearch, max_linesearch : optional
        Accepted without effect, like all that follow up to ``gamma``; a warning names them.
    calibration_eta, calibration_rate, calibration_samples : optional
    calibration_candidates, calibration_max_trials, pa_type, c : optional
    error_sensitive, averaging, variance, gamma : optional
    verbose : bool, default=False
        Show progress.
    model_filename, keep_tempfiles, trainer_cls : optional
        Without effect, with a warning: there are no files. Pickle the estimator, or write
        ``proxqn.save(crf.crf_, path)``.
    tol : float, default=1e-2
        Stop when the duality gap is at most this fraction of the objective. The bound is cautious:
        on text the objective stands still long before the gap says so, hence not ChainCRF's 1e-4.
    n_jobs : int, optional
        Threads; -1 for all processors. The result does not depend on it.

    Attributes
    ----------
    classes_ : list
        The labels, in the order they first occur.
    training_log_ : TrainingLog
        One dict an iteration.
    crf_ : ChainCRF
        The fitted model, with its certificate (``crf_.gap_``, ``crf_.objective_``); it takes the
        same X.

    Examples
    --------
    >>> from proxqn.compat import CRF
    >>> X = [[{"word": "dogs"}, {"word": "bark"}], [{"word": "cats"}, {"word": "purr"}]]
    >>> crf = CRF(c1=0.1, c2=0.01).fit(X, [["noun", "verb"], ["noun", "verb"]])
    >>> crf.predict_single([{"word": "cats"}, {"word": "bark"}])
    ['noun', 'verb']
    >>> max(crf.transition_features_, key=crf.transition_features_.get)
    ('noun', 'verb')
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool | None = False,
        trainer_cls: Any = None,
        *,
        tol: float = 1e-2,
        n_jobs: int | None = None,
    ) -> None:
        given = locals()
        for name in self._get_param_names():  # thirty: a list of assignments could miss one
            setattr(self, name, given[name])

    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        callback: Callback | ModelWatcher | None = None,
        initial: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of lists of dicts, of lists of strings, or of strings
            The tokens of every sequence; see `proxqn.features.items`. A string is one attribute.
        y : list of lists of str
            Their labels.
        X_dev, y_dev : optional
            Checked and left alone, with a warning: CRFsuite only logs scores of them.
        callback, initial : optional
            As in :meth:`proxqn.ChainCRF.fit`; ``initial`` may be a fitted ``CRF`` too.
        """
        start: Any = initial.crf_ if isinstance(initial, CRF) else initial
        if (X_dev is None) != (y_dev is None):
            raise ValueError("pass both X_dev and y_dev, or none of them.")
        settings = self._settings(dev=X_dev is not None)
        X, y = _without_empty(X, y)
        labels = list(chain.from_iterable(y))
        data = _with_frequent(X, labels, self.min_freq) if self.min_freq else X
        self.crf_: ChainCRF = ChainCRF(**settings).fit(data, y, callback=callback, initial=start)
        self.classes_ = list(dict.fromkeys(labels))
        self.training_log_ = TrainingLog.from_trace(self.crf_.trace_)
        return self

    def predict(self, X: Any) -> NDArray[np.object_]:
        """Return the most probable labels, a list for every sequence."""
        self._check_fitted()
        return _by_sequence(X, lambda full: [y.tolist() for y in self.crf_.predict(full)])

    def predict_single(self, xseq: Any) -> list[Any]:
        """Return the most probable labels of one sequence."""
        return list(self.predict([xseq])[0])

    def predict_marginals(self, X: Any) -> NDArray[np.object_]:
        """Return, for every sequence, a list with one dict ``label -> probability`` a token."""
        self._check_fitted()
        return _by_sequence(X, self.crf_.predict_marginal_dicts)

    def predict_marginals_single(self, xseq: Any) -> list[dict[Any, float]]:
        """Return one dict ``label -> probability`` a token of one sequence."""
        return list(self.predict_marginals([xseq])[0])

    def score(self, X: Any, y: Any) -> float:
        """Return the fraction of tokens whose predicted label is right."""
        return token_accuracy_score(y, list(self.predict(X)))

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The nonzero weights of attributes and labels, ``{(attribute, label): weight}``."""
        self._check_fitted()
        coef, labels = sp.coo_array(self.crf_.coef_), self.crf_.classes_.tolist()
        names = self.crf_.vocabulary_.names(coef.col)
        weights = zip(names, coef.row.tolist(), coef.data.tolist(), strict=True)
        return {(name, labels[row]): weight for name, row, weight in weights}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The nonzero weights of transitions, ``{(label, next label): weight}``."""
        self._check_fitted()
        matrix, labels = self.crf_.transitions_, self.crf_.classes_.tolist()
        return {(labels[i], labels[j]): float(matrix[i, j]) for i, j in np.argwhere(matrix)}

    @property
    def attributes_(self) -> list[str]:
        """The attributes that have a weight other than zero."""
        self._check_fitted()
        return self.crf_.vocabulary_.names(np.unique(sp.coo_array(self.crf_.coef_).col))

    @property
    def num_attributes_(self) -> int:
        """How many attributes have a weight other than zero."""
        return len(self.attributes_)

    @property
    def size_(self) -> int:
        """Bytes of the model as `proxqn.save` writes it."""
        self._check_fitted()
        return len(to_bytes(SavedModel(self.crf_)))

    @property
    def tagger_(self) -> Any:
        """Not there: no pycrfsuite is involved."""
        raise AttributeError(
            "proxqn.compat.CRF has no pycrfsuite tagger_. Use predict_single for tag, classes_ for "
            "labels, predict_marginals_single for marginal, state_features_ and "
            "transition_features_ for info, crf_.log_probability for probability."
        )

    def _check_fitted(self) -> None:
        hint = "" if self.model_filename is None else " CRFsuite's binary models are not read."
        check_is_fitted(self, msg=f"This %(name)s is not fitted yet; call fit first.{hint}")

    def _settings(self, *, dev: bool) -> dict[str, Any]:
        """Translate the parameters into ChainCRF's, with one warning for what changes."""
        if notes := list(self._changes(dev=dev)):
            warnings.warn(f"proxqn.compat.CRF: {'; '.join(notes)}.", UserWarning, stacklevel=3)
        return {
            "lam": self.c1 or _C1_FOR_ZERO,
            "l2": 2.0 * (_DEFAULT_C2 if self.c2 is None else self.c2),
            "pairs": "all" if self.all_possible_states else "observed",
            "transition_pairs": "all" if self.all_possible_transitions else "observed",
            "end_weights": False,  # CRFsuite has none
            "max_iter": _DEFAULT_MAX_ITER if self.max_iterations is None else self.max_iterations,
            "tol": self.tol,
            "n_jobs": self.n_jobs,
            "verbose": int(self.verbose),
        }

    def _changes(self, *, dev: bool) -> Iterator[str]:
        """Say what CRFsuite would do and this does not."""
        if self.algorithm not in (None, *_ALGORITHMS):
            raise ValueError(f"algorithm must be one of {_ALGORITHMS}, got {self.algorithm!r}.")
        if self.algorithm not in (None, "lbfgs"):
            yield f"algorithm={self.algorithm!r} fits the same ℓ1 + ℓ2 CRF as 'lbfgs'"
        ignored = [name for name in _WITHOUT_MEANING if getattr(self, name) is not None]
        ignored += ["keep_tempfiles"] * bool(self.keep_tempfiles) + ["X_dev", "y_dev"] * dev
        if ignored:
            yield f"without effect: {', '.join(ignored)}"
        if not self.c1:
            yield f"c1={self.c1} is taken as {_C1_FOR_ZERO}; pass a c1 above 0 for a sparse model"


def _without_empty(X: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """Check that X and y go together, and leave sequences without tokens out, as CRFsuite does."""
    X, y = list(X), list(y)
    if len(X) != len(y):
        raise ValueError(f"y has {len(y)} sequences, but X has {len(X)}.")
    for i, (xseq, yseq) in enumerate(zip(X, y, strict=True)):
        if isinstance(yseq, str) or not isinstance(yseq, Sequence | np.ndarray):
            raise TypeError(f"y[{i}] is a {type(yseq).__name__}; expected a list of labels.")
        if len(xseq) != len(yseq):
            raise ValueError(f"y[{i}] has {len(yseq)} labels, but X[{i}] has {len(xseq)} tokens.")
    return [xseq for xseq in X if len(xseq)], [yseq for yseq in y if len(yseq)]


def _with_frequent(X: list[Any], labels: list[Any], min_freq: float) -> EncodedSequences:
    """Encode the attributes that CRFsuite would keep; ChainCRF counts them in another way."""
    encoder = SequenceEncoder()
    data = encoder.fit_transform(X)
    kept = _frequent(data.X, labels, min_freq)
    reduced = SequenceEncoder(
        vocabulary=encoder.vocabulary.subset(kept), edge_vocabulary=encoder.edge_vocabulary
    )
    return replace(data, X=data.X[:, kept], encoder=reduced)


def _frequent(X: sp.csr_array, labels: list[Any], min_freq: float) -> NDArray[np.int64]:
    """Return the columns with a label for which the column's values sum to ``min_freq`` or more."""
    names, number = np.unique(np.asarray(labels), return_inverse=True)
    n = len(labels)
    is_label = sp.csr_array((np.ones(n), (number, np.arange(n))), shape=(len(names), n))
    kept = np.flatnonzero((is_label @ X).max(axis=0).toarray().ravel() >= min_freq)
    if not len(kept):
        raise ValueError(f"min_freq={min_freq} leaves no attribute; expected a smaller number.")
    return kept


def _by_sequence(X: Any, label: Callable[[list[Any]], list[Any]]) -> NDArray[np.object_]:
    """Return what ``label`` says of the sequences; an empty list for those without tokens."""
    X = list(X)
    full = [xseq for xseq in X if len(xseq)]
    found = iter(label(full)) if full else iter(())
    labelled = np.empty(len(X), dtype=object)  # one-dimensional also where all lengths are equal
    for i, xseq in enumerate(X):
        labelled[i] = next(found) if len(xseq) else []
    return labelled
