"""The pieces that estimators write, as the contents of a file, and back, checked."""

from __future__ import annotations

from typing import Any, final

import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.vocabulary import Vocabulary
from proxqn.io import pieces
from proxqn.io.container import Contents, ModelFileError
from proxqn.io.fit_record import pack_parameters, unpack_parameters
from proxqn.io.whole_file import allowance

_MISSING = object()


@final
class ContentsWriter:
    """Collects what an estimator writes; a :class:`~proxqn.estimators.model.ModelWriter`."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}
        self._meta: dict[str, Any] = {}
        self._version = 1

    def value(self, name: str, value: Any) -> None:
        """Add what JSON can hold."""
        self._meta[name] = value

    def parameters(self, model: Any, *names: str, given: tuple[str, ...] = ()) -> None:
        """Add the shared parameters and these; those of ``given`` only where they are not None."""
        self._meta["parameters"] = pack_parameters(model, names, given)

    def labels(self, name: str, labels: NDArray[Any]) -> None:
        """Add labels with their type."""
        self._meta[name] = pieces.pack_labels(labels)

    def array(self, name: str, array: NDArray[Any]) -> None:
        """Add a one-dimensional array of whole numbers."""
        self._arrays[name] = array

    def matrix(self, name: str, matrix: Any, *, full: bool = False) -> None:
        """Add the nonzero entries of a matrix; with ``full`` the zeros as well."""
        self._arrays |= pieces.pack_matrix(name, matrix, full=full)

    def names(self, name: str, names: Vocabulary) -> None:
        """Add a vocabulary."""
        self._arrays |= pieces.pack_names(name, names)

    def needs(self, version: int) -> None:
        """Note that readers of earlier versions would misread this file."""
        self._version = max(self._version, version)

    def contents(self, kind: str) -> Contents:
        """Return all of it."""
        return Contents(kind, self._arrays, self._meta, self._version)


@final
class ContentsReader:
    """What a file holds; a :class:`~proxqn.estimators.model.ModelReader`."""

    def __init__(self, contents: Contents) -> None:
        self._arrays, self._meta = contents.arrays, contents.meta
        self._limit = allowance(contents.size)

    def value(self, name: str, default: Any = _MISSING) -> Any:
        """Return a JSON value; without a default it must be there."""
        if default is _MISSING and name not in self._meta:
            raise ModelFileError(f"the model's description cannot be read ({name!r} is missing).")
        return self._meta.get(name, default)

    def count(self, name: str, default: Any = _MISSING) -> int:
        """Return a whole number of things, 0 or above."""
        return pieces.unpack_count(name, self.value(name, default))

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return the constructor's parameters: the shared ones and these, no others."""
        return unpack_parameters(self.value("parameters"), names)

    def afford(self, size: int, what: str) -> None:
        """Refuse what would take more memory than a file of this size may ask for."""
        if size > self._limit:
            raise ModelFileError(
                f"{what} would take {size:,} bytes, more than twice the file and 64 MB."
            )

    def labels(self, name: str) -> NDArray[Any]:
        """Return distinct labels, in ascending order where they have one."""
        return pieces.unpack_labels(self.value(name), self._limit)

    def array(self, name: str) -> NDArray[Any]:
        """Return a one-dimensional array of whole numbers."""
        found = pieces.take(self._arrays, name)
        if found.dtype.kind not in "iu":
            raise ModelFileError(f"the array {name!r} holds no whole numbers.")
        return found

    def matrix(self, name: str, shape: tuple[int, int]) -> sp.csr_array:
        """Return a matrix of this shape."""
        return pieces.unpack_matrix(name, self._arrays, shape)

    def names(self, name: str) -> Vocabulary | None:
        """Return a vocabulary, or None where there is none."""
        present = f"{name}.sizes" in self._arrays
        return pieces.unpack_names(name, self._arrays) if present else None
