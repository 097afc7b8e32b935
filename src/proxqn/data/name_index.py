"""Find names in a blob of UTF-8 bytes, many at a time, without a Python dictionary.

A dictionary of ten million feature names takes over a gigabyte and seconds to build.  Here the
names stay one block of bytes; next to it stand sorted 64-bit keys, one a name: its hash in the
high bits, its position in the low ones (so that one plain sort orders both).  Looking up a batch
is a binary search per name followed by a comparison of the bytes, all in NumPy.

The hash of the bytes b_0 … b_{n-1} is the polynomial ``Σ (b_i + 1)·r^i  mod 2^64`` for an odd r,
then mixed.  Polynomials are used because one cumulative sum over a stretch of the blob yields all
its hashes: with ``P[k] = Σ_{i<k} (b_i + 1)·r^i`` a name at [s, e) has ``(P[e] − P[s])·r^{−s}``,
and r has an inverse modulo 2^64 because it is odd.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["NameIndex", "pack_names"]

_RADIX: Final = 0x9E3779B97F4A7C15  # odd, so invertible modulo 2^64
_RADIX_INVERSE: Final = pow(_RADIX, -1, 1 << 64)
_STRETCH: Final = 1 << 17  # bytes hashed at once: the temporaries stay in the cache


def pack_names(names: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack names into one UTF-8 block; name j is ``blob[offsets[j]:offsets[j + 1]]``.

    Examples
    --------
    >>> blob, offsets = pack_names(["a", "né"])
    >>> blob.tobytes().decode(), offsets.tolist()
    ('ané', [0, 1, 4])
    """
    text = "".join(names)
    try:
        blob = np.frombuffer(text.encode(), np.uint8)
    except UnicodeEncodeError:
        bad = next(name for name in names if not _is_text(name))
        msg = f"expected feature names that are valid text, got {bad!r} (a lone surrogate)"
        raise ValueError(msg) from None
    if len(blob) == len(text):  # ASCII: one byte a character
        sizes = np.fromiter(map(len, names), np.int64, len(names))
    else:
        sizes = np.fromiter((len(name.encode()) for name in names), np.int64, len(names))
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return blob, offsets


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _powers(base: int, n: int) -> NDArray[np.uint64]:
    """1, base, base², …, base^(n-1) modulo 2^64."""
    factors = np.full(n, base, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _hash_names(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One 64-bit hash per name; shape (n_names,)."""
    n = len(offsets) - 1
    sizes = np.diff(offsets)
    longest = int(sizes.max(initial=0))
    up, down = (_powers(r, _STRETCH + longest + 1) for r in (_RADIX, _RADIX_INVERSE))
    hashes = np.empty(n, np.uint64)
    first = 0
    while first < n:
        # All names that start within the next _STRETCH bytes, at least one.
        last = int(np.searchsorted(offsets, offsets[first] + _STRETCH, side="right")) - 1
        last = min(max(last, first + 1), n)
        begin = int(offsets[first])
        terms = blob[begin : int(offsets[last])].astype(np.uint64) + np.uint64(1)
        terms *= up[: len(terms)]
        sums = np.zeros(len(terms) + 1, np.uint64)
        np.cumsum(terms, out=sums[1:])
        at = offsets[first : last + 1] - begin
        hashes[first:last] = (sums[at[1:]] - sums[at[:-1]]) * down[at[:-1]]
        first = last
    return _mix(hashes)


def _mix(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the polynomial's weak low bits (MurmurHash3's finaliser)."""
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


class NameIndex:
    """An immutable index of distinct names.

    Parameters
    ----------
    blob : uint8 array
        The names' UTF-8 bytes, one after the other.
    offsets : int64 array of shape (n_names + 1,)
        Where each name begins; the last entry is ``len(blob)``.

    Examples
    --------
    >>> index = NameIndex(*pack_names(["apple", "pear"]))
    >>> index.find(*pack_names(["pear", "plum"])).tolist()
    [1, -1]
    """

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._blob = blob
        self._offsets = offsets
        n = len(offsets) - 1
        self._position_bits = np.uint64((1 << n.bit_length()) - 1)  # a mask
        keys = _hash_names(blob, offsets) & ~self._position_bits
        self._keys = np.sort(keys | np.arange(n, dtype=np.uint64))  # (n_names,)
        self._check_distinct()

    def _check_distinct(self) -> None:
        keys, distance = self._keys, 1
        while len(
            same := np.flatnonzero(keys[distance:] ^ keys[:-distance] <= self._position_bits)
        ):
            left, right = self._positions(same), self._positions(same + distance)
            twins = _equal_names(self._blob, self._offsets, left, self._blob, self._offsets, right)
            if twins.any():
                j = int(left[twins][0])
                name = self._blob[self._offsets[j] : self._offsets[j + 1]].tobytes().decode()
                msg = f"expected distinct feature names, but {name!r} occurs twice"
                raise ValueError(msg)
            distance += 1

    def _positions(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        return (self._keys[ranks] & self._position_bits).astype(np.int64)

    def find(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of each packed name, −1 where it is not in the index."""
        wanted = _hash_names(blob, offsets) & ~self._position_bits
        found = np.full(len(wanted), -1, np.int64)
        # In ascending order the binary searches walk through memory instead of jumping about.
        open_ = np.argsort(wanted)
        rank = np.empty(len(wanted), np.int64)
        rank[open_] = np.searchsorted(self._keys, wanted[open_])
        # Names that share a hash stand next to each other: step along until the bytes agree.
        while len(open_):
            open_ = open_[rank[open_] < len(self._keys)]
            open_ = open_[self._keys[rank[open_]] & ~self._position_bits == wanted[open_]]
            candidate = self._positions(rank[open_])
            equal = _equal_names(blob, offsets, open_, self._blob, self._offsets, candidate)
            found[open_[equal]] = candidate[equal]
            open_ = open_[~equal]
            rank[open_] += 1
        return found


def _equal_names(
    blob_a: NDArray[np.uint8],
    offsets_a: NDArray[np.int64],
    a: NDArray[np.int64],
    blob_b: NDArray[np.uint8],
    offsets_b: NDArray[np.int64],
    b: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether name ``a[i]`` of the first blob equals name ``b[i]`` of the second, for all i."""
    sizes = offsets_a[a + 1] - offsets_a[a]
    equal: NDArray[np.bool_] = sizes == offsets_b[b + 1] - offsets_b[b]
    pairs = np.flatnonzero(equal & (sizes > 0))
    sizes = sizes[pairs]
    if not len(pairs):
        return equal
    ends = np.cumsum(sizes)
    within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)  # 0 … size-1 for each pair
    byte_a = blob_a[np.repeat(offsets_a[a[pairs]], sizes) + within]
    byte_b = blob_b[np.repeat(offsets_b[b[pairs]], sizes) + within]
    equal[pairs] = np.logical_and.reduceat(byte_a == byte_b, ends - sizes)
    return equal
