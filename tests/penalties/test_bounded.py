"""A penalty with bounds on all weights."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import random_chain

from proxqn import ChainCRF, load, save
from proxqn.penalties import ElasticNet, Separable
from proxqn.penalties.bounded import Bounded
from proxqn.testing import check_penalty


@pytest.mark.parametrize(
    "inside", [ElasticNet(2.0, 0.5), Separable(np.array([1.0, 0.0, 2.0, 0.5]), lower=-0.1)]
)
def test_it_keeps_the_promises_of_a_penalty(inside):
    check_penalty(Bounded(inside, 0.7), 4)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan, "3"])
def test_bounds_are_positive_numbers(bad):
    with pytest.raises(ValueError, match="max_weight must be a finite number above 0"):
        Bounded(ElasticNet(1.0), bad)


def test_a_chain_within_bounds_is_proved_and_kept(tmp_path):
    problem = random_chain(1, n_labels=4, n_features=30, n_sequences=80)
    data = problem.X, problem.labels, problem.lengths
    free = ChainCRF(0.3).fit(*data)
    largest = 0.5 * float(abs(free.coef_).max())
    bounded = ChainCRF(0.3, max_weight=largest).fit(*data, initial=free)
    assert abs(bounded.coef_).max() <= largest
    assert np.abs(bounded.transitions_).max() <= largest
    assert bounded.objective_ > free.objective_
    assert bounded.gap_box_ == bounded.gap_ < free.gap_
    save(bounded, tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.max_weight, again.gap_, again.estimate_, again.box_) == (
        largest, bounded.gap_, bounded.estimate_, bounded.box_
    )  # fmt: skip
