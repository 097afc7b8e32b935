"""Chains are made of what a file with patterns holds, and such contents of chains."""

import numpy as np
import pytest

from proxqn import ChainCRF
from proxqn.features.template_dialect import Dialect
from proxqn.io.foreign import ForeignFileError
from proxqn.io.pattern_chain import chain_of, pattern_model_of
from proxqn.io.wapiti import parse_model

X = [[["a", "x"], ["b", "y"], ["a", "y"]], [["b", "x"], ["a", "x"]]] * 2
Y = [["B", "A", "A"], ["A", "B"]] * 2


def fitted(templates, **settings):
    return ChainCRF(lam=0.05, templates=templates, **settings).fit(X, Y)


@pytest.mark.parametrize("to", list(Dialect))
@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize(
    "templates",
    [
        "U0:%x[0,0]\nU1:%x[-1,1]/%x[1,0]\nB",
        "U0:%x[0,0]\nB1:%x[0,1]\nB",
        "*:%x[-1,0]\nB",
        "U:%x[0,0]",
        "U:%x[-1,0]\nU:%x[1,0]\nB:%x[-1,1]\nB2",
    ],
)
def test_a_chain_says_the_same_there_and_back(templates, to, compact):
    crf = fitted(templates)
    model = pattern_model_of(crf, to, compact=compact)
    again = chain_of(model)
    for one, other in zip(again.predict_marginals(X), crf.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    if compact:
        used = np.diff(model.weights.indptr) + np.diff(model.edge_weights.indptr)
        assert np.count_nonzero(used == 0) <= 1  # plain transitions may be all 0


def test_transitions_get_a_template_that_asks_for_them():
    model = pattern_model_of(fitted("U0:%x[0,0]"), Dialect.WAPITI, compact=True)
    assert [template.text for template in model.templates] == ["u0:%x[0,0]", "b"]


def test_two_names_that_become_one_are_refused():
    crf = fitted("U0:%x[0,0]\nu0:%x[0,0]\nB")
    with pytest.raises(ValueError, match="two features would both be called"):
        pattern_model_of(crf, Dialect.CRFPP, compact=False)


def test_observations_of_steps_that_no_pattern_makes_have_no_effect():
    strings = b"#rdr#1/0/0\n9:u:%x[0,0],\n#qrk#2\n1:A,\n1:B,\n#qrk#2\n3:u:a,\n3:b:a,\n"
    crf = chain_of(parse_model(b"#mdl#2#2\n" + strings + b"0=1\n3=5\n"))
    assert crf.edge_coef_.shape[1] == 0
    assert crf.predict([[["a"], ["a"]]])[0].tolist() == ["A", "A"]


def test_observations_of_steps_without_patterns_are_refused():
    strings = b"#rdr#0/0/0\n#qrk#2\n1:A,\n1:B,\n#qrk#2\n3:u:a,\n3:b:a,\n"
    with pytest.raises(ForeignFileError, match="no patterns, and observations of steps"):
        chain_of(parse_model(b"#mdl#2#0\n" + strings))
