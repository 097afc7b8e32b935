import itertools
from dataclasses import replace

import numpy as np
from benchmarks.ceilings import Ceilings
from benchmarks.floors import floors, rows, table
from benchmarks.kernel_times import Sizes, _pairs

from benchmarks import ceilings

ONE = Ceilings(
    fma=1e9, read_l1=1e12, read_l2=1e12, read_l3=1e12, read_dram=1e12, load=2e9, store=1e9
)
SIZES = Sizes(
    n=1000,
    L=10,
    pairs=100,
    E=50_000,
    A=20,
    E_A=4000,
    E_features=3000,
    columns=15,
    adds=18_000,
    real=8,
    n_inner=20,
    m=5,
    inner_real=8,
    passes=4.0,
)


def test_floors_follow_the_formulas():
    found = floors(SIZES, ONE)
    assert found["forward"][0] == 1000 * (100 + 19 * 10) / 1e9
    assert found["backward and marginals"][0] == 1000 * (200 + 22 * 10) / 1e9
    assert found["score update"][0] == 4000 / 1e9  # stores are the slower
    assert found["partial gradient"][0] == 4000 / 2e9
    assert found["full sweep"][0] == 50_000 * 10 / 1e9
    assert found["inner coordinate descent"][0] == 2 * 5 * 4 * 20 / 1e9
    assert found["Viterbi"][0] == 3 * 1000 * 100 / 1e9


def test_a_product_takes_the_pairs_with_a_weight_where_they_are_few():
    transitions = np.zeros((30, 30))
    transitions[:, :2] = 1.0
    assert _pairs(transitions) == 60 + 30  # and a sum over all labels
    assert floors(replace(SIZES, pairs=90), ONE)["forward"][0] == 1000 * (90 + 19 * 10) / 1e9
    transitions[0, 2:6] = -3.0  # lists all pairs of four labels: too many
    assert _pairs(transitions) == 900


def test_single_precision_does_twice_as_much_at_once():
    double, single = floors(SIZES, ONE), floors(replace(SIZES, real=4), ONE)
    for kernel in ("forward", "backward and marginals", "full sweep"):
        assert single[kernel][0] == double[kernel][0] / 2
    assert single["score update"][0] == single["partial gradient"][0] == 18_000 / 2e9


def test_a_kernel_below_its_floor_is_marked():
    times = dict.fromkeys(floors(SIZES, ONE), 1.0)
    assert "wrong" not in table(rows(SIZES, ONE, times))
    times["forward"] = 1e-9
    assert table(rows(SIZES, ONE, times)).count("floor is wrong") == 1


def test_reading_rates_are_of_the_cache_that_holds_the_array():
    c = Ceilings(fma=1, read_l1=4, read_l2=3, read_l3=2, read_dram=1, load=1, store=1)
    assert [c.read(n) for n in (1 << 10, 1 << 18, 1 << 23, 1 << 28)] == [4, 3, 2, 1]


def test_streaming_counts_the_bytes_of_all_threads(monkeypatch):
    monkeypatch.setattr(ceilings, "DRAM", 1 << 20)  # bytes
    clock = itertools.count()  # a second for every round
    monkeypatch.setattr(ceilings.time, "perf_counter", lambda: float(next(clock)))
    assert ceilings.streaming(1) == 1.5 * 2**20  # one array read, the other read and written
    assert ceilings.streaming(2) == 3.0 * 2**20
