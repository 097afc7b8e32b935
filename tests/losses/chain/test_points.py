"""Points and lines of a chain: what is spent when, what a conjugate proves, what abilities are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import dense, full_gradient, go_to, random_chain, random_weights, sparse

from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import reference
from proxqn.losses.mixtures import slack
from proxqn.problem import abilities
from proxqn.problem.meter import Calls, metered
from proxqn.problem.oracle import Line, Oracle, Point, SpentPointError
from proxqn.problem.sparse import SparseVector

SENTENCE = r"this point is spent: .*go back with oracle\.at\(w\)\."


def asked(oracle):
    """Everything that needs a point's derivatives."""
    some = np.arange(0, oracle.n_coordinates, 2)
    return (
        lambda point: point.gradient(some),
        lambda point: point.sweep(0.1),
        lambda point: point.sweep(np.inf, some),
        lambda point: point.conjugate(0.5),
        lambda point: point.losses(),
    )


def begun(oracle):
    """Everything that needs a place alone."""
    some = np.arange(0, oracle.n_coordinates, 2)
    return (
        lambda point: point.along(random_weights(oracle, 5)),
        lambda point: point.draw(some, 10, 0),
    )


# --- what is spent ---------------------------------------------------------------------------


def test_a_trial_spends_the_derivatives_but_not_the_place():
    oracle = random_chain(1).oracle()
    point = go_to(oracle, random_weights(oracle, 1))
    line = point.along(random_weights(oracle, 2))
    for ask in (*asked(oracle), *begun(oracle)):
        ask(point)  # a line alone spends nothing
    line.value(1.0)
    for ask in asked(oracle):
        with pytest.raises(SpentPointError, match=SENTENCE):
            ask(point)
    for ask in begun(oracle):
        ask(point)


def test_an_accepted_trial_spends_the_point_and_its_lines():
    oracle = random_chain(1).oracle()
    point = go_to(oracle, random_weights(oracle, 1))
    line, other = (point.along(random_weights(oracle, seed)) for seed in (2, 3))
    line.value(1.0)
    there = line.accept(1.0)
    for ask in (*asked(oracle), *begun(oracle)):
        with pytest.raises(SpentPointError, match=SENTENCE):
            ask(point)
        ask(there)
    for left in (line, other):
        with pytest.raises(SpentPointError, match=SENTENCE):
            left.value(0.5)
        with pytest.raises(SpentPointError, match=SENTENCE):
            left.accept(0.5)


def test_another_point_spends_the_one_before():
    oracle = random_chain(1).oracle()
    w = random_weights(oracle, 1)
    point = go_to(oracle, w)
    line = point.along(w)
    go_to(oracle, w)
    for ask in (*asked(oracle), *begun(oracle)):
        with pytest.raises(SpentPointError, match=SENTENCE):
            ask(point)
    with pytest.raises(SpentPointError, match=SENTENCE):
        line.value(1.0)


def test_two_oracles_do_not_spend_each_other():
    problem = random_chain(1)
    one, other = problem.oracle(), problem.oracle()
    point = go_to(one, random_weights(one, 1))
    go_to(other, random_weights(one, 2)).along(random_weights(one, 3)).value(1.0)
    go_to(one.restrict(np.arange(5)), random_weights(one, 4))
    full_gradient(point, one.n_coordinates)


# --- lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.3])
@pytest.mark.parametrize("options", [{}, {"kernels": reference}])
def test_an_accepted_trial_is_the_point_of_its_weights(options, alpha):
    problem = random_chain(2, n_labels=4, binary=False).with_weights()
    oracle, n = problem.oracle(**options), problem.oracle().n_coordinates
    w, d = random_weights(oracle, 1), random_weights(oracle, 2)
    direct = problem.oracle(**options).at(w.plus(d, alpha))
    line = go_to(oracle, w).along(d)
    line.value(alpha)
    there = line.accept(alpha)
    assert there.value == pytest.approx(direct.value, rel=1e-13)
    gradients = (full_gradient(point, n) for point in (there, direct))
    np.testing.assert_allclose(*gradients, rtol=1e-12, atol=1e-12)
    assert there.conjugate(0.7) == pytest.approx(direct.conjugate(0.7), rel=1e-12)


def test_a_trial_that_is_not_the_last_can_be_accepted():
    """At the price of another forward pass: also one never made, or made before another line's."""
    problem = random_chain(2)
    oracle, n = problem.oracle(), problem.oracle().n_coordinates
    w, d, other = (random_weights(oracle, seed) for seed in (1, 2, 3))
    expected = full_gradient(problem.oracle().at(w.plus(d, 0.5)), n)
    for before in (
        lambda point, line: None,
        lambda point, line: line.value(1.0),
        lambda point, line: (line.value(0.5), line.value(1.0)),
        lambda point, line: (line.value(0.5), point.along(other).value(0.5)),
    ):
        point = go_to(oracle, w)
        line = point.along(d)
        before(point, line)
        there = line.accept(0.5)
        assert there.value == pytest.approx(problem.oracle().at(w.plus(d, 0.5)).value, rel=1e-13)
        np.testing.assert_allclose(full_gradient(there, n), expected, rtol=1e-11, atol=1e-12)


class Counting:
    """The kernels, and how often they are called."""

    def __init__(self, scores, monkeypatch):
        self.calls = []
        for name in ("put", "forward", "backward", "evaluate", "gradient", "sweep", "draw"):
            monkeypatch.setattr(scores, name, self._counted(name, getattr(scores, name)))

    def _counted(self, name, method):
        def counted(*args):
            self.calls.append(name)
            return method(*args)

        return counted

    def since(self):
        calls, self.calls = self.calls, []
        return calls


def test_no_pass_is_made_twice(monkeypatch):
    oracle = random_chain(2).oracle()
    w, d = random_weights(oracle, 1), random_weights(oracle, 2)
    kernels = Counting(oracle._passes.scores, monkeypatch)
    point = oracle.at(w)
    assert kernels.since() == ["evaluate"]
    point.sweep(0.5, w.coordinates)
    point.conjugate(0.3)
    point.conjugate(1.0)
    assert kernels.since()[0] == "sweep"
    line = point.along(d)
    assert kernels.since() == ["put"]
    line.value(1.0)
    assert kernels.since() == ["forward"]
    line.value(0.5)
    assert kernels.since() == ["put", "forward"]
    there = line.accept(0.5)
    assert kernels.since() == ["backward"]
    there.draw(d.coordinates, 10, 0)
    assert set(kernels.since()) == {"draw"}
    there.gradient(np.union1d(w.coordinates, d.coordinates))
    there.conjugate(0.3)
    assert kernels.since() == ["gradient"]
    there = there.along(d).accept(1.0)
    there.conjugate(0.0)  # needs nothing
    assert kernels.since() == ["put", "forward", "backward"]
    there.conjugate(0.5)
    assert kernels.since() == ["gradient"]


# --- the conjugate ---------------------------------------------------------------------------


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("scale", [0.0, 0.01, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("size", [0.0, 1.0, 30.0])
def test_the_conjugate_is_an_upper_bound(scale, size, single, monkeypatch):
    """Fenchel: ``ℓ*(s g) ≥ s⟨g, v⟩ - ℓ(v)`` for every v, so that much it must be."""
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = random_chain(3, n_labels=4, n_features=8, binary=False).with_weights()
    oracle, exact = problem.oracle(), problem.oracle()
    oracle = oracle.rounded() if single else oracle
    n, w = oracle.n_coordinates, random_weights(oracle, 1, scale=size)
    point = go_to(oracle, w)
    bound, g = point.conjugate(scale), full_gradient(point, n)
    room = 1e-5 * point.value * single
    for seed in range(20):
        v = random_weights(exact, seed, scale=[0.1, 1.0, 10.0][seed % 3])
        assert bound >= scale * (g @ dense(v, n)) - exact.at(v).value - room - 1e-9
    here = scale * (g @ dense(w, n)) - exact.at(w).value
    assert bound >= here - room - 1e-9
    if scale == 1.0:
        assert bound == pytest.approx(here, abs=room + 1e-9)
    if scale == 0.0:
        assert bound == 0.0


@pytest.mark.parametrize("before", ["nothing", "gradient", "sweep", "too little"])
def test_the_conjugate_is_the_same_whatever_was_asked_before(before):
    problem = random_chain(3, n_labels=4).with_weights()
    oracle = problem.oracle()
    w = random_weights(oracle, 1)
    point = go_to(oracle, w)
    if before == "gradient":
        point.gradient(np.arange(oracle.n_coordinates))[:] = np.nan  # ours by now
        point.gradient(w.coordinates[:1])
    elif before == "sweep":
        point.sweep(np.inf, w.coordinates)
    elif before == "too little":
        point.sweep(0.5, w.coordinates[::2])
    g = go_to(problem.oracle(), w).gradient(w.coordinates)
    inner = float(g @ w.values)
    terms = slack(point.losses(), 0.4, problem.weight)
    assert terms > 0.0
    assert point.conjugate(0.4) == pytest.approx(0.4 * (inner - point.value) - terms, rel=1e-12)


def test_nothing_is_proved_where_nothing_is_finite():
    oracle = random_chain(3).oracle()
    with np.errstate(invalid="ignore"):
        point = oracle.at(SparseVector(np.array([0]), np.array([np.nan])))
        assert point.conjugate(0.5) == np.inf


# --- abilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [False, True])
def test_abilities(count, monkeypatch):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    oracle = random_chain(1).oracle()
    oracle = metered(oracle, Calls()) if count else oracle
    assert isinstance(oracle, Oracle)
    point = oracle.at(SparseVector.empty())
    assert isinstance(point, Point)
    assert isinstance(point, abilities.Draws)
    assert isinstance(point.along(SparseVector.empty()), Line)
    for ability in abilities.ABILITIES:
        assert isinstance(oracle, ability) or ability in (abilities.Draws, abilities.Rounded)
    for other in (oracle.rounded(), oracle.restrict(np.arange(4))):
        assert isinstance(other, abilities.Subsamples)
        assert isinstance(other.at(SparseVector.empty()), abilities.Draws)


def test_a_meter_changes_no_result_and_counts_a_part_as_its_share(monkeypatch):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = random_chain(1, n_sequences=12)
    calls = Calls()
    oracle, plain = metered(problem.oracle(), calls), problem.oracle()
    w, n = random_weights(plain, 1), plain.n_coordinates
    point, expected = oracle.at(w), plain.at(w)
    assert point.value == expected.value
    np.testing.assert_array_equal(full_gradient(point, n), full_gradient(expected, n))
    assert point.conjugate(0.3) == expected.conjugate(0.3)
    assert (calls.counts["forward"], calls.counts["gradient"]) == (1.0, 1.0)
    oracle.restrict(np.arange(3)).at(w)
    assert calls.counts["forward"] == 1.25
    assert oracle.rounded().at(w).value == pytest.approx(expected.value, rel=1e-6)
    assert calls.counts["forward"] == 2.25


def test_curvatures_and_costs_are_positive():
    oracle = random_chain(1).with_weights().oracle()
    diagonal = oracle.curvatures(np.arange(oracle.n_coordinates))
    assert (diagonal > 0.0).all()
    assert oracle.pass_cost() > 0.0
    assert sparse(diagonal).coordinates.tolist() == list(range(oracle.n_coordinates))
