"""Records of a file in batches; of a pipe, what is there: who waits for an answer gets it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

_T = TypeVar("_T")
_END = object()


def batched(records: Iterable[_T], source: str, size: int) -> Iterator[list[_T]]:
    """Yield lists of at most so many records.

    From a regular file each is as long as possible. From a pipe, a terminal or the like it is what
    has arrived, one record at least: a thread reads ahead, two lists at most.
    """
    if not _arrives(source):
        stream = iter(records)
        while some := list(islice(stream, size)):
            yield some
        return
    ahead: Queue[Any] = Queue(2 * size)
    left = Event()
    Thread(target=_read, args=(records, ahead, left), daemon=True).start()
    try:
        yield from _arrived(ahead, size)
    finally:
        left.set()
        _emptied(ahead)  # the reader may be waiting for room


def _arrives(source: str) -> bool:
    """Whether a source may have more to come than there is."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode if source == "-" else os.stat(source).st_mode
    except (OSError, ValueError, AttributeError):  # none; or what stands in for standard input
        return False
    return not stat.S_ISREG(mode)


def _read(records: Iterable[Any], ahead: Queue[Any], left: Event) -> None:
    try:
        for record in records:
            ahead.put(record)
            if left.is_set():
                return
        ahead.put(_END)
    except BaseException as error:  # raised again where the records are asked for
        ahead.put(_Failure(error))


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _arrived(ahead: Queue[Any], size: int) -> Iterator[list[Any]]:
    end: Any = None
    while end is None:
        some = [ahead.get()]
        while len(some) < size and not ahead.empty():
            some.append(ahead.get())
        if some[-1] is _END or isinstance(some[-1], _Failure):
            end = some.pop()
        if some:
            yield some
    if isinstance(end, _Failure):
        raise end.error


def _emptied(ahead: Queue[Any]) -> None:
    try:
        while True:
            ahead.get_nowait()
    except Empty:
        return
