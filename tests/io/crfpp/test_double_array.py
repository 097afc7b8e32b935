"""Any set of names comes back from a double array, which CRF++ looks up safely."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.io.crfpp.double_array import UNIT, DamagedArrayError, build, entries

NAMES = st.lists(
    st.binary(min_size=1, max_size=8).filter(lambda name: 0 not in name),
    min_size=1, max_size=60, unique=True,
)  # fmt: skip


def look_up(units, name):
    """Find a name as CRF++ does: no bound is checked on the way."""
    at = int(units["base"][0])
    for byte in name:
        child = at + byte + 1
        if units["check"][child] != at:
            return None
        at = int(units["base"][child])
    return -1 - int(units["base"][at]) if units["check"][at] == at else None


@given(NAMES)
def test_names_come_back_with_their_values(names):
    names = sorted(names)
    values = np.arange(len(names)) * 7
    units = build(names, values)
    found, their = entries(units)
    assert dict(zip(found, their.tolist(), strict=True)) == dict(
        zip(names, values.tolist(), strict=True)
    )
    for name, value in zip(names, values.tolist(), strict=True):
        assert look_up(units, name) == value
        assert look_up(units, name + b"?") is None or name + b"?" in names


@given(NAMES, st.binary(min_size=1, max_size=12))
def test_a_look_up_never_leaves_the_units(names, other):
    units = build(sorted(names), np.arange(len(names)))
    found = look_up(units, other)
    assert (found is not None) == (other in names)


def test_circles_are_refused():
    units = np.zeros(600, UNIT)
    units[0] = 1, 0
    for at, begin, of in ((3, 200, 200), (202, 3, 3)):
        units[at] = begin, of
    units[200], units[3] = (-1, 200), (200, 200)
    with pytest.raises(DamagedArrayError):
        entries(units)


def test_a_long_thin_trie_is_refused():
    """Each node ends a name and is the parent of the next: its names take a square of bytes."""
    n = 40_000
    units = np.zeros(3 * n, UNIT)
    units[0] = 1, 0
    begins = 1 + 2 * np.arange(n)
    units["check"][begins[1:]] = begins[1:]
    units["base"][begins[1:]] = -1
    units["check"][begins[:-1] + 1] = begins[:-1]
    units["base"][begins[:-1] + 1] = begins[1:]
    with pytest.raises(DamagedArrayError, match="names without end"):
        entries(units)
