"""Model files: what goes in comes out, and nothing damaged goes through."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from tests.io.golden_files import rows

from proxqn import ChainCRF, HierarchicalClassifier, Hierarchy
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.features.vocabulary import Vocabulary
from proxqn.io import model_file
from proxqn.io.container import Contents, ModelFileError, _parse, from_bytes, to_bytes
from proxqn.io.exports import to_crfpp, to_crfsuite
from proxqn.io.imported_chain import imported_chain
from proxqn.io.model_file import SavedModel, load, load_with_encoder, save

GOLDEN = Path(__file__).parents[1] / "golden"
SENTENCES = [[["the", "D"], ["dog", "N"]], [["dogs", "N"], ["bark", "V"]], [["naïve", "N"]]] * 4
LABELS = ["O", "B-X", "B-X", "I-X", "O"] * 4
TEMPLATES = Templates.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB")


def chain(end_weights=False):
    encoder = SequenceEncoder(TEMPLATES)
    data = encoder.fit_transform(SENTENCES)
    crf = ChainCRF(lam=0.3, end_weights=end_weights)
    return crf.fit(data.X, LABELS, lengths=data.lengths), encoder, data


def edge_chain():
    encoder = SequenceEncoder(Templates.parse("U0:%x[0,0]\nB\nB1:%x[0,1]\nB2:%x[-1,1]"))
    data = encoder.fit_transform(SENTENCES)
    crf = ChainCRF(lam=0.1, end_weights=False)
    return crf.fit(data.X, LABELS, lengths=data.lengths, edges=data.edges), encoder, data


def tree():
    hierarchy = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak", "fig"]})
    X = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]] * 5)
    y = ["cat", "dog", "oak", "fig"] * 5
    return HierarchicalClassifier(hierarchy, lam=0.5).fit(X, y), X


@pytest.fixture(scope="module")
def small():
    """The bytes of a small model with an encoder."""
    crf, encoder, _ = chain()
    return model_file.to_bytes(SavedModel(crf.with_encoder(encoder)))


@pytest.mark.parametrize("end_weights", [False, True])
def test_chain_comes_back_the_same(tmp_path, end_weights):
    crf, encoder, data = chain(end_weights)
    save(crf, tmp_path / "m.proxqn", encoder=encoder)
    saved = load_with_encoder(tmp_path / "m.proxqn")
    new = saved.encoder.transform(SENTENCES)
    before = crf.predict_marginals(data.X, data.lengths)
    assert np.array_equal(saved.model.predict_marginals(new.X, new.lengths), before)
    assert (saved.model.objective_, saved.model.gap_) == (crf.objective_, crf.gap_)
    assert saved.model.status_ is crf.status_
    assert saved.model.result_.nnz == crf.result_.nnz
    assert saved.model.lam == 0.3


def test_only_features_with_a_weight_are_kept(tmp_path):
    crf, encoder, _ = chain()
    save(crf, tmp_path / "m.proxqn", encoder=encoder)
    saved = load_with_encoder(tmp_path / "m.proxqn")
    used = np.unique(crf.coef_.indices)
    assert 0 < len(used) < len(encoder.vocabulary)
    assert saved.encoder.vocabulary.names() == encoder.vocabulary.names(used)
    assert saved.encoder.templates == TEMPLATES


def test_identical_models_have_identical_bytes(tmp_path):
    for name in "ab":
        crf, encoder, _ = chain()
        save(crf, tmp_path / name, encoder=encoder)
    saved = load_with_encoder(tmp_path / "a")
    save(saved.model, tmp_path / "c", encoder=saved.encoder)
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def test_chain_without_encoder_keeps_its_columns(tmp_path):
    crf, _, data = chain()
    save(crf, tmp_path / "m.proxqn")
    assert np.array_equal(load(tmp_path / "m.proxqn").predict(data.X, data.lengths),
                          crf.predict(data.X, data.lengths))  # fmt: skip
    with pytest.raises(ModelFileError, match="no encoder is stored"):
        load_with_encoder(tmp_path / "m.proxqn")


@pytest.mark.parametrize("labels", [[3, 1], [0.5, 1.5], [True, False], ["ä", "b"]])
def test_labels_keep_their_type(tmp_path, labels):
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 4)
    crf = ChainCRF(lam=0.1).fit(X, labels * 4) if labels != [0.5, 1.5] else ChainCRF(lam=0.1).fit(
        X, np.array([1.0, 2.0] * 4))  # fmt: skip
    save(crf, tmp_path / "m")
    got = load(tmp_path / "m").predict(X)
    assert got.dtype == crf.predict(X).dtype
    assert got.tolist() == crf.predict(X).tolist()


def test_data_frame_names_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"é": [1.0, 0.0] * 3, "b": [0.0, 1.0] * 3})
    for model in (ChainCRF(lam=0.1), HierarchicalClassifier(lam=0.1)):
        save(model.fit(frame, ["x", "y"] * 3), tmp_path / "m")
        assert load(tmp_path / "m").feature_names_in_.tolist() == ["é", "b"]
        assert load(tmp_path / "m").predict(frame).tolist() == ["x", "y"] * 3


def test_tree_comes_back_the_same(tmp_path):
    model, X = tree()
    save(model, tmp_path / "m.proxqn")
    got = load(tmp_path / "m.proxqn")
    assert np.array_equal(got.predict_proba(X), model.predict_proba(X))
    assert got.hierarchy_ == model.hierarchy_
    assert got.hierarchy == model.hierarchy
    save(got, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m.proxqn").read_bytes()


def test_a_loaded_model_can_be_fitted_on(tmp_path):
    crf, _, data = chain()
    save(crf, tmp_path / "m")
    again = load(tmp_path / "m").set_params(warm_start=True)
    again.fit(data.X, LABELS, lengths=data.lengths)
    assert again.n_iter_ <= 2
    assert again.objective_ == pytest.approx(crf.objective_, rel=1e-4)


@pytest.mark.parametrize("make", [lambda: chain()[0], lambda: tree()[0]])
def test_pickling(make):
    model = make()
    again = pickle.loads(pickle.dumps(model))
    assert (again.coef_ != model.coef_).nnz == 0
    assert again.objective_ == model.objective_
    assert len(again.trace_) == len(model.trace_)


# --- damage ---


def test_every_single_bit_flip_is_rejected(small):
    assert len(small) < 4000
    damaged = bytearray(small)
    for i in range(len(small)):
        for bit in range(8):
            damaged[i] ^= 1 << bit
            with pytest.raises(ModelFileError, match=r"damaged|not a proxqn model"):
                from_bytes(bytes(damaged))
            damaged[i] ^= 1 << bit
    from_bytes(bytes(damaged))  # unharmed again


def test_every_truncation_and_extension_is_rejected(small):
    for size in range(len(small)):
        with pytest.raises(ModelFileError, match=r"empty|damaged|not a proxqn model"):
            from_bytes(small[:size])
    with pytest.raises(ModelFileError, match="damaged"):
        from_bytes(small + b"\0")


def test_files_that_are_no_models(tmp_path):
    from safetensors.numpy import save_file

    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": 1}))
    save_file({"a": np.ones(3)}, tmp_path / "other", {"format": "pt"})
    for name in ("pickle", "other"):
        with pytest.raises(ModelFileError, match=f"{name}: not a proxqn model"):
            load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_a_newer_version_is_refused(small):
    newer = to_bytes(replace(from_bytes(small), version=5))
    with pytest.raises(
        ModelFileError, match="format version 5; this package reads versions 1 to 4"
    ):
        from_bytes(newer)


def test_edge_features_come_back_the_same(tmp_path):
    crf, encoder, data = edge_chain()
    assert crf.edge_coef_.nnz
    save(crf, tmp_path / "m.proxqn", encoder=encoder)
    saved = load_with_encoder(tmp_path / "m.proxqn")
    new = saved.encoder.transform(SENTENCES)
    assert new.edges.shape[1] == len(np.unique(crf.edge_coef_.indices))  # only those with a weight
    np.testing.assert_array_equal(
        saved.model.predict_marginals(new.X, new.lengths, edges=new.edges),
        crf.predict_marginals(data.X, data.lengths, edges=data.edges),
    )
    assert saved.model.result_.nnz == crf.result_.nnz
    save(crf, tmp_path / "bare.proxqn", encoder=None)
    assert np.array_equal(load(tmp_path / "bare.proxqn").edge_coef_.toarray(), edges_of(crf))


def edges_of(crf):
    return crf.edge_coef_.toarray()


def test_only_models_with_edge_features_need_the_new_version(small):
    crf, encoder, _ = edge_chain()
    assert from_bytes(small).version == 1
    contents = from_bytes(model_file.to_bytes(SavedModel(crf.with_encoder(encoder))))
    assert contents.version == 2
    for name in ("edges.columns", "edges.starts", "edges.values", "edge_features.sizes"):
        arrays = {k: v for k, v in contents.arrays.items() if k != name}
        if name == "edge_features.sizes":  # names of another number of features
            arrays |= {k: v[:-1] for k, v in contents.arrays.items() if k.startswith("edge_f")}
        with pytest.raises(ModelFileError):
            model_file.unpack(replace(contents, arrays=arrays))


def _set(name, value):
    def change(contents):
        contents.arrays[name] = value

    return change


def _meta(name, value):
    def change(contents):
        contents.meta[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("coef.columns", np.full(1, 200, np.uint8)), "coef"),
        (_set("coef.starts", np.array([0, 10**9, 1], np.int64)), "coef"),
        (_set("coef.values", np.array([np.nan])), "coef"),
        (_set("coef.values", np.array(["a"], "S1").view(np.uint8)), "types that no model"),
        (_set("features.sizes", np.full(1, 255, np.uint8)), "features"),
        (_set("features.text", np.full(3, 0xFF, np.uint8)), "features"),
        (_meta("labels", {"type": "O", "values": [["x"]]}), "labels"),
        (_meta("labels", {"type": "<U3", "values": ["a", "a", "b"]}), "distinct"),
        (_meta("labels", {"type": "<U1", "values": []}), "labels"),
        (_meta("labels", {"type": "<U3", "values": ["O", "B-X", "I-X"]}), "ascending order"),
        (_meta("labels", {"type": "<U2", "values": ["B-X", "I-X", "O"]}), "labels are not"),
        (_meta("labels", {"type": "<U500000000", "values": ["a", "b"]}), "no file of this size"),
        (_meta("labels", {"type": "<U1", "values": [chr(300 + i) for i in range(5000)]}), "pairs"),
        (_meta("parameters", {"lamb": 1}), "'lamb' is no parameter"),
        (_meta("parameters", {"n_jobs": 1_000_000}), "'n_jobs' is no parameter"),
        (_meta("parameters", {"lam": None}), "lam"),
        (_meta("parameters", {"lam": -1.0}), "lam"),
        (_meta("parameters", {"pairs": "some"}), "description cannot be read"),
        (_meta("parameters", {"solver": "magic"}), "solver"),
        (_meta("n_features", 2**63), "whole number"),
        (_meta("n_features", -1), "whole number"),
        (_meta("n_features", True), "whole number"),
        (_set("coef.values", np.array([1e308])), "coef"),
        (_set("features.sizes", np.full(4, 2**62, np.uint64)), "features"),
        (_set("features.counts", np.full(1, 2**63, np.uint64)), "features"),
        (_meta("fit", {}), "record of the fit"),
        (_meta("n_features", 10**12), "expected"),
        (_meta("encoder", {"templates": "Q", "min_freq": 1, "sequence_id": None}), "encoder"),
    ],
)  # fmt: skip
def test_a_file_made_to_mislead_is_refused(tmp_path, small, change, message):
    contents = from_bytes(small)
    contents = Contents(contents.kind, dict(contents.arrays), contents.meta)
    change(contents)
    (tmp_path / "bad").write_bytes(to_bytes(contents))
    with pytest.raises(ModelFileError, match=f"bad: .*{message}"):
        load(tmp_path / "bad")


def test_what_is_refused_has_a_path_and_a_reason(tmp_path, small):
    (tmp_path / "bad").write_bytes(small[:-1])
    for path, reason in ((tmp_path / "bad", "damaged"), ("/dev/zero", "a device")):
        with pytest.raises(ModelFileError) as caught:
            load(path)
        assert caught.value.path == str(path)
        assert reason in caught.value.reason
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.path) == (str(caught.value), caught.value.path)


@pytest.mark.parametrize("header", [b"[" * 100_000, b"{}", b'{"__metadata__":[]}', b"\xff"])
def test_a_header_made_to_mislead_is_refused(header):
    with pytest.raises(ModelFileError, match="header cannot be read"):
        _parse(len(header).to_bytes(8, "little") + header, "made")


def test_many_labels_have_their_pairs_stored_in_full(tmp_path):
    labels, n = [f"{i:05d}" for i in range(1800)], 1800
    names, none = Vocabulary.from_names(["a"]), Vocabulary.from_names([])
    encoder = SequenceEncoder(vocabulary=names, edge_vocabulary=none)
    weights = sp.csr_array(np.arange(n)[:, None] / 2), np.diag(np.arange(n) - 5.0)
    crf = imported_chain("made here", labels, encoder, *weights)
    save(crf, tmp_path / "m")
    again = load(tmp_path / "m")
    assert np.array_equal(again.transitions_, crf.transitions_)
    assert (tmp_path / "m").stat().st_size > 10 * 1800**2


def test_what_cannot_be_saved(tmp_path):
    crf, _, _ = chain()
    with pytest.raises(TypeError, match="expected a fitted ChainCRF"):
        save(SequenceEncoder(), tmp_path / "m")
    huge = chain()[0]
    huge.coef_ = huge.coef_ * 1e200
    with pytest.raises(ValueError, match="such a model cannot be stored"):
        save(huge, tmp_path / "m")
    with pytest.raises(ValueError, match="Pass the encoder that made"):
        save(crf, tmp_path / "m", encoder=SequenceEncoder().fit([[["a"]]]))
    odd = HierarchicalClassifier(Hierarchy.from_edges([((), "a"), ((), "b")])).fit(
        np.eye(2), ["a", "b"]
    )
    with pytest.raises(TypeError, match="cannot be stored"):
        save(odd, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# --- golden files: written once, readable for ever ---


@pytest.mark.parametrize("version", [1])
def test_golden_chain(version):
    saved = load_with_encoder(GOLDEN / f"chain-v{version}.proxqn")
    expected = json.loads((GOLDEN / f"chain-v{version}.json").read_text())
    new = saved.encoder.transform(SENTENCES[:3])
    assert saved.model.predict(new.X, new.lengths).tolist() == expected["labels"]
    marginals = saved.model.predict_marginals(new.X, new.lengths)
    np.testing.assert_allclose(marginals, expected["marginals"], rtol=1e-12)
    assert saved.model.objective_ == expected["objective"]


def test_golden_chain_with_edge_features():
    """Version 2 brought weights of edge features."""
    saved = load_with_encoder(GOLDEN / "chain-v2.proxqn")
    expected = json.loads((GOLDEN / "chain-v2.json").read_text())
    new = saved.encoder.transform(SENTENCES[:3])
    labels = saved.model.predict(new.X, new.lengths, edges=new.edges).tolist()
    assert labels == expected["labels"]
    marginals = saved.model.predict_marginals(new.X, new.lengths, edges=new.edges)
    np.testing.assert_allclose(marginals, expected["marginals"], rtol=1e-12)
    assert saved.model.objective_ == expected["objective"]
    assert saved.encoder.edge_vocabulary.names() == expected["edge_features"]


def test_golden_chain_with_wapitis_templates():
    """Version 4 brought templates that look at bytes."""
    saved = load_with_encoder(GOLDEN / "chain-v4.proxqn")
    expected = json.loads((GOLDEN / "chain-v4.json").read_text())
    new = rows("new.txt")
    assert [labels.tolist() for labels in saved.model.predict(new)] == expected["labels"]
    marginals = np.concatenate(saved.model.predict_marginals(new))
    np.testing.assert_allclose(marginals, np.concatenate(expected["marginals"]), rtol=1e-12)


@pytest.mark.parametrize("version", [1])
def test_golden_tree(version):
    model = load(GOLDEN / f"tree-v{version}.proxqn")
    expected = json.loads((GOLDEN / f"tree-v{version}.json").read_text())
    X = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    assert model.predict(X).tolist() == expected["labels"]
    np.testing.assert_allclose(model.predict_proba(X), expected["probabilities"], rtol=1e-12)


# --- exports ---


def test_crfsuite_dump_is_read_by_crfsuites_own_parser():
    parser_module = pytest.importorskip("pycrfsuite._dumpparser")
    crf, encoder, _ = chain()
    parser = parser_module.CRFsuiteDumpParser()
    for line in "".join(to_crfsuite(crf, encoder)).splitlines():
        parser.feed(line)
    names, coef = encoder.vocabulary.names(), sp.coo_array(crf.coef_)
    expected = {
        (names[j], str(crf.classes_[i])): pytest.approx(w, abs=1e-6)
        for i, j, w in zip(coef.row, coef.col, coef.data, strict=True)
    }
    assert parser.result.state_features == expected
    assert len(parser.result.transitions) == np.count_nonzero(crf.transitions_)


def test_crfpp_text_holds_the_weights():
    crf, encoder, _ = chain()
    head, labels, templates, features, weights = "".join(to_crfpp(crf, encoder)).split("\n\n")
    values = np.array(weights.split(), dtype=float)
    assert f"maxid: {len(values)}" in head
    assert "xsize: 2" in head
    assert labels.split() == crf.classes_.tolist()
    assert templates.split() == ["U0:%x[0,0]", "U1:%x[-1,1]/%x[0,1]", "B"]
    n = len(crf.classes_)
    ids = {name: int(number) for number, name in (f.split(" ") for f in features.splitlines())}
    transitions = values[ids["B"] :][: n * n].reshape(n, n)
    np.testing.assert_allclose(transitions, crf.transitions_, atol=1e-15)
    for name, start in ids.items():
        if name != "B":
            column = crf.coef_[:, [encoder.vocabulary[name]]].toarray().ravel()
            np.testing.assert_allclose(values[start : start + n], column, atol=1e-15)
    starts = sorted(ids.values())
    assert all(b - a in (n, n * n) for a, b in pairwise(starts))


def test_crfpp_text_holds_the_weights_of_edges():
    crf, encoder, _ = edge_chain()
    *_, templates, features, numbers = "".join(to_crfpp(crf, encoder)).split("\n\n")
    values = np.array(numbers.split(), dtype=float)
    n = len(crf.classes_)
    assert set(templates.split()) == {"U0:%x[0,0]", "B1:%x[0,1]", "B2:%x[-1,1]", "B"}
    ids = {name: int(number) for number, name in (f.split(" ") for f in features.splitlines())}
    edges = [name for name in ids if name.startswith(("B1", "B2"))]
    assert len(edges) == len(np.unique(crf.edge_coef_.indices))
    for name in edges:
        column = crf.edge_coef_[:, [encoder.edge_vocabulary[name]]].toarray().ravel()
        np.testing.assert_allclose(values[ids[name] :][: n * n], column, atol=1e-15)
    for name in ids.keys() - {"B", *edges}:
        column = crf.coef_[:, [encoder.vocabulary[name]]].toarray().ravel()
        np.testing.assert_allclose(values[ids[name] :][:n], column, atol=1e-15)


def test_crfsuite_dump_refuses_edge_features():
    crf, encoder, _ = edge_chain()
    with pytest.raises(ValueError, match="CRFsuite has no transitions that look"):
        list(to_crfsuite(crf, encoder))


def test_exports_say_what_they_cannot_hold():
    crf, encoder, _ = chain(end_weights=True)
    if not (crf.start_weights_.any() or crf.end_weights_.any()):
        crf.start_weights_[0] = 1.0
    with pytest.raises(ValueError, match="CRFsuite has no weights for the ends"):
        list(to_crfsuite(crf, encoder))
    with pytest.raises(ValueError, match=r"CRF\+\+ has no weights of a label at the"):
        list(to_crfpp(crf, encoder))
