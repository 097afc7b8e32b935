"""Our own model files and checkpoints, changed part by part, with the checksum made right again."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.fuzz.damage import mutant
from tests.fuzz.kind import Kind

from proxqn import ChainCRF, HierarchicalClassifier, Hierarchy
from proxqn.cli.chain.files import Reading
from proxqn.cli.model_summary import summary
from proxqn.cli.tree.files import TreeReading
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.io import container, model_file
from proxqn.io.checkpoint import read_checkpoint
from proxqn.io.container import Contents, ModelFileError
from proxqn.io.model_file import SavedModel

_SENTENCES = [[["the", "D"], ["dog", "N"]], [["dogs", "N"], ["bark", "V"]], [["naïve", "N"]]] * 4
_LABELS = [["O", "B-X"], ["B-X", "I-X"], ["O"]] * 4


# --- good files ----------------------------------------------------------------------------------


def chain_files() -> Sequence[bytes]:
    """Return chains of columns, of columns with edges, of dicts and of a matrix."""
    plain = Templates.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB")
    edges = Templates.parse('U0:%x[0,0]\nU2:%t[0,0,"^\\u"]\nB\nB1:%x[0,1]')
    reading = Reading().to_json()
    dicts = [[{"w": word} for word, _ in sentence] for sentence in _SENTENCES]
    return [
        _bytes(ChainCRF(lam=0.1, templates=plain, end_weights=True), _SENTENCES, reading=reading),
        _bytes(ChainCRF(lam=0.1, templates=edges, lam_transitions=0.0), _SENTENCES),
        _bytes(ChainCRF(lam=0.1, fit_intercept=True), dicts),
        _bytes(ChainCRF(lam=0.1), [np.eye(5)[: len(s)] for s in _SENTENCES]),
    ]


def tree_files() -> Sequence[bytes]:
    """Return a tree that was given, and a flat one."""
    X = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]] * 5)
    y = ["cat", "dog", "oak", "fig"] * 5
    tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak", "fig"]})
    reading = TreeReading((0,)).to_json()
    given = HierarchicalClassifier(tree, lam=[0.5, 0.2]).fit(X, y)
    flat = HierarchicalClassifier(lam=0.1, fit_intercept=False).fit(X, [3, 1, 2, 5] * 5)
    return [_file(given, reading), _file(flat)]


def _bytes(model: Any, X: Any, reading: dict[str, Any] | None = None) -> bytes:
    return _file(model.fit(X, _LABELS), reading)


def _file(model: Any, reading: dict[str, Any] | None = None) -> bytes:
    return _packed(model_file.pack(SavedModel(model, reading)))


def checkpoint_files() -> Sequence[bytes]:
    """Return a checkpoint."""
    arrays = {"coordinates": np.array([0, 3, 700]), "values": np.array([0.5, -1.0, 2.0])}
    meta = {"iteration": 7, "epoch": 2, "bound": 3.5, "every": 7, "problem": "ab" * 32}
    return [_packed(Contents("checkpoint", arrays, meta))]


# --- changes -------------------------------------------------------------------------------------

HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 0.5,
    -0.0, 1e-320, 1e100, 1e308, float("inf"), float("nan"), "", "0", "a", "a\0", "\0", "\ud800",
    "é" * 50, "chain", "tree", "checkpoint", "<U1", "<U500000000", "O", "|S5", "f8", "(9,)i4", "V9",
    "utf-16", "jsonl", "conllu", "crfsuite", "svmlight", "hex", [], {}, [[]],
    [0] * 100, {"a": [{}]}, [""] * 3000, list(range(3000)), [str(i) for i in range(3000)],
    [[[[[[]]]]]], "U0:%x[0,0]",
    'U:%t[-999,9999,"' + ".*" * 30 + 'x"]', "U:%x[999999999,0]", "B", "*:%m[@-1,0,\".?.?\"]",
)  # fmt: skip
NAMES = (
    "n_jobs", "verbose", "lam", "l2", "max_iter", "solver", "templates", "encoder", "labels",
    "n_features", "n_edge_features", "fit_intercept", "max_weight", "lam_transitions", "dialect",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**64 - 1)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e100, 1.1e100, -1e308, np.inf, -np.inf, np.nan)
TYPES = ("F64", "I64", "U64", "U32", "U16", "U8", "F32", "BF16", "BOOL", "", 7)


class Parts:
    """A file taken apart: metadata, arrays, and how it is put together."""

    def __init__(self, data: bytes) -> None:
        contents = container.from_bytes(data)
        self.head = {"version": contents.version, "kind": contents.kind, "meta": contents.meta}
        self.arrays = {name: array.copy() for name, array in contents.arrays.items()}
        self.entries: dict[str, dict[str, Any]] = {}  # of the header, changed after the fact
        self.size: int | None = None  # of the header, as it is told

    def to_bytes(self, rng: Random) -> bytes:
        """Put it together; where JSON cannot hold it, with less of it."""
        blob, table = bytearray(), {}
        for name, array in sorted(self.arrays.items(), key=lambda item: -item[1].itemsize):
            begin = len(blob)
            blob += array.tobytes()
            shape, kind = [len(array)], _type(array.dtype)
            table[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, len(blob)]}
            table[name] |= self.entries.get(name, {})
        text = '{"sha256":"' + "0" * 64 + '",' + json.dumps(self.head)[1:]
        header = json.dumps({"__metadata__": {"proxqn": text}} | table, separators=(",", ":"))
        header += " " * (-len(header) % 8)
        size = len(header) if self.size is None else self.size
        return mended(struct.pack("<Q", size % 2**64) + header.encode() + blob)


def _packed(contents: Contents) -> bytes:
    """Write a file without the package for it, which need not be there."""
    parts = object.__new__(Parts)
    parts.head = {"version": contents.version, "kind": contents.kind, "meta": contents.meta}
    parts.arrays, parts.entries, parts.size = dict(contents.arrays), {}, None
    return parts.to_bytes(Random(0))


def mended(data: bytes) -> bytes:
    """Return the file with the checksum that it should have."""
    at = data.find(b'sha256\\":\\"') + 11
    if at < 11 or len(data) < at + 64:
        return data
    blank = data[:at] + b"0" * 64 + data[at + 64 :]
    return data[:at] + hashlib.sha256(blank).hexdigest().encode() + data[at + 64 :]


def mutate(data: bytes, rng: Random) -> bytes:
    """Return a copy with one to three changes, of parts or of bytes, and its checksum."""
    if rng.random() < 0.15:
        return mended(mutant(data, rng))
    parts = Parts(data)
    with np.errstate(all="ignore"):
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            rng.choice(CHANGES if parts.arrays else CHANGES[:1])(parts, rng)
    return parts.to_bytes(rng)


def _change_description(parts: Parts, rng: Random) -> None:
    """Change one value anywhere in the JSON."""
    place: Any = parts.head.get("meta") if rng.random() < 0.9 else parts.head
    while True:
        if isinstance(place, dict) and rng.random() < 0.05:
            place[rng.choice(NAMES)] = _hostile(rng)
            return
        if isinstance(place, list) and rng.random() < 0.3:
            _change_list(place, rng)
            return
        if not place or not isinstance(place, dict | list):
            return
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
        inner = place[key]
        if isinstance(inner, dict | list) and rng.random() < 0.8:
            place = inner
        elif rng.random() < 0.1 and isinstance(place, dict):
            del place[key]
            return
        else:
            place[key] = _near(inner, rng)
            return


def _hostile(rng: Random) -> Any:
    value = rng.choice(HOSTILE)
    return deepcopy(value) if isinstance(value, dict | list) else value


def _near(value: Any, rng: Random) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 2))
    if isinstance(value, str) and value and rng.random() < 0.5:
        at = rng.randrange(len(value))
        return (
            value[:at] + rng.choice(("", "\0", "%", "[", '"', "9", "\n", "é", value)) + value[at:]
        )
    return _hostile(rng)


def _change_list(values: list[Any], rng: Random) -> None:
    at = rng.randrange(len(values) + 1)
    if rng.random() < 0.4 or not values:
        values.insert(at, rng.choice((_hostile(rng), *values)))
    elif rng.random() < 0.5:
        del values[at % len(values)]
    else:
        values.reverse()


def _change_array(parts: Parts, rng: Random) -> None:
    """Change one number of an array."""
    name = rng.choice(list(parts.arrays))
    array = parts.arrays[name]
    if not len(array):
        return
    at = rng.randrange(len(array))
    if array.dtype.kind == "f":
        array[at] = rng.choice(FLOATS)
        return
    near = int(array[at]) + rng.randrange(-2, 3)
    value = rng.choice((*NUMBERS, near, near, len(array)))
    bits = 8 * array.itemsize
    array.view(f"u{array.itemsize}")[at] = value % 2**bits


def _reshape_array(parts: Parts, rng: Random) -> None:
    """Make an array longer, shorter, of another type or another's, or take it away."""
    name = rng.choice(list(parts.arrays))
    array = parts.arrays[name]
    change = rng.randrange(6)
    if change == 0:
        del parts.arrays[name]
    elif change == 1:
        parts.arrays[name] = array[: rng.randrange(len(array) + 1)]
    elif change == 2:
        parts.arrays[name] = np.concatenate([array, array, array])
    elif change == 3:
        kind = rng.choice(("<f8", "<i8", "<u8", "<u4", "<u2", "u1"))
        parts.arrays[name] = array.astype(kind)
    elif change == 4:
        parts.arrays[name] = parts.arrays[rng.choice(list(parts.arrays))].copy()
    else:
        parts.arrays[name] = np.roll(array, 1)


def _wrap_sizes(parts: Parts, rng: Random) -> None:
    """Make sizes that come round to where they were when they are added up."""
    names = [name for name in parts.arrays if name.endswith((".sizes", ".starts"))]
    name = rng.choice(names) if names else rng.choice(list(parts.arrays))
    array = parts.arrays[name].astype("<u8")
    for _ in range(min(4, len(array))):
        array[rng.randrange(len(array))] += np.uint64(2**62)
    parts.arrays[name] = array if rng.random() < 0.5 else array.astype("<i8")


def _change_header(parts: Parts, rng: Random) -> None:
    """Say of an array what is not so, or of the header's own size."""
    if rng.random() < 0.2:
        parts.size = rng.choice((0, 8, 100, 2**31, 2**63 - 1, 2**64 - 8, rng.randrange(4096)))
        return
    name = rng.choice(list(parts.arrays))
    size = parts.arrays[name].nbytes
    parts.entries[name] = rng.choice((
        {"dtype": rng.choice(TYPES)},
        {"shape": rng.choice(([], [0], [2**60], [-1], [1, 1], [1.5], None, "1", [True]))},
        {"data_offsets": rng.choice((
            [0, size], [1, size + 1], [-8, size - 8], [8, 0], [0], {}, [0, 2**63], [0.0, size],
            [2**64, 2**64 + size],
        ))},
        {"extra": 1},
    ))  # fmt: skip


CHANGES: tuple[Callable[[Parts, Random], None], ...] = (
    _change_description, _change_description, _change_description, _change_array, _change_array,
    _reshape_array, _wrap_sizes, _change_header,
)  # fmt: skip


def _type(kind: np.dtype[Any]) -> str:
    return {"f8": "F64", "i8": "I64", "u8": "U64", "u4": "U32", "u2": "U16", "u1": "U8"}[
        kind.str[1:]
    ]


# --- what is done with a mutant ------------------------------------------------------------------


def try_model(data: bytes) -> None:
    """Read a model; if it is one, predict, look at it, export it and write it again."""
    saved = model_file.unpack(container.from_bytes(data))
    (_use_tree if saved.model.kind == "tree" else _use_chain)(saved)
    use_again(saved)


def use_again(saved: SavedModel) -> None:
    """Look at a model, export it and write it again."""
    model = saved.model
    summary(model, os.devnull, top=3, labels=()).to_json()
    for lines in model.exports().values():
        with suppress(ValueError):  # what the other program cannot hold
            for _ in zip(range(10_000), lines(), strict=False):
                pass
    again = model_file.unpack(container.from_bytes(_written(saved)))
    assert again.model.coefficients().n_nonzero == model.coefficients().n_nonzero


def _written(saved: Any) -> bytes:
    if find_spec("safetensors") is None:
        return _packed(model_file.pack(saved))
    return model_file.to_bytes(saved)


def _use_chain(saved: Any) -> None:
    model, encoder = saved.model, saved.encoder
    labels = set(model.classes_.tolist())
    if encoder is None:
        entries: Any = ([1.0, 2.0], ([0, 2], [0, model.n_features_in_ - 1]))
        X: Any = sp.csr_array(entries, shape=(3, model.n_features_in_))
        edges = sp.csr_array((3, model.edge_coef_.shape[1])) if model.edge_coef_.shape[1] else None
        found = [model.predict(X, [2, 1], edges=edges)]
        marginals = model.predict_marginals(X, [2, 1], edges=edges)
    else:
        try:
            X = _input(encoder)
            found, marginals = model.predict(X), np.concatenate(model.predict_marginals(X))
        except (TypeError, ValueError):
            return  # a model that asks for other data
    assert all(label in labels for one in found for label in one.tolist())
    _check_probabilities(marginals, model)
    if saved.reading is not None:
        Reading.from_json(saved.reading)


def _input(encoder: SequenceEncoder) -> list[Any]:
    if encoder.templates is None:
        names = encoder.vocabulary.names()[:2]
        return [[names, [], ["dog"]], [names]]
    width = min(max(2, encoder.templates.n_columns), 20)
    return [[["the", "D"] * (width // 2 + 1)] * 2, [["dog"] * 2 * (width // 2 + 1)]]


def _use_tree(saved: Any) -> None:
    model = saved.model
    entries: Any = ([1.0, 2.0], ([0, 2], [0, max(0, model.n_features_in_ - 1)]))
    X = sp.csr_array(entries, shape=(3, max(1, model.n_features_in_)))
    assert len(model.predict(X)) == 3
    _check_probabilities(model.predict_proba(X), model)
    if saved.reading is not None:
        TreeReading.from_json(saved.reading)


def _check_probabilities(p: Any, model: Any) -> None:
    """They are; with weights of 1e100 rounding leaves nothing of them but that they are numbers."""
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    if _largest(model) < 1e6:
        assert np.allclose(p.sum(axis=1), 1.0, rtol=1e-6), p


def _largest(model: Any) -> float:
    parts = [model.coef_.data, model.intercept_]
    if model.kind == "chain":
        parts += [model.transitions_.ravel(), model.start_weights_, model.end_weights_]
        parts.append(model.edge_coef_.data)
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)


def try_checkpoint(data: bytes) -> None:
    """Read a checkpoint."""
    found = read_checkpoint(container.from_bytes(data), "made")
    assert found.every > 0


KINDS = {
    "chain": Kind(chain_files, try_model, (ModelFileError,), mutate),
    "tree": Kind(tree_files, try_model, (ModelFileError,), mutate),
    "checkpoint": Kind(checkpoint_files, try_checkpoint, (ModelFileError,), mutate),
}
