"""Who looks on while an estimator is fitted: callbacks see rows, model watchers see models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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
    callback: Callback | None, progress: Callback | None, model_at: Callable[[SparseVector], Any]
) -> Callback | None:
    """Return the callback that a solver calls for the user's and for the progress."""
    if isinstance(callback, ModelWatcher | Watcher):
        shown: list[Callback] = [callback] if progress is None else [progress, callback]
        return _Watching(callback, shown, model_at)
    if progress is None or callback is None:
        return callback or progress
    return lambda row: _called([progress, callback], row)


def _called(callbacks: list[Callback], row: Row) -> bool:
    """Call all of them; one is enough to stop."""
    answers = [callback(row) for callback in callbacks]
    return any(answers)


@final
class _Watching(Watcher):
    """Passes on rows to all, and iterates to the one who wants to see them."""

    def __init__(
        self,
        watcher: ModelWatcher | Watcher,
        shown: list[Callback],
        model_at: Callable[[SparseVector], Any],
    ) -> None:
        self._watcher, self._shown, self._model_at = watcher, shown, model_at

    def see(self, iterate: Iterate) -> None:
        if isinstance(self._watcher, Watcher):
            self._watcher.see(iterate)
        else:
            self._watcher.look(iterate.row, lambda: self._model_at(iterate.weights))

    def __call__(self, row: Row) -> bool:
        return _called(self._shown, row)
