"""An estimator's problem on some data, before anything is minimised: for paths and folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.input.tokens import Tokens
from proxqn.features.partial_labels import PartialLabels
from proxqn.penalties.family import Family
from proxqn.problem import Ints, Oracle, SparseVector


class Held(Protocol):
    """The samples of a loss in its own order, to predict and score."""

    @property
    def n(self) -> int:
        """How many there are."""

    @property
    def strata(self) -> NDArray[Any] | None:
        """The classes to keep in proportion in every fold; None for sequences."""

    def take(self, samples: Ints) -> tuple[Any, Any]:
        """Return X and y of some samples, as the estimator's ``predict`` and scorers take them."""


@final
@dataclass(frozen=True)
class Stated:
    """What a fit would minimise, for any λ."""

    oracle: Oracle
    penalty: Family
    model_at: Callable[[SparseVector], Any]  # a fitted model with these weights
    held: Held


@final
@dataclass(frozen=True)
class HeldSequences:
    """Sequences with their labels: they come as lists."""

    tokens: Tokens
    labels: PartialLabels
    classes: NDArray[Any]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.tokens.lengths)

    @property
    def strata(self) -> NDArray[Any] | None:
        """The labels where every sequence is one token, as in scikit-learn's usual X."""
        return self.labels.labels if self.tokens.alone and self.labels.complete else None

    def take(self, samples: Ints) -> tuple[Any, Any]:
        """Return tokens, and a list of arrays of labels; of single tokens one array."""
        if not self.labels.complete:
            raise ValueError(
                "folds cannot be scored where labels are missing: leave these sequences out."
            )
        mask = np.zeros(self.n, dtype=bool)
        mask[samples] = True
        tokens = replace(self.tokens.take(mask), listed=not self.tokens.alone)
        y = self.classes[self.labels.labels[np.repeat(mask, self.tokens.lengths)]]
        return tokens, tokens.in_form_of_input(y)


@final
@dataclass(frozen=True)
class HeldSamples:
    """Rows with their classes."""

    X: sp.csr_array
    y: NDArray[Any]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.y)

    @property
    def strata(self) -> NDArray[Any] | None:
        """The classes."""
        return self.y

    def take(self, samples: Ints) -> tuple[Any, Any]:
        """Return rows and classes."""
        return self.X[samples], self.y[samples]
