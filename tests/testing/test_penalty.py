"""Each promise that check_penalty proves, broken once: the check must see it, and say which."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.penalty import Local, Penalty
from proxqn.testing import check_penalty

N = 30
BROKEN = []


class Arrays(Penalty):
    """A penalty from arrays of one number, or of one for each coordinate."""

    local = Local

    def __init__(self, lam=1.0, l2=0.0, lower=-math.inf, upper=math.inf):
        self.numbers = [np.atleast_1d(np.asarray(x, float)) for x in (lam, l2, lower, upper)]

    def on(self, coordinates):
        return self.local(*(x if len(x) == 1 else x[coordinates] for x in self.numbers))

    @property
    def least(self):
        lam = self.numbers[0]
        return float(lam[lam > 0].min())

    @property
    def unpenalised(self):
        return np.flatnonzero(np.broadcast_to(self.numbers[0], N) == 0.0)


def mixed(kind=Arrays):
    """Return one with all that there is: some free, some ridge, some bounds."""
    rng = np.random.default_rng(0)
    lam = rng.uniform(0.1, 2.0, N) * (np.arange(N) % 4 > 0)
    return kind(
        lam,
        np.where(np.arange(N) % 3 == 0, 0.7, 0.0),
        np.where(np.arange(N) % 5 == 0, 0.0, np.where(np.arange(N) % 7 == 0, -1.5, -math.inf)),
        np.where(np.arange(N) % 6 == 1, 0.8, math.inf),
    )


@pytest.mark.parametrize(
    "penalty",
    [
        Arrays(),
        Arrays(2.0, 0.5),
        Arrays(0.3, lower=0.0),
        Arrays(0.3, 1e-9),
        Arrays(1.0, lower=-2.0, upper=0.5),
        Arrays(np.linspace(0.0, 1.0, N)),
        Arrays(1.0, lower=0.0, upper=0.0),
        mixed(),
    ],
    ids=["l1", "elastic", "positive", "hardly a ridge", "box", "each its own", "shut", "mixed"],
)
def test_right_penalties_keep_every_promise(penalty):
    for seed in range(2):
        check_penalty(penalty, N, seed=seed)


@pytest.mark.parametrize(
    "penalty",
    [
        ElasticNet(1.5),
        ElasticNet(1.5, 0.3),
        Separable(0.7),
        Separable(mixed().numbers[0], *mixed().numbers[1:]),
        Separable(mixed().numbers[0], 0.5, lower=0.0),
        Separable(2.0, upper=mixed().numbers[3]),
    ],
)
def test_our_penalties_keep_every_promise(penalty):
    check_penalty(penalty, N)


def test_nothing_penalised_is_a_penalty_too():
    free = Separable(0.0, 1.0)
    free.check_size(N)
    check_penalty(free, N)


def test_all_may_be_unpenalised():
    class Free(Arrays):
        least = math.inf

    check_penalty(Free(0.0, 1.0), N)


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        (Arrays(-1.0), r"λ and ridge are finite and not negative.*\(lam\).*got -1.0"),
        (Arrays(math.nan), r"λ and ridge are finite.*\(lam\)"),
        (Arrays(math.inf), r"λ and ridge are finite.*\(lam\)"),
        (Arrays(1.0, -0.5), r"λ and ridge are finite and not negative.*\(l2\)"),
        (Arrays(1.0, lower=0.1), r"zero lies within the bounds \(lower\)"),
        (Arrays(1.0, upper=-0.1), r"zero lies within the bounds \(upper\)"),
        (Arrays(1.0, upper=math.nan), r"zero lies within the bounds \(upper\)"),
    ],
)
def test_numbers_that_make_no_sense_are_seen(penalty, message):
    with pytest.raises(AssertionError, match=message):
        check_penalty(penalty, N)


def breaks(message):
    """Register a penalty, or a Local of one, that breaks a promise."""

    def register(kind):
        made = kind if issubclass(kind, Penalty) else type("Of", (Arrays,), {"local": kind})
        BROKEN.append(pytest.param(made, message, id=kind.__name__))
        return kind

    return register


@breaks(r"on\(A\) has arrays of one number, or of one for each.*got shape \(30,\)")
class WholeArrays(Arrays):
    def on(self, coordinates):
        return self.local(*(np.broadcast_to(x, N) for x in self.numbers))


@breaks(r"on\(A\) is the same penalty on every A \(lam")
class ByPosition(Arrays):
    def on(self, coordinates):
        return self.local(
            *(x if len(x) == 1 else np.resize(x, len(coordinates)) for x in self.numbers)
        )


@breaks(r"penalty.least is the smallest λ_j above 0")
class LeastOfAll(Arrays):
    @property
    def least(self):
        return float(self.numbers[0].min())


@breaks(r"penalty.unpenalised has the coordinates with λ_j = 0")
class ForgetsTheFree(Arrays):
    unpenalised = np.empty(0, dtype=np.int64)


@breaks(r"value\(w\) is .*of penalty")
class DoublesItsValue(Arrays):
    def value(self, w):
        return 2.0 * super().value(w)


@breaks(r"value\(w\) is .*of on\(A\)|change\(w, d\) is")
class NoRidgeInValue(Local):
    def value(self, w):
        return float((self.lam * np.abs(w)).sum())


@breaks(r"change\(w, d\) is Ω\(w \+ d\) - Ω\(w\)")
class ChangeWithoutKink(Local):
    def change(self, w, d):
        return self.lam * np.sign(w) * d + self.l2 * d * (w + 0.5 * d)


@breaks(r"prox\(v, c\) is argmin_w")
class NoThreshold(Local):
    def prox(self, v, curvature):
        return np.clip(v / (1.0 + self.l2 / curvature), self.lower, self.upper)


@breaks(r"prox\(v, c\) is argmin_w .*got inf at w")
class NoClip(Local):
    def prox(self, v, curvature):
        free = Local(self.lam, self.l2, -math.inf + 0 * self.lam, math.inf + 0 * self.lam)
        return free.prox(v, curvature)


@breaks(r"min_norm_subgradient\(w, g\) is zero where a prox step leads to itself")
class SubgradientWithoutRidge(Local):
    def min_norm_subgradient(self, w, g):
        found = super().min_norm_subgradient(w, g)
        return np.where(w != 0.0, found - self.l2 * w, found)


@breaks(r"min_norm_subgradient\(w, g\) is ")
class SubgradientOutOfBounds(Local):
    @property
    def bounded(self):
        return False

    def prox(self, v, curvature):
        return np.clip(super().prox(v, curvature), self.lower, self.upper)


@breaks(r"min_norm_subgradient\(w, g\) is the smallest element")
class AlwaysAtTheOptimum(Local):
    def min_norm_subgradient(self, w, g):
        return 0.0 * g


@breaks(r"excess\(g\) is by how much g asks a weight at zero to move")
class ExcessOutOfBounds(Local):
    def excess(self, g):
        return np.maximum(np.abs(g) - self.lam, 0.0)

    def conjugate(self, g):
        return Local(*self.arrays).conjugate(g)


@breaks(r"conjugate\(g\) is Ω\*\(-g\)")
class ConjugateTooSmall(Local):
    def conjugate(self, g):
        return 0.9 * super().conjugate(g)


@breaks(r"conjugate\(g\) is Ω\*\(-g\).*expected inf")
class ConjugateOfNothing(Local):
    def conjugate(self, g):
        found = super().conjugate(g)
        return found if math.isfinite(found) else 1e9


@pytest.mark.parametrize(("kind", "message"), BROKEN)
def test_a_broken_promise_is_seen(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_penalty(mixed(kind), N)
