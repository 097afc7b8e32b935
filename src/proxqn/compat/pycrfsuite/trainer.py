"""Training with the interface of ``pycrfsuite.Trainer``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from proxqn.compat.attributes import AttributeTable
from proxqn.compat.callers import warn_caller
from proxqn.compat.learning import LearningSettings, TrainingSet
from proxqn.compat.pycrfsuite import messages
from proxqn.compat.pycrfsuite._logparser import TrainLogParser
from proxqn.compat.pycrfsuite.parameters import ALGORITHMS, ALIASES, UNLIMITED, Parameters
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.io.crfsuite import to_bytes
from proxqn.replacing import write_atomically


class BaseTrainer:
    """Takes sequences and their labels, and writes a model of them.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        All fit the ℓ1 + ℓ2 CRF of "lbfgs"; a warning says so for the others.
    params : dict, optional
        Parameters under CRFsuite's names, and ``tol``, ``stop`` and ``n_jobs``; see :meth:`params`.
    verbose : bool, default=True
        Whether :meth:`message` prints.

    Attributes
    ----------
    crf_ : ChainCRF or None
        What was fitted, with its certificate (``crf_.gap_``); None where there was nothing to
        choose between.
    """

    verbose: Any = None  # subclasses need not call __init__
    crf_: ChainCRF | None = None
    watcher: Any = None  # a callback of ChainCRF.fit
    initial: Any = None  # a model to start from

    _parameters: Parameters
    _table: AttributeTable

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make what every trainer has, also where a subclass does not call ``__init__``."""
        self = super().__new__(cls)
        self._parameters, self._table = Parameters("lbfgs"), AttributeTable()
        return self

    def __init__(
        self,
        algorithm: str | None = None,
        params: dict[str, Any] | None = None,
        verbose: bool = True,
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def message(self, message: str) -> None:
        """Receive the log, piece by piece. By default it is printed if ``verbose``."""
        if self.verbose:
            print(message, end="")

    def append(
        self, xseq: Any, yseq: Iterable[Any], group: int = 0, *, weight: float = 1.0
    ) -> None:
        """Add a sequence to the data.

        Parameters
        ----------
        xseq : sequence of tokens, or ItemSequence
            See `proxqn.compat.attributes`.
        yseq : sequence of str
            The labels of its tokens.
        group : int, default=0
            Sequences of one group can be held out of the training.
        weight : float, default=1.0
            How many times the sequence counts (not one of the original's).
        """
        self._table.append(xseq, yseq, group, weight)

    def clear(self) -> None:
        """Forget all sequences."""
        self._table = AttributeTable()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm, with its parameters at their defaults."""
        name = ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in ALGORITHMS or type != "crf1d":
            raise ValueError(
                f"Bad arguments: algorithm={algorithm!r}, type={type!r}; expected one of "
                f"{', '.join([*ALGORITHMS, *ALIASES])}, and 'crf1d'."
            )
        self._parameters = Parameters(name)

    def params(self) -> list[str]:
        """Return the names of the algorithm's parameters."""
        return self._parameters.names()

    def get_params(self) -> dict[str, Any]:
        """Return all parameters."""
        return {name: self.get(name) for name in self.params()}

    def set_params(self, params: dict[str, Any]) -> None:
        """Set some parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self._parameters[name]

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        self._parameters.set(name, value)

    def help(self, name: str) -> str:
        """Say what a parameter does."""
        return self._parameters.find(name).help

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Fit a model and write it.

        Parameters
        ----------
        model : path
            The file; nothing is written if it is empty.
        holdout : int, default=-1
            The group of sequences to label after every iteration instead of learning from them.
        """
        self._before_train()
        if changes := self._parameters.changes():
            warn_caller(f"proxqn.compat.pycrfsuite: {'; '.join(changes)}.")
        watch = messages.Watch()
        messages.features(self.message, self._parameters, holdout)
        training = TrainingSet(self._table, holdout, self._settings())
        messages.made(self.message, training.n_weights, watch())
        messages.settings(self.message, training)
        log = messages.iteration_log(self.message, training.held_out, self.watcher)
        self.crf_ = training.fit(log, self.initial)
        status = "terminated with error: nothing to choose between"
        if self.crf_ is not None:
            status = self.crf_.status_.value
        messages.optimized(self.message, status, watch())
        self.message("Storing the model\n")
        found = training.model(self.crf_)
        if os.fspath(model):
            write_atomically(to_bytes(found), model)
        messages.stored(self.message, found, training, watch())

    def _before_train(self) -> None:
        """Prepare for a training; here there is nothing to do."""

    def _settings(self) -> LearningSettings:
        chosen = self._parameters
        limit = chosen["max_iterations"]
        return LearningSettings(
            c1=chosen.value("c1", 0.0),
            c2=chosen.value("c2", 1.0),
            min_freq=chosen["feature.minfreq"],
            possible_states=chosen["feature.possible_states"],
            possible_transitions=chosen["feature.possible_transitions"],
            max_iterations=None if limit == UNLIMITED else limit,
            tol=chosen["tol"],
            stop=chosen["stop"],
            n_jobs=chosen["n_jobs"],
        )


class Trainer(BaseTrainer):
    """A trainer whose log is read: each part of it has a method to be overridden.

    Parameters
    ----------
    algorithm, params, verbose
        As in :class:`BaseTrainer`.

    Attributes
    ----------
    logparser : TrainLogParser or None
        The log as data: ``logparser.iterations``, ``logparser.last_iteration``.
    """

    logparser: TrainLogParser | None = None

    _HOOKS: ClassVar = {
        "start": "on_start", "featgen_end": "on_featgen_end", "prepared": "on_prepared",
        "prepare_error": "on_prepare_error", "optimization_end": "on_optimization_end",
        "end": "on_end",
    }  # fmt: skip

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Read a piece of the log and call the method of the part that it ends."""
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        if event == "featgen_progress":
            self.on_featgen_progress(parser.last_log, parser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(parser.last_log, parser.last_iteration)
        else:
            getattr(self, self._HOOKS[event])(parser.last_log)

    def on_start(self, log: str) -> None:
        """Receive the first line."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Receive how far the making of features is."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Receive how many features were made."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Receive what is minimised."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Receive why nothing was."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any] | None) -> None:
        """Receive an iteration."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Receive why the fit ended."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Receive what was written."""
        print(log, end="")
