"""The log of a training as data, read from its lines as they come.

The lines are CRFsuite's, of any algorithm, or those of `proxqn.compat.pycrfsuite.messages`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

_NUMBERS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "Loss": ("loss", float),
    "Feature norm": ("feature_norm", float),
    "Error norm": ("error_norm", float),
    "Active features": ("active_features", int),
    "Line search trials": ("linesearch_trials", int),
    "Line search step": ("linesearch_step", float),
    "Seconds required for this iteration": ("time", float),
    "Gap": ("gap", float),
    "Estimate": ("estimate", float),
}
_HEAD = re.compile(r"\*+ (?:Iteration|Epoch) #(\d+) \*+")
_LABEL = re.compile(r"    (.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)")
_AVERAGE = re.compile(r"Macro-average .*: \((\S+), (\S+), (\S+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_PROGRESS: Final = {".", *map(str, range(11))}


class LabelScore(NamedTuple):
    """How one label was predicted."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """Reads a log line by line, and says what each line ends.

    Attributes
    ----------
    iterations : list of dict
        ``num``, ``loss`` (with its penalty), ``active_features``, ``linesearch_trials``,
        ``linesearch_step``, ``time`` (seconds of the iteration), ``scores`` by label and averages
        where there is a holdout; of our fits ``gap`` and ``estimate``.
    last_iteration : dict or None
        The last of them.
    featgen_percent, featgen_num_features, featgen_seconds : number or None
        Of the making of features.
    training_seconds, storing_seconds : float or None
    log : list of str
        All lines.
    """

    def __init__(self) -> None:
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []  # with the lines they are about
        self._read: Callable[[str], str | None] = self._first

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last of the iterations, None where there are none."""
        return self.iterations[-1] if self.iterations else None

    @property
    def last_log(self) -> str:
        """The lines that the last event is about."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        """Take in a line; return the event that it is, or brings to its end."""
        self.log.append(line)
        event = self._read(line)
        if event is not None:
            start = self.events[-1][2] if self.events else 0
            # These two end before the line that shows it.
            before = event in ("prepared", "optimization_end")
            self.events.append((event, start, len(self.log) - before))
        return event

    def _first(self, line: str) -> str:
        self._read = self._features
        return "start"

    def _features(self, line: str) -> str | None:
        if line in _PROGRESS:
            self.featgen_percent += 2
            return "featgen_progress"
        name, _, value = line.partition(": ")
        if name == "Number of features":
            self.featgen_num_features = int(value)
        elif name == "Seconds required":
            self.featgen_seconds = float(value)
            self._read = self._settings
            return "featgen_end"
        return None

    def _settings(self, line: str) -> str | None:
        if self._begins(line):
            return "prepared"
        if "terminated with error" in line:
            self._read = self._between
            return "prepare_error"
        return None

    def _begins(self, line: str) -> bool:
        head = _HEAD.match(line)
        if head:
            self.iterations.append({"num": int(head[1]), "scores": {}})
            self._read = self._iteration
        return head is not None

    def _iteration(self, line: str) -> str | None:
        if line == "\n":
            self._read = self._between
            return "iteration"
        found = self.iterations[-1]
        name, _, value = line.partition(": ")
        if name in _NUMBERS:
            key, kind = _NUMBERS[name]
            found[key] = kind(value)
        elif label := _LABEL.match(line):
            counts = (int(label[i]) for i in (2, 3, 4))
            scores = (None if "*" in label[i] else float(label[i]) for i in (5, 6, 7))
            found["scores"][label[1]] = LabelScore(*counts, *scores)
        elif average := _AVERAGE.match(line):
            for key, text in zip(("precision", "recall", "f1"), average.groups(), strict=True):
                found[f"avg_{key}"] = float(text)
        elif accuracy := _ACCURACY.match(line):
            key, right = f"{accuracy[1].lower()}_accuracy", int(accuracy[2])
            found[key] = Fraction(right, max(int(accuracy[3]), 1))
            found[f"{key}_float"] = float(found[key])
        return None

    def _between(self, line: str) -> str | None:
        if self._begins(line):
            return None
        name, _, value = line.partition(": ")
        if name == "Total seconds required for training":
            self.training_seconds = float(value)
        elif line.startswith("Storing the model"):
            self._read = self._storing
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        name, _, value = line.partition(": ")
        if name == "Seconds required":
            self.storing_seconds = float(value)
        return "end" if line == "\n" else None
