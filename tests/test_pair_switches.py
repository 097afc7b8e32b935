"""Observed or all pairs, for features and for transitions apart, against CRFsuite's optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from tests.lattice_problems import random_lattice
from tests.problems import random_chain

from proxqn import ChainCRF, load, minimize, save
from proxqn.losses.chain.oracle import Pairs
from proxqn.problem.sparse import SparseVector

# Sixteen sequences, five labels: many pairs never occur.
PROBLEM = random_chain(4, n_labels=5, n_features=12, lengths=[5] * 16, density=0.15)
COMBINATIONS = list(itertools.product(["all", "observed"], repeat=2))
LAM = 0.3


def names(labels):
    return [f"y{label}" for label in labels.tolist()]


def fitted(pairs, transition_pairs, **options):
    return ChainCRF(
        lam=LAM, pairs=pairs, transition_pairs=transition_pairs, end_weights=False, **options
    ).fit(PROBLEM.X, names(PROBLEM.labels), lengths=PROBLEM.lengths)


@pytest.mark.parametrize(("pairs", "transition_pairs"), COMBINATIONS)
def test_the_optimum_is_crfsuites(tmp_path, pairs, transition_pairs):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")
    trainer = pycrfsuite.Trainer(verbose=False)
    X, ends = PROBLEM.X, np.cumsum(PROBLEM.lengths)
    for first, last in zip(ends - PROBLEM.lengths, ends, strict=True):
        tokens = [
            [f"x{j}" for j in X.indices[X.indptr[t] : X.indptr[t + 1]]] for t in range(first, last)
        ]
        trainer.append(tokens, names(PROBLEM.labels[first:last]))
    trainer.select("lbfgs")
    trainer.set_params(
        {
            "c1": LAM,
            "c2": 0.0,
            "feature.possible_states": pairs == "all",
            "feature.possible_transitions": transition_pairs == "all",
            "max_iterations": 20_000,
            "epsilon": 1e-12,
            "delta": 1e-14,
            "period": 200,
        }
    )
    trainer.train(str(tmp_path / "m"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    dump = tagger.info()
    crf = fitted(pairs, transition_pairs, tol=1e-9)
    number = {name: i for i, name in enumerate(crf.classes_.tolist())}
    coef = np.zeros(crf.coef_.shape)
    for (feature, label), weight in dump.state_features.items():
        coef[number[label], int(feature[1:])] = weight
    transitions = np.zeros((5, 5))
    for (a, b), weight in dump.transitions.items():
        transitions[number[a], number[b]] = weight
    switches = {"pairs": Pairs(pairs), "transition_pairs": Pairs(transition_pairs)}
    theirs = PROBLEM.oracle(**switches).pack(sp.csr_array(coef), transitions)
    # Nothing of CRFsuite's model may be left out: it has the same weights to choose from.
    assert len(theirs.values) == len(dump.state_features) + len(dump.transitions)
    np.testing.assert_allclose(objective(theirs), crf.objective_, rtol=1e-6)


def objective(w: SparseVector) -> float:
    return PROBLEM.oracle().at(w).value + LAM * float(np.abs(w.values).sum())


def test_the_four_optima_differ_and_are_ordered():
    """A model with more weights is no worse, and here better: so the switches do something."""
    f = {c: fitted(*c, tol=1e-9).objective_ for c in COMBINATIONS}
    assert f["all", "all"] < f["all", "observed"] < f["observed", "observed"]
    assert f["all", "all"] < f["observed", "all"] < f["observed", "observed"]


@pytest.mark.parametrize(("pairs", "transition_pairs"), COMBINATIONS)
def test_weights_stand_on_admitted_pairs_only(pairs, transition_pairs):
    crf = fitted(pairs, transition_pairs)
    labels = PROBLEM.labels
    coef = crf.coef_.toarray()
    states = np.zeros(coef.shape, dtype=bool)
    for t, j in zip(*PROBLEM.X.nonzero(), strict=True):
        states[labels[t], j] = True
    steps = np.zeros((5, 5), dtype=bool)
    for t in range(1, len(labels)):
        if t % 5:
            steps[labels[t - 1], labels[t]] = True
    assert (pairs == "all") == bool((coef[~states] != 0).any())
    assert (transition_pairs == "all") == bool((crf.transitions_[~steps] != 0).any())
    n_states = coef.size if pairs == "all" else states.sum()
    n_steps = 25 if transition_pairs == "all" else steps.sum()
    assert crf.n_parameters_ == n_states + n_steps


def test_transitions_follow_pairs_by_default():
    for pairs in ("all", "observed"):
        assert fitted(pairs, None).objective_ == fitted(pairs, pairs).objective_


@pytest.mark.parametrize("solver", ["prox-gd", "owl-qn", "bcd", "sgd"])
@pytest.mark.parametrize(("pairs", "transition_pairs"), COMBINATIONS[1:3])
def test_rivals_keep_to_the_switches(solver, pairs, transition_pairs):
    def oracle():
        return PROBLEM.oracle(pairs=Pairs(pairs), transition_pairs=Pairs(transition_pairs))

    best = minimize(oracle(), lam=LAM, tol=1e-7)
    max_iter = 200 if solver == "sgd" else 3000
    result = minimize(oracle(), lam=LAM, solver=solver, tol=1e-5, max_iter=max_iter)
    assert result.fun >= best.fun * (1 - 1e-7)
    assert result.fun <= best.fun * (1.05 if solver == "sgd" else 1 + 1e-4)


@pytest.mark.parametrize(("pairs", "transition_pairs"), COMBINATIONS)
def test_edge_features_go_with_transitions(pairs, transition_pairs):
    problem = random_lattice(2, n_labels=4, n_sequences=8, n_edge_features=3)
    switches = {"pairs": Pairs(pairs), "transition_pairs": Pairs(transition_pairs)}
    oracle, plain = problem.oracle(**switches), problem.chain.oracle(**switches)
    n_edges = oracle.n_parameters - plain.n_parameters
    observed = problem.oracle(pairs=Pairs.OBSERVED).n_parameters
    observed -= problem.chain.oracle(pairs=Pairs.OBSERVED).n_parameters
    assert n_edges == (3 * 16 if transition_pairs == "all" else observed)


def test_switches_add_up_with_missing_labels():
    problem = random_lattice(2, n_labels=4, n_sequences=8, n_edge_features=3)
    partial = problem.with_unknown(1)
    n = {
        (a, b): partial.oracle(pairs=Pairs(a), transition_pairs=Pairs(b)).n_parameters
        for a, b in COMBINATIONS
    }
    assert n["all", "all"] == problem.oracle().n_parameters
    more_states = n["all", "observed"] - n["observed", "observed"]
    more_steps = n["observed", "all"] - n["observed", "observed"]
    assert more_states > 0
    assert more_steps > 0
    assert n["all", "all"] == n["observed", "observed"] + more_states + more_steps


def test_the_switch_goes_to_files_and_clones(tmp_path):
    crf = fitted("observed", "all")
    save(crf, tmp_path / "m")
    assert load(tmp_path / "m").transition_pairs == "all"
    assert clone(crf).transition_pairs == "all"
    save(fitted("observed", None), tmp_path / "n")
    assert load(tmp_path / "n").transition_pairs is None


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="transition_pairs must be 'all' or 'observed', got 'no'"):
        fitted("all", "no")
