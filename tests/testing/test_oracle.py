"""Each promise that check_oracle proves, broken once: the check must see it, and say which."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.testing.toy import N_COORDINATES, Toy, ToyLine, ToyPoint, ToySamples

from proxqn.losses.function import FunctionOracle
from proxqn.problem.meter import Calls, metered
from proxqn.problem.oracle import NOTHING, DensePoint, Oracle
from proxqn.problem.sparse import SparseColumns, SparseVector, Sweep
from proxqn.testing import check_oracle
from proxqn.testing.metering import check_forwarding

BROKEN = []


def breaks(message):
    """Register an oracle, or a class of points or lines of the toy, that breaks a promise."""

    def register(kind):
        made = kind
        if issubclass(kind, ToyPoint):
            made = type(kind.__name__, (Toy,), {"point": kind})
        elif issubclass(kind, ToyLine):
            made = type(kind.__name__, (Toy,), {"line": kind})
        BROKEN.append(pytest.param(made, message, id=kind.__name__))
        return kind

    return register


def test_a_right_oracle_keeps_every_promise():
    check_oracle(Toy(), with_jobs=lambda n: Toy(n_jobs=n))
    check_oracle(Toy(weights=np.linspace(0.5, 2.0, 12)), seed=1)


def test_an_oracle_with_nothing_but_points_keeps_them_too():
    def squares(w):
        r = Toy().A @ w - Toy().b
        return 0.5 * float(r @ r), Toy().A.T @ r

    check_oracle(FunctionOracle(squares, N_COORDINATES))
    check_oracle(FunctionOracle(squares, N_COORDINATES, lower_bound=0.0))


@breaks("n_coordinates is a number of things .* expected an integer from 1, got 6.0")
class HalfACoordinate(Toy):
    @property
    def n_coordinates(self):
        return 6.0


@breaks(r"at\(w\) returns a Point .* got a tuple. From a value and a gradient, return DensePoint")
class Pair(Toy):
    def at(self, w):
        return 0.0, np.zeros(N_COORDINATES)


@breaks(r"point.value is a finite number \(at w = 0\)")
class InfiniteAtZero(Toy):
    def loss(self):
        return math.inf


@breaks(r"one derivative for each coordinate .* expected shape \(6,\), got shape \(5,\)")
class TooShort(ToyPoint):
    def gradient(self, coordinates):
        return super().gradient(coordinates)[:5]


@breaks(r"one derivative for each coordinate .* got nan. Return a finite array")
class NotANumber(ToyPoint):
    def all_derivatives(self):
        return super().all_derivatives() * np.array([1, 1, np.nan, 1, 1, 1])


@breaks(r"gradient\(\) is the derivative of value \(point 0, along coordinate 0\)")
class WrongGradient(ToyPoint):
    def all_derivatives(self):
        return 1.001 * super().all_derivatives()


@breaks(r"gradient\(\) is the derivative of value .* along coordinate 3\)")
class WrongInOnePlace(ToyPoint):
    def all_derivatives(self):
        return super().all_derivatives() + 1e-3 * (np.arange(6) == 3)


@breaks(r"gradient\(A\) is the gradient on the coordinates A")
class WrongOrder(ToyPoint):
    def gradient(self, coordinates):
        found = super().gradient(coordinates)
        return found if len(coordinates) == 6 else found[::-1]


@breaks(r"at\(w\) depends on w alone \(point 0, once more after another, entry 0\)")
class Remembers(Toy):
    before = 0

    def look(self, w):
        super().look(w)
        self.residuals = self.residuals + 1e-3 * (len(w.values) == 0 and self.before == 3)
        self.before = len(w.values)


@breaks(r"return arrays of their own \(point 0, gradient\(\), asked elsewhere")
class LendsItsMemory(ToyPoint):
    def all_derivatives(self):
        memory = self.oracle.__dict__.setdefault("memory", np.zeros(N_COORDINATES))
        memory[:] = super().all_derivatives()
        return memory

    def gradient(self, coordinates):
        whole = len(coordinates) == N_COORDINATES
        return self.all_derivatives() if whole else super().gradient(coordinates)


@breaks(r"at\(w\) and along\(d\) leave their arguments alone \(point 1, values of w and d")
class ChangesItsArgument(ToyLine):
    def accept(self, alpha):
        found = super().accept(alpha)
        self.point.w.values[:] *= 1.0 + alpha
        return found


@breaks(r"sweep\(level\) names every derivative above the level \(point 0, level 0, 0 kept\)")
class OverlooksOne(ToyPoint):
    def sweep(self, level, keep=NOTHING):
        found = super().sweep(level, keep)
        g = found.gradient
        return Sweep(SparseVector(g.coordinates[:-1], g.values[:-1]), found.largest)


@breaks(r"names what exceeds the level and what is kept .* left out, got the contrary")
class NamesTooMany(ToyPoint):
    def sweep(self, level, keep=NOTHING):
        return Sweep(super().sweep(0.5 * level, keep).gradient, super().sweep(0.0).largest)


@breaks(r"names what exceeds the level and what is kept .* named, as it is kept")
class KeepsNothing(ToyPoint):
    def sweep(self, level, keep=NOTHING):
        return super().sweep(level)


@breaks(r"coordinates of a sweep ascend .* expected each once, ascending")
class Descends(ToyPoint):
    def sweep(self, level, keep=NOTHING):
        found = super().sweep(level, keep)
        g = found.gradient
        return Sweep(SparseVector(g.coordinates[::-1], g.values[::-1]), found.largest)


@breaks(r"sweep\(\) has the derivatives that gradient\(\) has")
class SweepsAnother(ToyPoint):
    def sweep(self, level, keep=NOTHING):
        found = super().sweep(level, keep)
        g = found.gradient
        return Sweep(SparseVector(g.coordinates, 1.0001 * g.values), found.largest)


@breaks(r"largest is the largest absolute derivative of all \(point 0, level inf\)")
class LargestOfThoseFound(ToyPoint):
    def sweep(self, level, keep=NOTHING):
        g = super().sweep(level, keep).gradient
        return Sweep(g, float(np.abs(g.values).max(initial=0.0)))


@breaks(r"line.value\(α\) is the value of at\(w \+ αd\) .* α = 0.5\)")
class StepsFromTheTrial(ToyLine):
    def value(self, alpha):
        found = super().value(alpha)
        self.base = self.point.w.plus(self.d, alpha)
        if alpha == 0.5:
            self.point.oracle.look(self.base.plus(self.d, 1.0))
            return self.point.oracle.loss()
        return found


@breaks(r"line.accept\(α\) is the point at\(w \+ αd\)")
class AcceptsAnother(ToyLine):
    def accept(self, alpha):
        return super().accept(1.0)


@breaks(r"after a trial another line may begin .* got SpentPointError")
class OneLineAPoint(ToyPoint):
    def along(self, direction):
        self.oracle.lease.check(self)
        return super().along(direction)


@breaks("after a trial another line begins at the point, not at the trial")
class LinesFromTrials(ToyPoint):
    def along(self, direction):
        line = super().along(direction)
        if getattr(self, "tried", None) is not None:
            line.point = type(self).__new__(type(self))
            line.point.__dict__ = self.__dict__ | {"w": self.w.plus(self.tried)}
            self.oracle.lease.give(line.point)
        self.tried = direction
        return line


@breaks(r"answers as before, or says that it is spent .*after a trial, gradient\(A\)")
class AnswersAfterTrials(ToyPoint):
    def all_derivatives(self):
        return self.oracle.A.T @ (self.oracle.weights * self.oracle.residuals)


@breaks(r"a point is spent once a trial from it is accepted .*sweep\(0.0\)")
class SweepsForEver(ToyPoint):
    def __init__(self, oracle, w):
        super().__init__(oracle, w)
        self.swept = super().sweep(0.0)

    def sweep(self, level, keep=NOTHING):
        found = self.swept if level == 0.0 and not len(keep) else None
        return found or super().sweep(level, keep)


@breaks(r"a point is spent once a trial from it is accepted .*along\(d\)")
class BeginsForEver(ToyPoint):
    def along(self, direction):
        return self.oracle.line(self, direction)


@breaks(r"a line from a point of before is right, or says that the point is spent")
class OldLine(ToyLine):
    def value(self, alpha):
        return super().value(alpha) if self.point.oracle.lease._place is self.point else 0.0


@breaks("answers as before.*after a trial of a line from another point")
class SpoilsTheNewPoint(ToyLine):
    def value(self, alpha):
        self.trial = alpha
        self.point.oracle.look(self.point.w.plus(self.d, alpha))
        if self.point.oracle.lease._holder is self.point:
            self.point.oracle.lease.overwrite()
        return self.point.oracle.loss()


@breaks(r"ℓ is convex, as oracle.convex says .*Let oracle.convex be False")
class Wavy(Oracle):
    n_coordinates = 2

    def at(self, w):
        angles = w.dense(2)
        return DensePoint(self, w, float(np.cos(angles).sum()), -np.sin(angles))


@breaks(r"conjugate\(s\) is an upper bound of ℓ\*\(s·∇ℓ\(w\)\) \(point 0, s = 0")
class ClaimsTooMuch(ToyPoint):
    def conjugate(self, scale):
        return super().conjugate(scale) - 1.0


@breaks(r"conjugate\(s\) is an upper bound .*s = 0.1\)")
class BoundedBelowByTooMuch(ToyPoint):
    def conjugate(self, scale):
        return super().conjugate(scale) - (1.0 - scale) * (3.0 if scale else 0.0)


@breaks(r"conjugate\(s\) is an upper bound .* got nan")
class ProvesNothing(ToyPoint):
    def conjugate(self, scale):
        return math.nan * super().conjugate(scale)


@breaks(r"curvatures\(A\) is a rough diagonal .* expected one finite number from 0")
class NegativeCurvature(Toy):
    def curvatures(self, coordinates):
        return -super().curvatures(coordinates)


@breaks(r"pass_cost\(\) is the multiply-adds .* expected a number above 0, got 0.0")
class Free(Toy):
    def pass_cost(self):
        return 0.0


@breaks(r"restrict\(\): the losses of a partition of the samples add up to the whole")
class LosesOneSample(Toy):
    def restrict(self, samples, factor=1.0):
        part = super().restrict(samples, factor)
        part.weights = part.weights * (np.asarray(samples) != 3)
        return part


@breaks(r"restrict\(samples, factor\) multiplies each loss by the factor")
class ForgetsTheFactor(Toy):
    def restrict(self, samples, factor=1.0):
        return super().restrict(samples)


@breaks(r"random subsamples, scaled to the whole, estimate it without bias")
class PrefersEasySamples(Toy):
    def restrict(self, samples, factor=1.0):
        hard = np.asarray(samples) >= 6
        factors = np.where(hard, 0.2, 1.8) * factor if len(samples) * factor > 11 else factor
        part = Toy(self.A[samples], self.b[samples], self.weights[samples])
        part.weights = factors * part.weights
        return part


@breaks(r"restrict\(\) keeps the numbers of coordinates, and has as many samples")
class Whole(Toy):
    def restrict(self, samples, factor=1.0):
        return self


@breaks(r"rounded\(\) is the same loss in single precision .*value")
class RoundsValues(Toy):
    def rounded(self):
        return Toy(self.A, np.round(self.b, 1), self.weights)


@breaks(r"rounded\(\) is the same loss in single precision .*gradient")
class RoundsData(Toy):
    def rounded(self):
        return Toy(np.round(self.A, 1), self.b, self.weights)


@breaks(r"draw\(\): E\[JᵀJ\] is the Hessian")
class DrawsTooLarge(ToyPoint):
    def draw(self, coordinates, n_rows, seed):
        found = super().draw(coordinates, n_rows, seed)
        return SparseColumns(found.start, found.row, np.float32(1.1) * found.value, found.n_rows)


@breaks(r"draw\(\) depends on its point and its seed alone .*after a trial")
class DrawsFromTrials(ToyPoint):
    def draw(self, coordinates, n_rows, seed):
        late = self.oracle.lease._holder is not self
        return super().draw(coordinates, n_rows, seed + late)


@breaks(r"samples\(\) has the loss of the oracle")
class StepsWithoutWeights(Toy):
    def samples(self):
        return ToySamples(Toy(self.A, self.b, 2.0 * self.weights))


@breaks(r"blocks\(\) holds the weights it was given")
class ForgetsWeights(Toy):
    def blocks(self):
        blocks = super().blocks()
        blocks.restart = lambda weights: None
        return blocks


@pytest.mark.parametrize(("kind", "message"), BROKEN)
def test_a_broken_promise_is_seen(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_oracle(kind())


def test_bits_that_depend_on_threads_are_seen():
    class Rounding(Toy):
        def loss(self):
            return super().loss() * (1.0 + 1e-15 * (self.n_jobs > 1))

    with pytest.raises(AssertionError, match=r"bit for bit \(point 0, value, 1 and 3 threads\)"):
        check_oracle(Toy(), with_jobs=lambda n: Rounding(n_jobs=n))


def test_with_jobs_must_make_the_same_oracle():
    other = FunctionOracle(lambda w: (float(w @ w) / 2, w), 2)
    with pytest.raises(ValueError, match="6 coordinates; it made one with 2"):
        check_oracle(Toy(), with_jobs=lambda n: other)


def test_a_meter_that_changes_answers_is_seen(monkeypatch):
    monkeypatch.setattr("proxqn.testing.metering.metered", lambda oracle, calls: Toy(2 * oracle.A))
    with pytest.raises(AssertionError, match="the meter changes no answer"):
        check_oracle(Toy())


def test_a_meter_that_does_not_count_is_seen(monkeypatch):
    monkeypatch.setattr("proxqn.testing.metering.metered", lambda oracle, calls: oracle)
    with pytest.raises(AssertionError, match="the meter counts what is asked"):
        check_oracle(Toy())


def test_a_name_that_does_not_pass_is_seen():
    class Plain(Oracle):
        n_coordinates = N_COORDINATES
        A = b = weights = lease = residuals = look = loss = point = line = None

        def at(self, w):
            return Toy().at(w)

    with pytest.raises(AssertionError, match=r"forwards every public name \(Toy.blocks\)"):
        check_forwarding(Toy(), Plain())
    Plain.blocks = 1.0
    with pytest.raises(AssertionError, match=r"forwards every public name .*something else"):
        check_forwarding(Toy(), Plain())


def test_an_ability_too_many_is_seen(monkeypatch):
    oracle = Toy()
    with_more = metered(oracle, Calls())
    monkeypatch.setattr(type(with_more), "draw", lambda *_: None, raising=False)
    with pytest.raises(AssertionError, match=r"the same abilities \(Toy, Draws\)"):
        check_forwarding(oracle, with_more)


def test_an_oracle_that_is_too_large_is_refused():
    large = FunctionOracle(lambda w: (float(w @ w), 2 * w), 100_000)
    with pytest.raises(ValueError, match="at most 20000 coordinates, got 100000"):
        check_oracle(large)


def test_points_of_ones_own():
    points = [SparseVector(np.array([2]), np.array([7.0]))]
    check_oracle(Toy(), points=points)
    with pytest.raises(AssertionError, match="point 0"):
        check_oracle(type("Odd", (Toy,), {"point": WrongGradient})(), points=points)
