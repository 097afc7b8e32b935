"""From λ to λ: interrupting, going on, being watched."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import random_chain

from proxqn import Path, minimize_path


def oracle():
    return random_chain(6, n_labels=4, n_features=60, n_sequences=200, density=0.05).oracle()


def stop_after(n: int):
    seen = []

    def callback(row):
        seen.append(row)
        return len(seen) == n

    return callback


def interrupt_after(n: int):
    seen = []

    def callback(row):
        seen.append(row)
        if len(seen) == n:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize("ending", [stop_after, interrupt_after])
def test_what_is_done_is_kept_and_going_on_gives_the_same_bits(ending, tmp_path):
    whole = minimize_path(oracle(), eps=0.05)
    part = minimize_path(oracle(), eps=0.05, callback=ending(4))
    assert len(part) == 4
    assert not part.complete
    assert part.stopped
    assert not part.certified
    part.save(tmp_path / "path.npz")
    again = minimize_path(oracle(), eps=0.05, initial=Path.load(tmp_path / "path.npz"))
    assert again.complete
    np.testing.assert_array_equal(again.lams_, whole.lams_)
    np.testing.assert_array_equal(again.weights.data, whole.weights.data)
    np.testing.assert_array_equal(again.gaps, whole.gaps)


def test_an_interrupt_within_a_fit_ends_the_path_before_it():
    class Fragile:
        def __init__(self):
            self.calls = 0

        def __call__(self, w):
            self.calls += 1
            if self.calls == 20:
                raise KeyboardInterrupt
            r = w - np.arange(1.0, 6.0)
            return 0.5 * r @ r + 1.0, r

    path = minimize_path(Fragile(), 30, x0=np.zeros(5), lower_bound=0.0)
    assert 0 < len(path) < 30
    assert not path.complete
    assert "interrupted" in path.stopped


def test_rows_come_one_by_one_with_what_is_proved_up_to_there():
    rows = []
    path = minimize_path(oracle(), eps=0.05, callback=rows.append)
    assert rows == path.trace
    assert rows[0].segment == np.inf
    assert max(row.segment for row in rows[1:] if not row.why.startswith("the bound")) >= path.eps
    assert path.passes == sum(row.forward for row in rows)
