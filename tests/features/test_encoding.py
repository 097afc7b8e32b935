"""From every input form to CSR and lengths."""

import io
import os
import pickle
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from proxqn.features.encoding import SequenceEncoder
from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.templates import TemplateError, Templates
from proxqn.io.readers import read_columns

REPO = Path(__file__).parents[2]


def data_file(name):
    folder = Path(os.environ.get("PROXQN_DATA", REPO / "../shared/data"))
    if not (folder / name).exists():
        pytest.skip(f"{name} is not in {folder}; set PROXQN_DATA to the data folder")
    return folder / name


def test_dicts():
    encoder = SequenceEncoder()
    encoded = encoder.fit_transform([[{"w": "a", "x": 0.5}, {"w": "b"}], [{"w": "a"}]])
    assert encoder.vocabulary.names() == ["w:a", "x", "w:b"]
    assert encoded.X.toarray().tolist() == [[1, 0.5, 0], [0, 0, 1], [1, 0, 0]]
    assert encoded.lengths.tolist() == [2, 1]
    assert (encoded.labels, encoded.weights, encoded.edges) == (None, None, None)
    assert isinstance(encoded.X, sparse.csr_array)


def test_unseen_features_are_ignored_and_counted():
    encoder = SequenceEncoder().fit([[["a", "b"]]])
    encoded = encoder.transform([[["b", "c"], ["d", "d"]], []])
    assert encoded.X.toarray().tolist() == [[0, 1], [0, 0]]
    assert encoded.n_unseen == 3
    assert encoded.lengths.tolist() == [2, 0]
    assert encoder.transform([]).X.shape == (0, 2)


def test_a_name_given_twice_counts_twice():
    encoded = SequenceEncoder().fit_transform([[["a", "a", "b"]]])
    assert encoded.X.toarray().tolist() == [[2, 1]]


def test_frequency_cut_off():
    encoder = SequenceEncoder(min_freq=2)
    encoded = encoder.fit_transform([[["a", "b"], ["c", "a"]], [["c", "d"]]])
    assert encoder.vocabulary.names() == ["a", "c"]
    assert encoder.vocabulary.counts.tolist() == [2, 2]
    assert encoded.X.toarray().tolist() == [[1, 0], [1, 1], [0, 1]]
    assert encoded.n_unseen == 0


def test_strings_arrays_and_sparse_matrices():
    words = SequenceEncoder().fit_transform([["the", "dog"], ["the"]])
    assert words.X.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    blocks = [np.array([[1.0, 0, 0], [0, 2.5, 0]]), np.zeros((1, 3))]
    encoder = SequenceEncoder()
    encoded = encoder.fit_transform(blocks)
    assert encoder.vocabulary.names() == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(encoded.X.toarray(), np.vstack(blocks))
    assert encoded.X.nnz == 2
    again = encoder.transform([sparse.csr_matrix(block) for block in blocks])
    np.testing.assert_array_equal(again.X.toarray(), np.vstack(blocks))


def test_data_frame():
    frame = pd.DataFrame(
        {"s": [3, 3, 1], "w": ["a", "b", "a"], "n": [0.0, 1.5, 1.0], "t": [True, False, True]}
    )
    encoder = SequenceEncoder(sequence_id="s")
    encoded = encoder.fit_transform(frame)
    assert encoder.vocabulary.names() == ["w:a", "t", "w:b", "n"]
    assert encoded.X.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 1, 1.5], [1, 1, 0, 1]]
    assert encoded.lengths.tolist() == [2, 1]


def test_data_frame_with_templates():
    frame = pd.DataFrame({"s": ["u", "u"], "word": ["a", "b"], "pos": ["N", "V"]})
    encoder = SequenceEncoder(Templates.parse("U%x[-1,1]/%x[0,0]"), sequence_id="s")
    encoder.fit(frame)
    assert encoder.vocabulary.names() == ["U_B-1/a", "UN/b"]


def test_records_carry_labels_and_weights():
    records = [SequenceRecord([["a"]], ["X"], 1, 2.0), SequenceRecord([["b"]], ["Y"], 2)]
    encoded = SequenceEncoder().fit_transform(iter(records))
    assert encoded.labels == [["X"], ["Y"]]
    assert encoded.weights.tolist() == [2.0, 1.0]


def test_edges_are_a_block_of_their_own():
    text = b"a N X\nb V Y\n\nb V Y\n"
    encoder = SequenceEncoder(Templates.parse("U%x[0,0]\nB%x[0,1]\nB"))
    encoded = encoder.fit_transform(read_columns(io.BytesIO(text)))
    assert encoder.vocabulary.names() == ["Ua", "Ub"]
    assert encoder.edge_vocabulary.names() == ["BV"]
    assert encoded.edges.toarray().tolist() == [[0], [1], [0]]
    unseen = encoder.transform([[["a", "N"], ["b", "Q"]]])
    assert unseen.n_unseen == 1
    assert unseen.edges.nnz == 0


def test_a_stream_in_pieces_equals_the_whole():
    data = [[{"w": str(i % 5), "v": i / 2}] * (i % 4) for i in range(40)]
    encoder = SequenceEncoder(chunk_tokens=7)
    whole = encoder.fit_transform(iter(data))
    pieces = list(encoder.transform_stream(iter(data)))
    assert len(pieces) > 3
    assert (sparse.vstack([piece.X for piece in pieces]) != whole.X).nnz == 0
    assert np.concatenate([piece.lengths for piece in pieces]).tolist() == whole.lengths.tolist()


def test_an_encoder_can_be_pickled_and_rebuilt():
    templates = Templates.parse('U%m[0,0,"^.?"]')
    encoder = SequenceEncoder(templates).fit([[["ab"], ["cd"]]])
    copy = pickle.loads(pickle.dumps(encoder))
    rebuilt = SequenceEncoder(
        templates,
        vocabulary=encoder.vocabulary,
        edge_vocabulary=encoder.edge_vocabulary,
    )
    for other in (copy, rebuilt):
        assert other.transform([[["c"]]]).X.toarray().tolist() == [[0, 1]]


TEMPLATES = Templates.parse("U%x[0,0]", "t")
FRAME = pd.DataFrame({"s": [1, 2, 1], "w": ["a", None, "b"]})


@pytest.mark.parametrize(
    ("encoder", "data", "message"),
    [
        (SequenceEncoder(), [], "expected at least one sequence to fit, got none"),
        (SequenceEncoder(), "abc", "expected an iterable of sequences, got a str"),
        (SequenceEncoder(), 3, "expected an iterable of sequences, got a int"),
        (SequenceEncoder(), [{"a": 1}], "sequence 0: expected a list of tokens, got a dict"),
        (SequenceEncoder(), [["a"], "b"], "sequence 1: expected a list of tokens, got a str"),
        (
            SequenceEncoder(chunk_tokens=1),
            [[["a"]], [["a"], {"f": float("nan")}]],
            "sequence 1, position 1: feature 'f' is nan",
        ),
        (
            SequenceEncoder(),
            [np.eye(2), np.array([[0.0, 1.0], [0.0, -np.inf]])],
            "sequence 1, position 1: feature 'x1' is -inf",
        ),
        (SequenceEncoder(), [np.eye(2), np.eye(3)], "sequence 1: expected 2 features, got 3"),
        (SequenceEncoder(), [np.ones(2)], r"sequence 0: expected an array \(tokens, features\)"),
        (SequenceEncoder(TEMPLATES), [["a"]], "sequence 0, position 0: expected a row of columns"),
        (
            SequenceEncoder(TEMPLATES),
            [[["a"], ["a", "b"]]],
            "sequence 0, position 1: expected 1 columns, got 2",
        ),
        (SequenceEncoder(TEMPLATES), [[[]]], "t, line 1: .* reads column 0, but the data have 0"),
        (SequenceEncoder(TEMPLATES), [[[1]]], "sequence 0, position 0: expected text in column 0"),
        (SequenceEncoder(), [SequenceRecord([["a"]], ["a"], 1, 1.0, 0)], "need templates"),
        (
            SequenceEncoder(TEMPLATES),
            [SequenceRecord([["a"]], ["a"], 1, 1.0, 0)],
            "reads column 0, which holds the label",
        ),
        (
            SequenceEncoder(),
            [SequenceRecord([["a"]], ["X"], 1), SequenceRecord([["a"]], None, 1)],
            "labels for all sequences or for none: 1 of 2",
        ),
        (SequenceEncoder(sequence_id="s"), [["a"]], "expected a DataFrame with the column 's'"),
        (SequenceEncoder(sequence_id="q"), FRAME, r"name one of the columns \['s', 'w'\], got 'q'"),
        (SequenceEncoder(sequence_id="w"), FRAME, "row 1: expected a sequence id in column 'w'"),
        (SequenceEncoder(sequence_id="s"), FRAME, "row 2: sequence .*1.* starts again"),
        (
            SequenceEncoder(sequence_id="s"),
            FRAME.iloc[:2],
            "sequence 1, position 0: feature 'w'",
        ),
        (
            SequenceEncoder(TEMPLATES, sequence_id="s"),
            FRAME.iloc[:2],
            "sequence 1, position 0: expected text in column 0",
        ),
        (SequenceEncoder(sequence_id="s"), FRAME.iloc[:0], "at least one sequence to fit"),
    ],
)
def test_bad_input_is_named(encoder, data, message):
    with pytest.raises((TypeError, ValueError, TemplateError), match=message):
        encoder.fit_transform(data)


def test_an_encoder_must_be_fitted():
    with pytest.raises(ValueError, match="no vocabulary yet; call fit_transform first"):
        SequenceEncoder().transform([["a"]])


def test_conll2000_features_are_those_of_crfpp():
    path = data_file("conll2000/train.txt")
    templates = Templates.from_file(REPO / "examples/chunking.template")
    encoder = SequenceEncoder(templates)
    began = time.process_time()
    encoded = encoder.fit_transform(read_columns(path))
    seconds = time.process_time() - began
    # CRF++ reports 7,448,606 = 338,551 features × 22 labels + 22² label pairs.
    assert encoded.X.shape == (211_727, 338_551)
    assert encoded.X.nnz == 19 * 211_727
    assert len(encoded.lengths) == 8_936
    assert len({label for labels in encoded.labels for label in labels}) == 22
    assert seconds < 12.7  # a million tokens a minute; measured: about 1.5 s
