"""``sklearn_crfsuite.CRF``: an estimator around a trainer, a model file and a tagger."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self, final

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from proxqn.compat.pycrfsuite._dumpparser import ParsedDump
from proxqn.compat.pycrfsuite.tagger import Tagger
from proxqn.compat.pycrfsuite.trainer import BaseTrainer
from proxqn.compat.sklearn_crfsuite import metrics
from proxqn.compat.sklearn_crfsuite._fileresource import FileResource
from proxqn.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
from proxqn.estimators.callbacks import ModelWatcher
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.io.crfsuite import to_bytes
from proxqn.io.crfsuite.chain import to_model
from proxqn.run.watch import Callback

_PARAMETERS = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
} | {
    name: name
    for name in (
        "c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch",
        "max_linesearch", "c", "error_sensitive", "averaging", "variance", "gamma",
    )
}  # fmt: skip
_OURS = ("tol", "stop", "n_jobs")


@final
class CRF(BaseEstimator):  # type: ignore[misc]
    """Linear-chain CRF with the interface of ``sklearn_crfsuite.CRF``.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        All fit the ℓ1 + ℓ2 CRF of "lbfgs" here; a warning says so for the others.
    min_freq : float, optional
        Pairs of attributes and labels, and of labels, whose values sum to less have no weight.
    all_possible_states, all_possible_transitions : bool, optional
        Weights also for the (attribute, label) and (label, label) pairs that do not occur in the
        training data.
    c1 : float, optional
        The ℓ1 penalty, ``lam``. None or 0, CRFsuite's default, becomes 1e-6 (1e-3 if c2 is 0).
    c2 : float, optional
        The ℓ2 penalty ``c2 ‖w‖²``; 1 by default, as in CRFsuite.
    max_iterations : int, optional
        As of :class:`proxqn.ChainCRF` by default, where CRFsuite's lbfgs has no limit.
    num_memories, epsilon, period, delta, linesearch, max_linesearch : optional
        Accepted without effect, like all that follow up to ``gamma``; a warning names them.
    calibration_eta, calibration_rate, calibration_samples : optional
    calibration_candidates, calibration_max_trials, pa_type, c : optional
    error_sensitive, averaging, variance, gamma : optional
    verbose : bool, default=False
        Print a line an iteration.
    model_filename : str, optional
        Where the model is, as CRFsuite's file: ``fit`` writes it, and a model that is there already
        can be used without ``fit``. By default a temporary file, which goes with the estimator.
    keep_tempfiles : bool, default=False
        Leave the temporary file where it is, ``modelfile.name``.
    trainer_cls : type, optional
        A :class:`proxqn.compat.pycrfsuite.Trainer` of one's own.
    tol : float, optional
        How far above the optimum to stop, as in :class:`proxqn.ChainCRF`.
    stop : {"estimate", "gap"}, optional
        What is to be within ``tol``, as there: the estimated error, or the gap that is proved.
    n_jobs : int, optional
        Threads; -1 for all processors. The result does not depend on it.

    Attributes
    ----------
    classes_ : list of str
        The labels, in the order they first occur. This, like the attributes below, is None before
        there is a model.
    tagger_ : proxqn.compat.pycrfsuite.Tagger
        The model, opened.
    state_features_, transition_features_ : dict
        The nonzero weights, ``{(attribute, label): weight}``, ``{(label, next label): weight}``.
    attributes_, num_attributes_ : list of str, int
        The attributes that have one.
    size_ : int
        Bytes of the model file.
    modelfile : FileResource
        Where it is: ``modelfile.name``.
    training_log_ : TrainLogParser
        ``training_log_.iterations``: a dict an iteration, with our ``gap``.
    crf_ : ChainCRF
        After ``fit``: the model with its certificate (``crf_.gap_``, ``crf_.objective_``).

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

    training_log_: Any = None
    _modelfile: FileResource | None = None
    _tagger: Tagger | None = None
    _info_cached: ParsedDump | None = None

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
        tol: float | None = None,
        stop: Literal["estimate", "gap"] | None = None,
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
        """Train a model.

        Parameters
        ----------
        X : list of lists of tokens
            Dicts, lists of strings or strings; see `proxqn.compat.attributes`.
        y : list of lists of str
            Their labels.
        X_dev, y_dev : optional
            Others, to be labelled after every iteration: scores stand in ``training_log_``.
        callback, initial : optional
            As in :meth:`proxqn.ChainCRF.fit`; ``initial`` may be a fitted ``CRF`` too.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data, or none of them.")
        trainer = self._trainer(callback, initial)
        _append(trainer, X, y, "", group=0)
        if X_dev is not None:
            _append(trainer, X_dev, y_dev, "_dev", group=1)
        self._tagger = self._info_cached = None
        trainer.train(self.modelfile.refresh(), holdout=-1 if X_dev is None else 1)
        self.crf_: ChainCRF | None = getattr(trainer, "crf_", None)
        self.training_log_ = getattr(trainer, "logparser", None)
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """Return the most probable labels, a list for every sequence."""
        return self._opened().tag_many(X)

    def predict_single(self, xseq: Any) -> list[str]:
        """Return the most probable labels of one sequence."""
        return self._opened().tag(xseq)

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """Return, for every sequence, a list with one dict ``label -> probability`` a token."""
        return self._opened().marginals(X)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Return one dict ``label -> probability`` a token of one sequence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Any) -> float:
        """Return the fraction of tokens whose predicted label is right."""
        return float(metrics.flat_accuracy_score(y, self.predict(X)))

    @property
    def modelfile(self) -> FileResource:
        """The file that the model is in."""
        if self._modelfile is None or not self._modelfile.is_of(self.model_filename):
            self._modelfile = FileResource(
                self.model_filename, self.keep_tempfiles, suffix=".crfsuite", prefix="model"
            )
        return self._modelfile

    @property
    def tagger_(self) -> Tagger | None:
        """The model, opened; None where there is none."""
        if self._tagger is None and self.modelfile.name is not None:
            self._tagger = Tagger()
            self._tagger.open(self.modelfile.name)
        return self._tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels, in the order they first occur."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Bytes of the model file."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have a weight."""
        return None if self._info is None else len(self._info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have a weight, by number."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The nonzero weights of attributes and labels, ``{(attribute, label): weight}``."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The nonzero weights of transitions, ``{(label, next label): weight}``."""
        return None if self._info is None else self._info.transitions

    @property
    def _info(self) -> ParsedDump | None:
        if self._info_cached is None and self.tagger_ is not None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    def _opened(self) -> Tagger:
        if self.tagger_ is None:
            raise NotFittedError(
                "This CRF is not fitted yet; call fit first, or pass the file of a model as "
                "model_filename."
            )
        return self.tagger_

    def _trainer(self, callback: Any, initial: Any) -> Any:
        params = {theirs: getattr(self, ours) for ours, theirs in _PARAMETERS.items()}
        cls = self.trainer_cls or LinePerIterationTrainer
        is_ours = isinstance(cls, type) and issubclass(cls, BaseTrainer)
        params |= {name: getattr(self, name) for name in _OURS}
        given = {name: value for name, value in params.items() if value is not None}
        trainer = cls(algorithm=self.algorithm, params=given, verbose=self.verbose)
        if is_ours:
            trainer.watcher = callback
            trainer.initial = initial.crf_ if isinstance(initial, CRF) else initial
        elif callback is not None or initial is not None:
            raise ValueError(
                "callback and initial need a trainer_cls that is a "
                f"proxqn.compat.pycrfsuite.Trainer, got {cls!r}."
            )
        return trainer

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if k not in ("_tagger", "_info_cached")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {"tol": None, "stop": None, "n_jobs": None} | state
        if "modelfile" in state:  # the original's, read where this module stands in for it
            state["_modelfile"] = state.pop("modelfile")
        super().__setstate__(state)
        if "crf_" in state and "_modelfile" not in state:  # of version 0.1
            labels = self.__dict__.pop("classes_")
            Path(self.modelfile.refresh()).write_bytes(to_bytes(to_model(self.crf_, labels)))


def _append(trainer: Any, X: Any, y: Any, name: str, group: int) -> None:
    X, y = list(X), list(y)
    if len(X) != len(y):
        raise ValueError(f"y{name} has {len(y)} sequences, but X{name} has {len(X)}.")
    for i, (xseq, yseq) in enumerate(zip(X, y, strict=True)):
        if isinstance(yseq, str):
            raise TypeError(f"y{name}[{i}] is a str; expected a list of labels.")
        try:
            trainer.append(xseq, yseq, group)
        except (TypeError, ValueError) as error:
            raise type(error)(f"sequence {i} of X{name}: {error}") from None
