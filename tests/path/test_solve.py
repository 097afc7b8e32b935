"""Paths of real losses: certified ones, given λs, ridges, what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.lattice_problems import random_lattice
from tests.points import Logistic
from tests.problems import random_chain
from tests.rival_problems import small_tree

from proxqn import lambda_max, minimize, minimize_path
from proxqn.penalties import ElasticNet

LOSSES = {
    "chain": lambda: random_chain(
        6, n_labels=4, n_features=60, n_sequences=200, density=0.05
    ).oracle(),
    "tree": lambda: small_tree(1),
    "function": lambda: Logistic(3, n=200, d=20).oracle(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_every_lambda_is_within_eps_of_its_optimum(loss):
    oracle, eps = LOSSES[loss](), 0.03
    path = minimize_path(oracle, eps=eps)
    assert path.certified
    assert path.eps <= eps
    assert (path.known == "proved").all()
    assert path.lams_[0] == pytest.approx(lambda_max(oracle))
    assert path.lams_[-1] == pytest.approx(0.01 * lambda_max(oracle))
    rng = np.random.default_rng(0)
    for lam in np.exp(rng.uniform(*np.log(path.lams_[[-1, 0]]), 12)):
        mixture = path.at(lam)
        best = minimize(oracle, lam, tol=1e-9, stop="gap", max_iter=5000)
        value = oracle.at(mixture.weights).value + ElasticNet(lam).value(mixture.weights)
        assert value <= mixture.fun * (1 + 1e-12)
        assert value - (best.fun - best.gap) <= mixture.gap * (1 + 1e-9) + 1e-8 * value
        assert mixture.gap <= eps * mixture.fun


@pytest.mark.parametrize("options", [{"l2": 0.5}, {"l2_ratio": 0.1}], ids=["amount", "ratio"])
def test_a_ridge_may_stay_or_go_with_lambda(options):
    oracle = LOSSES["chain"]()
    path = minimize_path(oracle, eps=0.05, **options)
    assert path.certified
    lam = float(np.sqrt(path.lams_[3] * path.lams_[4]))
    l2 = options.get("l2", 0.0) + lam * options.get("l2_ratio", 0.0)
    mixture, best = path.at(lam), minimize(oracle, lam, l2=l2, tol=1e-8, stop="gap", max_iter=3000)
    penalty = ElasticNet(lam, l2)
    value = oracle.at(mixture.weights).value + penalty.value(mixture.weights)
    assert best.fun - best.gap <= value <= best.fun + mixture.gap
    assert value <= mixture.fun * (1 + 1e-12)


def test_a_lattice_goes_as_a_chain():
    oracle = random_lattice(0).oracle()
    path = minimize_path(oracle, eps=0.1, lam_min=0.1 * lambda_max(oracle))
    assert path.certified == oracle.convex or not oracle.convex


def test_given_lambdas_are_solved_descending_to_the_tolerance():
    oracle = LOSSES["chain"]()
    lams = lambda_max(oracle) * np.array([0.1, 0.5, 0.2])
    path = minimize_path(oracle, lams, tol=1e-5, stop="gap")
    np.testing.assert_array_equal(path.lams_, np.sort(lams)[::-1])
    for row, lam in zip(path.rows, path.lams_, strict=True):
        best = minimize(oracle, lam, tol=1e-7, stop="gap", max_iter=3000)
        assert row.objective == pytest.approx(best.fun, rel=1e-5)
    assert path.complete
    assert not path.certified  # nobody asked


def test_a_number_of_lambdas_is_a_geometric_series():
    oracle = LOSSES["function"]()
    path = minimize_path(oracle, 5, lam_min=0.1 * lambda_max(oracle))
    np.testing.assert_allclose(path.lams_, lambda_max(oracle) * np.geomspace(1.0, 0.1, 5))


def test_it_takes_fewer_passes_than_one_by_one():
    oracle = LOSSES["chain"]()
    lams = np.geomspace(lambda_max(oracle), 0.02 * lambda_max(oracle), 10)
    options = {"tol": 1e-3, "stop": "gap"}
    cold = sum(minimize(oracle, lam, **options).nfev for lam in lams)
    assert minimize_path(oracle, lams, **options).passes < 0.75 * cold


def test_without_proofs_it_goes_on_by_the_estimate():
    loss = Logistic(3, n=200, d=20)
    path = minimize_path(loss, x0=np.zeros(20), eps=0.05)  # no lower bound: no proof
    assert path.known[0] == "proved"  # nothing is off zero, and nothing wants to be
    assert set(path.known[1:]) == {"estimated"}
    assert not path.certified
    assert path.estimated_eps <= 0.05
    assert path.at(path.lams_[2] * 1.01).known == "estimated"


def test_bits_are_the_same_for_any_number_of_threads():
    one, two = (
        minimize_path(
            random_chain(6, n_labels=4, n_features=60, n_sequences=200).oracle(n_jobs=n), eps=0.05
        )
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.weights.data, two.weights.data)
    np.testing.assert_array_equal(one.lams_, two.lams_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lams": "all"}, "lams must be 'certified'"),
        ({"lams": 1}, "2 or above"),
        ({"lams": [1.0, -1.0]}, "finite numbers above 0"),
        ({"lams": []}, "finite numbers above 0"),
        ({"eps": 0.0}, "eps must be"),
        ({"lam_min": 1e9}, "lam_min must lie"),
        ({"l2_ratio": -1.0}, "l2_ratio must be"),
    ],
)
def test_what_it_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        minimize_path(LOSSES["function"](), **options)


def test_a_flat_loss_has_no_path():
    with pytest.raises(ValueError, match="flat at zero"):
        minimize_path(lambda w: (1.0, 0.0 * w), x0=np.zeros(3))
