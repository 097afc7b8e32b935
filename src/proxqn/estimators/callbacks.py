"""Who looks on while an estimator is fitted: callbacks see rows, model watchers see models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, final

from proxqn.problem import SparseVector
from proxqn.run.trace import Row
from proxqn.run.watch import Callback, Iterate, Watcher


class ModelWatcher(ABC):
    """A callback of ``fit`` that may look at the model as it would be if the fit ended here.

    Examples
    --------
    Stop when the labels of some other sequences get no better:

    >>> from proxqn import ChainCRF
    >>> class Patience(ModelWatcher):
    ...     best, stop = -1.0, False
    ...     def look(self, row, model):
    ...         score = model().score([["cats", "purr"]], [["N", "V"]])
    ...         self.stop = score <= self.best
    ...         self.best = max(score, self.best)
    ...     def __call__(self, row):
    ...         return self.stop
    >>> X, y = [["dogs", "bark"], ["cats", "bark"]] * 4, [["N", "V"]] * 8
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     crf = ChainCRF(lam=0.1, tol=1e-9).fit(X, y, callback=Patience())
    >>> crf.status_.name
    'CALLBACK'
    """

    @abstractmethod
    def look(self, row: Row, model: Callable[[], Any]) -> None:
        """Take note of an iterate, before the call with its row. Off the clock.

        ``model()`` makes a fitted copy of the estimator, good for predictions.
        """

    @abstractmethod
    def __call__(self, row: Row) -> bool | None:
        """Return True to stop, as any callback may."""


def combined(
    callbacks: Iterable[Callback | None], model_at: Callable[[SparseVector], Any]
) -> Callback | None:
    """Return the callback that a solver calls for several: the progress's, the user's."""
    given = [callback for callback in callbacks if callback is not None]
    if any(isinstance(callback, ModelWatcher | Watcher) for callback in given):
        return _Watching(given, model_at)
    if len(given) < 2:
        return given[0] if given else None
    return lambda row: _called(given, row)


def _called(callbacks: list[Callback], row: Row) -> bool:
    """Call all of them; one is enough to stop."""
    answers = [callback(row) for callback in callbacks]
    return any(answers)


@final
class _Watching(Watcher):
    """Passes on rows to all, and iterates to those who want to see them."""

    def __init__(self, callbacks: list[Callback], model_at: Callable[[SparseVector], Any]) -> None:
        self._callbacks, self._model_at = callbacks, model_at

    def see(self, iterate: Iterate) -> float | None:
        scores = [self._seen_by(callback, iterate) for callback in self._callbacks]
        return next((score for score in scores if score is not None), None)

    def _seen_by(self, callback: Callback, iterate: Iterate) -> float | None:
        if isinstance(callback, Watcher):
            return callback.see(iterate)
        if isinstance(callback, ModelWatcher):
            callback.look(iterate.row, lambda: self._model_at(iterate.weights))
        return None

    def __call__(self, row: Row) -> bool:
        return _called(self._callbacks, row)
