"""LSHTC: web documents in a category tree, in the layout of the challenge.

    cat_hier.txt                     one path a line, from a top node down to a leaf
    Task1_.../train.txt, test.txt    one document a line:  label 0:document-id feature:count ...

Feature 0 of the files is the number of the document, not a word. Documents of one category have
neighbouring numbers (in the dry-run's Task 1 the next id predicts 64 % of the test labels), so
it would give labels away. It is taken out and returned as `document_ids_train` and `_test`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import Bunch

from proxqn.features.hierarchy import Hierarchy

FloatArray = npt.NDArray[np.float64]

_DESCR = """LSHTC documents, task folder {task!r}: trained on {train}.txt, tested on {test}.txt.

{n_train} training and {n_test} test documents; {n_features} features, those of the training split.
{n_unseen} features of the test split do not occur in training and were dropped
({n_unseen_entries} entries). Scaled to [0, 1] per feature on the training split: {scaled}.
Hierarchy: {hierarchy}.
Partalas et al., "LSHTC: A Benchmark for Large-Scale Text Classification", 2015."""


def load_lshtc(
    root: str | Path,
    task: str = "Task1",
    *,
    train: str = "train",
    test: str = "test",
    scale: bool = True,
) -> Bunch:
    """Load one task of an LSHTC folder, features compacted and scaled on the training split.

    Parameters
    ----------
    root : path
        The folder that holds ``cat_hier.txt`` (or the folder above it).
    task : str
        Name of the task's folder, or the beginning of it.
    train, test : str
        The splits: names of files in the task folder, without ``.txt``.
    scale : bool
        Map each feature to [0, 1] as svm-scale does, x' = (x - min) / (max - min) with the range of
        the training split. Test values may fall outside [0, 1], as svm-scale's do.

    Returns
    -------
    Bunch
        ``X_train``, ``X_test`` (CSR, float64), ``y_train``, ``y_test`` (leaf names), ``hierarchy``,
        ``feature_names`` (the files' feature ids), ``document_ids_train``, ``document_ids_test``,
        ``feature_min``, ``feature_max``, ``n_unseen_features``, ``n_unseen_entries``, ``DESCR``.

    Examples
    --------
    The public dry-run copy lacks Task 1's training file, so train on its validation file:

    >>> data = load_lshtc("dry-run_lshtc_dataset", train="validation")  # doctest: +SKIP
    >>> data.X_train.shape  # doctest: +SKIP
    (1860, 22296)
    """
    base = _find_base(Path(root))
    folder = _find_task(base, task)
    hierarchy = load_tree(base)
    documents = read_documents(_find_split(folder, train))
    held_out = read_documents(_find_split(folder, test))
    hierarchy.leaf_index(documents.labels)  # raises where a training label is no leaf

    features = np.unique(documents.features)
    X_train = documents.matrix(features)
    X_test = held_out.matrix(features)
    low, high = feature_range(X_train)
    unseen = held_out.features[~np.isin(held_out.features, features)]
    counts = {"n_unseen_features": len(np.unique(unseen)), "n_unseen_entries": len(unseen)}
    return Bunch(
        X_train=scale_features(X_train, low, high) if scale else X_train,
        y_train=np.array(documents.labels),
        X_test=scale_features(X_test, low, high) if scale else X_test,
        y_test=np.array(held_out.labels),
        hierarchy=hierarchy,
        feature_names=features.astype(str),
        document_ids_train=documents.document_ids,
        document_ids_test=held_out.document_ids,
        feature_min=low,
        feature_max=high,
        **counts,
        DESCR=_DESCR.format(
            task=folder.name,
            train=train,
            test=test,
            n_train=X_train.shape[0],
            n_test=X_test.shape[0],
            n_features=len(features),
            n_unseen=counts["n_unseen_features"],
            n_unseen_entries=counts["n_unseen_entries"],
            scaled="yes" if scale else "no",
            hierarchy=hierarchy,
        ),
    )


def load_tree(root: str | Path) -> Hierarchy:
    """Load the category tree of an LSHTC folder, or of the folder above it."""
    with (_find_base(Path(root)) / "cat_hier.txt").open(encoding="ascii") as lines:
        return Hierarchy.from_paths(lines)


class Documents(NamedTuple):
    """One split as read: entries of all documents one after another.

    labels : one a document; document_ids, row_ends : (n_documents,); features, values : (nnz,)
    """

    labels: list[str]
    document_ids: npt.NDArray[np.int64]
    row_ends: npt.NDArray[np.int64]
    features: npt.NDArray[np.int64]
    values: FloatArray

    def matrix(self, columns: npt.NDArray[np.int64]) -> sp.csr_matrix:
        """Documents × columns, where `columns` are sorted feature ids; others are dropped."""
        rows = np.repeat(np.arange(len(self.labels)), np.diff(self.row_ends, prepend=0))
        place = np.searchsorted(columns, self.features)
        known = np.isin(self.features, columns)
        shape = (len(self.labels), len(columns))
        entries = (self.values[known], (rows[known], place[known]))
        return sp.csr_matrix(entries, shape=shape)  # adds up a feature given twice


def read_documents(file: Path) -> Documents:
    """Read lines ``label id:count ...``; one number parse for the whole file keeps it fast."""
    labels: list[str] = []
    pairs: list[str] = []
    lengths: list[int] = []
    with file.open(encoding="ascii") as lines:
        for line in lines:
            label, _, rest = line.strip().partition(" ")
            if label:
                labels.append(label)
                pairs.append(rest)
                lengths.append(rest.count(":"))
    flat = " ".join(pairs).replace(":", " ").split()
    try:
        numbers = np.array(flat, dtype=np.float64).reshape(sum(lengths), 2)
    except ValueError:
        raise ValueError(_describe_bad_line(file, labels, pairs)) from None
    if any("," in label or ":" in label for label in labels):
        raise ValueError(_describe_bad_line(file, labels, pairs))
    rows = np.repeat(np.arange(len(labels)), lengths)
    features = numbers[:, 0].astype(np.int64)
    is_word = features != 0
    document_ids = np.full(len(labels), -1, dtype=np.int64)
    document_ids[rows[~is_word]] = numbers[~is_word, 1].astype(np.int64)
    n_words = np.bincount(rows[is_word], minlength=len(labels))
    return Documents(
        labels, document_ids, np.cumsum(n_words), features[is_word], numbers[is_word, 1]
    )


def _describe_bad_line(file: Path, labels: list[str], pairs: list[str]) -> str:
    for number, (label, rest) in enumerate(zip(labels, pairs, strict=True), start=1):
        if "," in label:
            return (
                f"{file.name}, document {number}: several labels ({label}); expected one. "
                "This model puts a document into one leaf; keep one label a line."
            )
        for token in [f"{label} (as label)"] if ":" in label else rest.split():
            index, _, value = token.partition(":")
            if not index.isdigit() or not _is_number(value):
                return (
                    f"{file.name}, document {number}: expected 'label feature:count ...' with "
                    f"numbers, got {token!r}. Correct the line."
                )
    return f"{file.name}: expected lines 'label feature:count ...'."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def feature_range(X: sp.csr_matrix) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column, the implicit zeros counted.

    >>> low, high = feature_range(sp.csr_matrix([[1.0, 2.0], [3.0, 0.0]]))
    >>> low.tolist(), high.tolist()
    ([1.0, 0.0], [3.0, 2.0])
    """
    return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()


def scale_features(X: sp.csr_matrix, low: FloatArray, high: FloatArray) -> sp.csr_matrix:
    """(x - low) / (high - low) per column, as svm-scale: constant columns become 0, nothing is cut.

    Counts have low = 0, and zeros stay implicit. A feature that every training document has gets
    low > 0, and then a zero elsewhere is mapped below 0: such columns, and only they, are filled.

    >>> X = sp.csr_matrix([[1.0, 2.0, 5.0], [3.0, 0.0, 5.0]])
    >>> scale_features(X, *feature_range(X)).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    width = high - low
    shifted = np.flatnonzero((low != 0) & (width > 0))
    moved: Any = X
    if shifted.size:
        # (n, k) @ (k, d) with k shifted columns: low in every row of those columns
        picks = (low[shifted], (np.arange(shifted.size), shifted))
        lows = sp.csr_array(picks, shape=(shifted.size, X.shape[1]))
        moved = X - sp.csr_array(np.ones((X.shape[0], shifted.size))) @ lows
    scaled = sp.csr_matrix(moved, copy=True)
    widths = width[scaled.indices]  # (nnz,); dividing, not multiplying by 1/width, gives 1.0 at max
    scaled.data = np.divide(scaled.data, widths, out=np.zeros_like(widths), where=widths > 0)
    scaled.eliminate_zeros()
    scaled.sort_indices()
    return scaled


def _find_base(root: Path) -> Path:
    candidates = [file.parent for file in [root / "cat_hier.txt", *root.glob("*/cat_hier.txt")]]
    for folder in candidates:
        if (folder / "cat_hier.txt").is_file():
            return folder
    raise FileNotFoundError(
        f"expected cat_hier.txt in {root} or one folder below it, found none. "
        "Pass the folder into which the LSHTC archive was unpacked."
    )


def _find_task(base: Path, task: str) -> Path:
    folders = sorted(folder for folder in base.iterdir() if folder.is_dir())
    exact = [folder for folder in folders if folder.name == task]
    matches = exact or [folder for folder in folders if folder.name.startswith(task)]
    if len(matches) != 1:
        names = ", ".join(folder.name for folder in folders)
        raise ValueError(
            f"expected task to name one folder in {base.name}, got {task!r}, which fits "
            f"{len(matches)}. Choose one of: {names}."
        )
    return matches[0]


def _find_split(folder: Path, split: str) -> Path:
    file = folder / f"{split}.txt"
    if not file.is_file():
        present = ", ".join(sorted(path.stem for path in folder.glob("*.txt")))
        raise FileNotFoundError(
            f"no {file.name} in {folder.name}; the splits there are: {present}. Pass one of them "
            "as train= or test= (public copies of the dry-run lack Task 1's train.txt; "
            "train='validation' is then the real data to use)."
        )
    return file
