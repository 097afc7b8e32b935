"""The parameters of CRFsuite's training algorithms: names, types, defaults, what they do here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final


def _truth(text: str) -> bool:
    return bool(_whole(text))


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return int(float(text))


@final
@dataclass(frozen=True)
class Parameter:
    """One of them."""

    name: str
    kind: Callable[[str], Any]
    default: Any
    help: str
    used: bool = True  # whether it has an effect here

    def read(self, text: str) -> Any:
        """Return the value of a text."""
        try:
            return self.kind(text)
        except (ValueError, OverflowError):
            kind = {_truth: "0 or 1", _whole: "a whole number", float: "a number"}[self.kind]
            raise ValueError(f"parameter {self.name}: expected {kind}, got {text!r}") from None


def _ignored(name: str, kind: Callable[[str], Any], default: Any, help_: str) -> Parameter:
    return Parameter(name, kind, default, f"{help_} Without effect here.", used=False)


UNLIMITED: Final = 2**31 - 1
_ALL = (
    Parameter("feature.minfreq", float, 0.0, "Pairs that occur less often have no weight."),
    Parameter("feature.possible_states", _truth, False,
              "Weights also for pairs of an attribute and a label that do not occur."),
    Parameter("feature.possible_transitions", _truth, False,
              "Weights also for pairs of labels that do not occur."),
)  # fmt: skip
_C1 = Parameter("c1", float, 0.0, "The factor of the L1 penalty, c1 |w|.")
_C2 = Parameter("c2", float, 1.0, "The factor of the L2 penalty, c2 w^2.")
_OURS = (
    Parameter("tol", float, None, "When to stop: ChainCRF's tol (not one of CRFsuite's)."),
    Parameter("stop", str, None, "ChainCRF's stop, estimate or gap (not one of CRFsuite's)."),
    Parameter("n_jobs", _whole, None, "Threads, -1 for all processors (not one of CRFsuite's)."),
)


def _limit(default: int) -> Parameter:
    return Parameter("max_iterations", _whole, default, "The largest number of iterations.")


def _stop(period: int, delta: float) -> tuple[Parameter, ...]:
    return (
        _ignored("period", _whole, period, "Iterations over which progress is looked at."),
        _ignored("delta", float, delta, "The progress at which to stop."),
    )


_EPSILON = _ignored("epsilon", float, 0.0, "The error at which to stop.")

ALGORITHMS: Final = {
    "lbfgs": (
        *_ALL, _C1, _C2, _limit(UNLIMITED),
        _ignored("num_memories", _whole, 6, "Pairs of the L-BFGS memory."),
        _ignored("epsilon", float, 1e-5, "The norm of the gradient at which to stop."),
        *_stop(10, 1e-5),
        _ignored("linesearch", str, "MoreThuente", "The line search."),
        _ignored("max_linesearch", _whole, 20, "Trials of a line search."),
        *_OURS,
    ),
    "l2sgd": (
        *_ALL, _C2, _limit(1000), *_stop(10, 1e-6),
        _ignored("calibration.eta", float, 0.1, "The first learning rate tried."),
        _ignored("calibration.rate", float, 2.0, "By what the learning rate changes in trials."),
        _ignored("calibration.samples", float, 1000.0, "Sequences of a trial."),
        _ignored("calibration.candidates", _whole, 10, "Good rates after which to choose."),
        _ignored("calibration.max_trials", _whole, 20, "The largest number of trials."),
        *_OURS,
    ),
    "averaged-perceptron": (*_ALL, _limit(100), _EPSILON, *_OURS),
    "passive-aggressive": (
        *_ALL,
        _ignored("type", _whole, 1, "Slack variables: 0 none, 1 PA-I, 2 PA-II."),
        _ignored("c", float, 1.0, "Aggressiveness."),
        _ignored("error_sensitive", _truth, True, "Whether the cost grows with the errors."),
        _ignored("averaging", _truth, True, "Whether weights are averaged."),
        _limit(100), _EPSILON, *_OURS,
    ),
    "arow": (
        *_ALL,
        _ignored("variance", float, 1.0, "The variance of weights at the beginning."),
        _ignored("gamma", float, 1.0, "How far weights follow a mistake."),
        _limit(100), _EPSILON, *_OURS,
    ),
}  # fmt: skip
ALIASES: Final = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


@final
class Parameters:
    """An algorithm with the values of its parameters."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self._known = {parameter.name: parameter for parameter in ALGORITHMS[algorithm]}
        self._values = {name: parameter.default for name, parameter in self._known.items()}

    def names(self) -> list[str]:
        """Return the names, in order."""
        return list(self._known)

    def find(self, name: str) -> Parameter:
        """Return a parameter; ValueError if the algorithm has none of this name."""
        if name not in self._known:
            raise ValueError(
                f"Parameter not found: {name} ({self.algorithm} has {', '.join(self._known)})"
            )
        return self._known[name]

    def __getitem__(self, name: str) -> Any:
        self.find(name)
        return self._values[name]

    def set(self, name: str, value: Any) -> None:
        """Set a value, or the text of one; None sets the default again."""
        parameter = self.find(name)
        text = str(int(value)) if isinstance(value, bool) else str(value)
        self._values[name] = parameter.default if value is None else parameter.read(text)

    def value(self, name: str, default: Any) -> Any:
        """Return a value where the algorithm has such a parameter."""
        return self._values.get(name, default)

    def changes(self) -> list[str]:
        """Say what CRFsuite would do and this does not."""
        found = []
        if self.algorithm != "lbfgs":
            objective = "the same objective as" if self.algorithm == "l2sgd" else "another one, of"
            found.append(
                f"algorithm {self.algorithm!r} is not here; what is minimised is {objective} "
                "'lbfgs'"
            )
        ignored = [
            name
            for name, parameter in self._known.items()
            if not parameter.used and self._values[name] != parameter.default
        ]
        if ignored:
            found.append(f"without effect: {', '.join(ignored)}")
        return found
