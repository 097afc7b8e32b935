"""Every kind of penalty on real data, compared with an independent solver's optimum.

    python -m benchmarks.penalties

Chains (200 words of OCR letters), a label tree (1,797 digits, by their shape), logistic
regression (569 tumours) and least squares (442 patients); the other solver is scikit-learn's where
it has the problem, else SciPy's L-BFGS-B on weights split into their signs, from the same values
and gradients. Exit code 1 if an objective differs by more than 1e-6 of it, or a subgradient exceeds
1e-6·λ.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.independent import Numbers
from benchmarks.tables import markdown
from sklearn import datasets as sklearn_data
from sklearn import linear_model
from sklearn.preprocessing import StandardScaler

from benchmarks import independent
from proxqn import ChainOracle, Hierarchy, datasets, minimize
from proxqn.losses.function import FunctionOracle
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import Floats, Oracle

SAME = 1e-6
N_WORDS = 200
SHAPES = {"round": ["0", "6", "8", "9"], "straight": ["1", "4", "7"], "curved": ["2", "3", "5"]}


@dataclass(frozen=True)
class Row:
    """A problem, its penalty, and the optimum that another solver finds."""

    problem: str
    penalty: str
    oracle: Oracle
    numbers: Numbers
    solver: str
    optimum: Callable[[], float]


def by_lbfgsb(problem: str, penalty: str, oracle: Oracle, numbers: Numbers) -> Row:
    """Return a row whose optimum is L-BFGS-B's."""
    function = independent.as_function(oracle)
    return Row(problem, penalty, oracle, numbers, "L-BFGS-B",
               lambda: independent.optimum(function, numbers))  # fmt: skip


def chains() -> Iterator[Row]:
    """Yield a chain under each kind of penalty."""
    ocr = datasets.load_ocr(degree=1)
    lengths = ocr.lengths_train[:N_WORDS]
    n_tokens = int(lengths.sum())
    letters, labels = np.unique(ocr.y_train[:n_tokens], return_inverse=True)
    X = sp.csr_array(ocr.X_train[:n_tokens])
    oracle = ChainOracle(X, labels, lengths, n_labels=len(letters))
    n, n_steps, lam = oracle.n_coordinates, len(letters) ** 2, 5.0
    of_feature = np.repeat(
        lam * np.geomspace(0.5, 2.0, (n - n_steps) // len(letters)), len(letters)
    )
    each = np.append(of_feature, np.full(n_steps, lam))
    free = np.append(np.full(n - n_steps, lam), np.zeros(n_steps))
    for name, numbers in (
        ("non-negative", Numbers.of(n, lam, lower=0.0)),
        ("boxed", Numbers.of(n, lam, lower=-0.2, upper=0.3)),
        ("a λ for each feature", Numbers.of(n, each)),
        ("transitions unpenalised, boxed", Numbers.of(n, free, lower=-5.0, upper=5.0)),
        ("elastic net, transitions by ridge alone", Numbers.of(n, free, l2=0.5)),
    ):
        yield by_lbfgsb("chain", name, oracle, numbers)


def trees() -> Iterator[Row]:
    """Yield a label tree under each kind of penalty; its last feature is an intercept."""
    digits = sklearn_data.load_digits()
    tree = Hierarchy.from_nested(SHAPES)
    X = np.append(digits.data / 16.0, np.ones((len(digits.data), 1)), axis=1)
    oracle = TreeOracle(sp.csr_array(X), tree.leaf_index([str(y) for y in digits.target]), tree)
    n, n_nodes, lam = oracle.n_coordinates, len(tree), 3.0
    depth = np.tile([len(tree.path(name)) - 1 for name in tree.names], n // n_nodes)
    free = np.where(np.arange(n) < n - n_nodes, lam, 0.0)
    for name, numbers in (
        ("non-negative", Numbers.of(n, lam, lower=0.0)),
        ("boxed", Numbers.of(n, lam, lower=-1.0, upper=0.5)),
        ("a λ for each depth", Numbers.of(n, np.where(depth == 1, 0.5 * lam, lam))),
        ("intercept unpenalised, boxed", Numbers.of(n, free, lower=-5.0, upper=5.0)),
    ):
        yield by_lbfgsb("tree", name, oracle, numbers)


def squares() -> Iterator[Row]:
    """Yield least squares as scikit-learn's coordinate descent solves it."""
    X, y = sklearn_data.load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), y - y.mean()
    n, lam = X.shape[1], 500.0

    def function(w: Floats) -> tuple[float, Floats]:
        residual = X @ w - y
        return 0.5 * float(residual @ residual), X.T @ residual

    def row(penalty: str, numbers: Numbers, model: Any, scale: Any = 1.0) -> Row:
        def optimum() -> float:
            w = model.fit(X / scale, y).coef_ / scale
            return function(w)[0] + numbers.penalty.on(np.arange(n)).value(w)

        oracle = FunctionOracle(function, n, lower_bound=0.0)
        return Row("least squares", penalty, oracle, numbers, type(model).__name__, optimum)

    how = {"fit_intercept": False, "tol": 1e-14, "max_iter": 10**6}
    plain, l2 = linear_model.Lasso(alpha=lam / len(y), **how), 200.0
    net = linear_model.ElasticNet(alpha=(lam + l2) / len(y), l1_ratio=lam / (lam + l2), **how)
    each = np.geomspace(0.3, 3.0, n)
    yield row("non-negative", Numbers.of(n, lam, lower=0.0), plain.set_params(positive=True))
    yield row("a λ for each feature", Numbers.of(n, lam * each),
              linear_model.Lasso(alpha=lam / len(y), **how), each)  # fmt: skip
    yield row("elastic net", Numbers.of(n, lam, l2=l2), net)


def logistic() -> Iterator[Row]:
    """Yield logistic regression with an intercept, as scikit-learn has it."""
    X, y = sklearn_data.load_breast_cancer(return_X_y=True)
    X, sign = StandardScaler().fit_transform(X), np.where(y == 1, 1.0, -1.0)
    A = np.append(X, np.ones((len(X), 1)), axis=1)
    n, lam = A.shape[1], 10.0

    def function(w: Floats) -> tuple[float, Floats]:
        margin = sign * (A @ w)
        slope = -sign / (1.0 + np.exp(margin))
        return float(np.logaddexp(0.0, -margin).sum()), A.T @ slope

    def saga() -> float:
        model = linear_model.LogisticRegression(
            C=1.0 / lam, solver="saga", tol=1e-10, max_iter=10**5, **_l1()
        ).fit(X, y)
        w = np.append(model.coef_[0], model.intercept_)
        return function(w)[0] + lam * float(np.abs(w[:-1]).sum())

    penalised = np.append(np.full(n - 1, lam), 0.0)
    oracle = FunctionOracle(function, n, lower_bound=0.0)
    free = Numbers.of(n, penalised)
    yield Row("logistic", "intercept unpenalised", oracle, free, "LogisticRegression", saga)
    signed = Numbers.of(n, penalised, lower=np.append(np.zeros(n - 1), -np.inf))
    yield by_lbfgsb("logistic", "intercept unpenalised, non-negative", oracle, signed)


def _l1() -> dict[str, Any]:
    """Return how this version of scikit-learn is asked for the ℓ1 norm."""
    from sklearn import __version__

    new = tuple(map(int, __version__.split(".")[:2])) >= (1, 8)
    return {"l1_ratio": 1.0} if new else {"penalty": "l1"}


def compared(row: Row) -> tuple[list[str], bool]:
    """Solve a problem both ways; also whether they agree."""
    numbers = row.numbers
    tol = 1e-15 if numbers.l2.all() else 1e-13  # a gap is about the residual's square over ρ
    ours = minimize(row.oracle, **numbers.arguments(), tol=tol, stop="gap", max_iter=5000)
    theirs = row.optimum()
    everything = np.arange(row.oracle.n_coordinates)
    g = row.oracle.at(ours.weights).gradient(everything)
    slopes = numbers.penalty.on(everything).min_norm_subgradient(
        ours.weights.dense(len(everything)), g
    )
    difference = (ours.fun - theirs) / theirs
    kkt = float(np.abs(slopes).max()) / numbers.penalty.least
    proved = f"{ours.gap / ours.fun:.0e}" if ours.certified else "–"
    cells = [row.problem, row.penalty, f"{len(everything):,}", f"{ours.nnz:,}", row.solver,
             f"{ours.fun:.8f}", f"{difference:+.1e}", f"{kkt:.0e}", proved]  # fmt: skip
    return cells, abs(difference) <= SAME and kkt <= SAME


def main() -> int:
    """Print the table."""
    rows, fine = [], True
    for problems in (chains, trees, logistic, squares):
        for row in problems():
            cells, agree = compared(row)
            rows.append(cells)
            fine &= agree
    head = ["problem", "penalty", "weights", "nonzero", "other solver", "objective",
            "difference", "KKT ÷ λ", "gap"]  # fmt: skip
    print(markdown(head, rows))
    print("\nall agree" if fine else "\nnot all agree", f"to {SAME:g} of the objective and of λ")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
