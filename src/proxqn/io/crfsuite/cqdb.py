"""The dictionaries of a model file (CQDB): numbers to names, names to numbers.

A dictionary has a header of 24 bytes (``CQDB``, its size, flags, a number that shows the order of
bytes, how many names, where their offsets stand), 256 pairs of a hash table's offset and size, the
records (number, size of the name, the name and a zero byte), the hash tables, and the offsets of
the records by number.

A name is looked up in table ``hash % 256``, from place ``hash // 256`` on, round the end, until a
place is empty; half of the places are.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from proxqn.features.vocabulary import Vocabulary
from proxqn.io.crfsuite.name_hash import hash_names
from proxqn.io.foreign import BinaryReader

_HEADER: Final = struct.Struct("<4s5I")
_NAME: Final = b"CQDB"
_BYTE_ORDER: Final = 0x62445371
_N_TABLES: Final = 256
_TABLES_AT: Final = _HEADER.size
_RECORDS_AT: Final = _TABLES_AT + 8 * _N_TABLES
_RECORD: Final = 8  # number and size, before the name
_LONGEST: Final = 1 << 20  # bytes of a name; hashing takes a step for every twelve of the longest

Ints = NDArray[np.int64]


def write(names: Vocabulary) -> bytes:
    """Return the dictionary of names, numbered in their order."""
    blob, offsets, _ = names.to_arrays()
    sizes = np.diff(offsets) + 1  # with the zero byte
    if (blob == 0).any():
        raise ValueError("a name holds a zero byte, which ends names in CRFsuite's files.")
    if sizes.max(initial=0) > _LONGEST:
        raise ValueError(f"a name is longer than {_LONGEST:,} bytes; shorten it.")
    places = _RECORDS_AT + np.cumsum(sizes + _RECORD) - (sizes + _RECORD)
    records = _records(blob, offsets, sizes, places - _RECORDS_AT)
    hashes = hash_names(records, places - _RECORDS_AT + _RECORD, sizes)
    tables, table_sizes = _tables(hashes, places)
    tables_at = _RECORDS_AT + len(records) + np.cumsum(table_sizes * 8) - table_sizes * 8
    refs = np.stack([np.where(table_sizes > 0, tables_at, 0), table_sizes], axis=1)
    parts = [refs.astype("<u4").tobytes(), records.tobytes(), tables.tobytes()]
    offsets_at = _TABLES_AT + sum(map(len, parts)) if len(sizes) else 0
    parts.append(places.astype("<u4").tobytes())
    size = _TABLES_AT + sum(map(len, parts))
    head = _HEADER.pack(_NAME, size, 0, _BYTE_ORDER, len(sizes), offsets_at)
    return b"".join([head, *parts])


def _records(
    blob: NDArray[np.uint8], offsets: Ints, sizes: Ints, places: Ints
) -> NDArray[np.uint8]:
    n = len(sizes)
    out = np.zeros(int((sizes + _RECORD).sum()), np.uint8)
    heads = np.stack([np.arange(n), sizes], axis=1).astype("<u4").view(np.uint8)
    out[places[:, None] + np.arange(_RECORD)] = heads.reshape(n, _RECORD)
    out[ranges(places + _RECORD, sizes - 1)] = blob
    return out


def _tables(hashes: NDArray[np.uint32], places: Ints) -> tuple[NDArray[Any], Ints]:
    """Return the hash tables, one behind the other, and their sizes.

    Names go in by their numbers. The tables are filled side by side: the first name of each, then
    the second; names of different tables do not get in one another's way.
    """
    table = (hashes % _N_TABLES).astype(np.int64)
    sizes = 2 * np.bincount(table, minlength=_N_TABLES)
    starts = np.cumsum(sizes) - sizes
    buckets = np.zeros((int(sizes.sum()), 2), dtype="<u4")
    order = np.argsort(table, kind="stable")
    turn = np.arange(len(order)) - (starts // 2)[table[order]]
    by_turn = order[np.argsort(turn, kind="stable")]
    for names in np.split(by_turn, np.cumsum(np.bincount(turn))):
        place = (hashes[names] >> 8).astype(np.int64)
        while len(names):
            of = table[names]
            at = starts[of] + place % sizes[of]
            free = buckets[at, 1] == 0
            buckets[at[free], 0], buckets[at[free], 1] = hashes[names[free]], places[names[free]]
            names, place = names[~free], place[~free] + 1
    return buckets, sizes


def read(file: BinaryReader, at: int, n_names: int, what: str) -> Vocabulary:
    """Return the names of the dictionary at an offset; refuse one that CRFsuite would misread."""
    file.check(at, _RECORDS_AT, f"the dictionary of {what}")
    name, size, _, order, n_offsets, offsets_at = _HEADER.unpack_from(file.data, at)
    if name != _NAME or order != _BYTE_ORDER:
        file.fail(f"damaged: expected the dictionary of {what} at {at:,}.")
    file.check(at, size, f"the dictionary of {what}")
    if size < _RECORDS_AT or n_offsets < n_names:
        file.fail(f"damaged: the dictionary of {what} has room for {n_offsets:,} of {n_names:,}.")
    return _Dictionary(file, at, size, n_names, what).names(offsets_at)


@final
class _Dictionary:
    """A dictionary that is being read: everything it says lies inside ``size`` bytes."""

    def __init__(self, file: BinaryReader, at: int, size: int, n_names: int, what: str) -> None:
        self.bytes = file.array(at, size, np.uint8, what)
        self.size = size
        self.n = n_names
        self._file, self._what = file, what

    def fail(self, problem: str) -> NoReturn:
        self._file.fail(f"damaged: the dictionary of {self._what} {problem}.")

    def names(self, offsets_at: int) -> Vocabulary:
        if not self.n:
            return Vocabulary.from_names([])
        if not _RECORDS_AT <= offsets_at <= self.size - 4 * self.n:
            self.fail("has its offsets outside itself")
        records = self.bytes[offsets_at : offsets_at + 4 * self.n].view("<u4").astype(np.int64)
        if records.min() < _RECORDS_AT or records.max() > self.size - _RECORD:
            self.fail("has a record outside itself")
        number, sizes = self.words(records).T.astype(np.int64)
        if (number != np.arange(self.n)).any():
            self.fail("has a record of another number")
        self._check_sizes(records, sizes)
        self._check_tables(records, sizes)
        blob = self.bytes[ranges(records + _RECORD, sizes)]
        ends = np.cumsum(sizes) - 1
        if not np.array_equal(np.flatnonzero(blob == 0), ends):
            self.fail("has a name that does not end at its zero byte")
        offsets = np.zeros(self.n + 1, np.int64)
        np.cumsum(sizes - 1, out=offsets[1:])
        try:
            vocabulary = Vocabulary(np.delete(blob, ends), offsets)
            _ = vocabulary.index  # refuses a name given twice
        except ValueError as error:
            self.fail(f"cannot be used: {error}")
        return vocabulary

    def _check_sizes(self, records: Ints, sizes: Ints) -> None:
        """Refuse names that overlap before they are put side by side: that could be huge."""
        if sizes.min() < 1 or sizes.max() > _LONGEST or sizes.sum() > self.size:
            self.fail("has a name of an impossible size")
        if (records + _RECORD + sizes > self.size).any():
            self.fail("has a name outside itself")

    def _check_tables(self, records: Ints, sizes: Ints) -> None:
        """Refuse hash tables in which CRFsuite would not find each name, or look for ever."""
        refs = self.bytes[_TABLES_AT:_RECORDS_AT].view("<u4").reshape(-1, 2).astype(np.int64)
        starts, lengths = refs.T
        if lengths.sum() * 8 > self.size or (starts + 8 * lengths > self.size).any():
            self.fail("has a hash table outside itself")
        entries = ranges(starts, lengths * 8)
        buckets = self.bytes[entries].view("<u4").reshape(-1, 2)
        full = buckets[:, 1] != 0
        table = np.repeat(np.arange(_N_TABLES), lengths)
        hashes = hash_names(self.bytes, records + _RECORD, sizes)
        order = np.argsort(records)
        found = np.argsort(buckets[full, 1], kind="stable")
        same = full.sum() == self.n and (
            (buckets[full, 1][found] == records[order]).all()
            and (buckets[full, 0][found] == hashes[order]).all()
            and (table[full][found] == hashes[order] % _N_TABLES).all()
        )
        if not same or not _reachable(buckets, full, table, lengths):
            self.fail("has hash tables in which its names are not found")

    def words(self, at: Ints) -> NDArray[Any]:
        """Return two numbers at each place; records are not aligned."""
        found: NDArray[Any] = self.bytes[at[:, None] + np.arange(_RECORD)].view("<u4")
        return found


def _reachable(buckets: NDArray[Any], full: NDArray[np.bool_], table: Ints, lengths: Ints) -> bool:
    """Whether no place is empty between where a name's search begins and where it stands.

    A table twice as long as it is full has an empty place, so that each search ends.
    """
    n_full = np.bincount(table[full], minlength=len(lengths))
    if (n_full >= lengths)[lengths > 0].any():
        return False
    starts = np.cumsum(lengths) - lengths
    place = np.flatnonzero(full)
    of = table[place]
    home = starts[of] + (buckets[place, 0] >> 8).astype(np.int64) % lengths[of]
    n_before = np.concatenate([[0], np.cumsum(~full)])  # empty places before each
    around = place < home
    empty = n_before[place] - n_before[home]
    empty[around] += (n_before[starts + lengths] - n_before[starts])[of[around]]
    return not empty.any()


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return the numbers ``start … start + size - 1`` of all stretches, one behind the other.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
