"""What files, the command line, ``inspect`` and exports ask of a model, whatever it is.

An estimator that offers this can be saved, loaded, resumed, inspected and trained on the command
line, and nothing outside its own folder asks what it is. ``homes.py`` says where it lives;
``docs/guides/write-an-estimator.md`` writes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self, final, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.encoding import SequenceEncoder
from proxqn.features.vocabulary import Vocabulary
from proxqn.problem import Floats
from proxqn.run.trace import Trace


class ModelWriter(Protocol):
    """A model file on its way out, piece by piece."""

    def value(self, name: str, value: Any) -> None:
        """Add what JSON can hold."""

    def parameters(self, model: Any, *names: str, given: tuple[str, ...] = ()) -> None:
        """Add the shared parameters it has, and these; of ``given`` those that are not None."""

    def labels(self, name: str, labels: NDArray[Any]) -> None:
        """Add labels with their type."""

    def array(self, name: str, array: NDArray[Any]) -> None:
        """Add a one-dimensional array of whole numbers."""

    def matrix(self, name: str, matrix: Any, *, full: bool = False) -> None:
        """Add the nonzero entries of a matrix; with ``full`` the zeros as well."""

    def names(self, name: str, names: Vocabulary) -> None:
        """Add a vocabulary."""

    def needs(self, version: int) -> None:
        """Note that readers of earlier versions would misread this file."""


class ModelReader(Protocol):
    """A model file on its way in. What a file made to mislead may get wrong is refused here."""

    def value(self, name: str, default: Any = ...) -> Any:
        """Return a JSON value; without a default it must be there."""

    def count(self, name: str, default: Any = ...) -> int:
        """Return a whole number of things, 0 or above; without a default it must be there."""

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return the constructor's parameters: the shared ones and these, no others."""

    def afford(self, size: int, what: str) -> None:
        """Refuse what takes more bytes than a file of this size may ask for; before it is made."""

    def labels(self, name: str) -> NDArray[Any]:
        """Return distinct labels, in ascending order where they have one."""

    def array(self, name: str) -> NDArray[Any]:
        """Return a one-dimensional array of whole numbers."""

    def matrix(self, name: str, shape: tuple[int, int]) -> sp.csr_array:
        """Return a matrix of this shape."""

    def names(self, name: str) -> Vocabulary | None:
        """Return a vocabulary, or None where there is none."""


@final
@dataclass(frozen=True)
class WeightGroup:
    """Some weights that are looked at together."""

    label: str
    values: Floats
    name: Callable[[int], str]  # what the value at a position is the weight of


@final
@dataclass(frozen=True)
class Description:
    """What there is to see in a model."""

    rows: list[str]  # labels or nodes: the names of the rows of coef
    coef: sp.csr_array
    feature: Callable[[int], str]  # the name of a column
    sizes: dict[str, int] = field(default_factory=dict)  # of it, such as labels; by name
    transitions: Floats | None = None  # [rows, rows]
    edges: WeightGroup | None = None

    def row(self, i: int) -> WeightGroup:
        """Return the weights of a row."""
        entries = slice(self.coef.indptr[i], self.coef.indptr[i + 1])
        columns = self.coef.indices[entries]
        return WeightGroup(
            self.rows[i], self.coef.data[entries], lambda e: self.feature(int(columns[e]))
        )


class Coefficients(Protocol):
    """All weights of a model, and the names of what they are weights of."""

    @property
    def n_nonzero(self) -> int:
        """How many are not zero."""


@runtime_checkable
class Model(Protocol):
    """A fitted estimator."""

    kind: ClassVar[str]
    lam: Any
    n_features_in_: int
    objective_: float
    gap_: float
    estimate_: float
    n_iter_: int
    n_parameters_: int
    status_: Any
    trace_: Trace
    result_: Any

    def coefficients(self) -> Any:
        """Return its :class:`Coefficients`; ``fit(initial=…)`` starts from them, or from it."""

    def description(self) -> Description:
        """Return what there is to see in it."""

    def exports(self) -> Mapping[str, Callable[[], Iterator[str]]]:
        """Return the lines of other programs' forms, by the program's name."""

    def to_file(self, file: ModelWriter) -> None:
        """Write what it is made of; the record of the fit is written for it."""

    @classmethod
    def from_file(cls, file: ModelReader) -> Self:
        """Return the model of a file, without the record of its fit."""


@runtime_checkable
class Encoded(Protocol):
    """A model of named features, which an encoder numbers."""

    encoder_: SequenceEncoder | None

    def with_encoder(self, encoder: SequenceEncoder) -> Any:
        """Return a copy that reads what the encoder reads."""


def feature_namer(names: NDArray[Any] | None, prefix: str) -> Callable[[int], str]:
    """Return what names columns: a DataFrame's names, or numbers behind a prefix."""
    if names is None:
        return lambda j: f"{prefix}{j}"
    return lambda j: str(names[j])


def write_feature_names(file: ModelWriter, model: Any) -> None:
    """Write the names of the columns, where a model was fitted to a DataFrame."""
    if hasattr(model, "feature_names_in_"):
        file.names("feature_names_in", Vocabulary.from_names(model.feature_names_in_.tolist()))


def read_feature_names(file: ModelReader, model: Any) -> None:
    """Read them back."""
    vocabulary = file.names("feature_names_in")
    if vocabulary is None:
        return
    names = vocabulary.names()
    if len(names) != model.n_features_in_:
        raise ValueError(f"expected {model.n_features_in_} feature names, got {len(names)}.")
    model.feature_names_in_ = np.array(names, dtype=object)
