"""Our files are CRFsuite's to the byte."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.fuzz.other_models import crfsuite_file

from proxqn.features.vocabulary import Vocabulary
from proxqn.io.crfsuite import CRFsuiteModel, from_bytes, to_bytes, writer


def test_a_file_of_crfsuite_is_written_again_byte_for_byte(theirs):
    data = theirs.read_bytes()
    assert to_bytes(from_bytes(data)) == data


@pytest.mark.parametrize("number", range(4))
def test_small_ones_as_well(number):
    data = crfsuite_file(number)
    assert to_bytes(from_bytes(data)) == data


def model(labels=("A", "B"), names=("x",)):
    state = sp.csr_array(np.ones((len(names), len(labels))))
    steps = sp.csr_array((len(labels), len(labels)))
    return CRFsuiteModel(labels, Vocabulary.from_names(names), state, steps)


def test_names_that_the_file_cannot_hold():
    with pytest.raises(ValueError, match="attribute: a name holds a zero byte"):
        to_bytes(model(names=("a\0",)))
    with pytest.raises(ValueError, match="label: a name holds a zero byte"):
        to_bytes(model(labels=("A", "\0")))


def test_files_beyond_what_offsets_reach(monkeypatch):
    monkeypatch.setattr(writer, "SIZE_LIMIT", 4000)
    with pytest.raises(ValueError, match="end at 4 GiB; this model has 2 weights"):
        to_bytes(model())
