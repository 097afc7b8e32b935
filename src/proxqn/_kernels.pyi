"""The compiled kernels, by ``cpp/python/stubs.py``; formulas are in ``cpp/``.

Arrays are in C order: ``Doubles`` have one dimension, a ``DoubleTable`` has two. What begins with
``Out`` is written to, in place; where its type is another one, the call is refused.
"""

from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

Doubles: TypeAlias = NDArray[np.float64]
OutDoubles: TypeAlias = NDArray[np.float64]
DoubleTable: TypeAlias = NDArray[np.float64]
OutDoubleTable: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.float32]
FloatTable: TypeAlias = NDArray[np.float32]
OutFloatTable: TypeAlias = NDArray[np.float32]
Int64s: TypeAlias = NDArray[np.int64]
OutInt64s: TypeAlias = NDArray[np.int64]
Int32s: TypeAlias = NDArray[np.int32]
OutInt32s: TypeAlias = NDArray[np.int32]
Int32Table: TypeAlias = NDArray[np.int32]
UInt16s: TypeAlias = NDArray[np.uint16]
OutUInt16s: TypeAlias = NDArray[np.uint16]
Bytes: TypeAlias = NDArray[np.uint8]
OutBytes: TypeAlias = NDArray[np.uint8]
ByteTable: TypeAlias = NDArray[np.uint8]

class Batches:
    def __init__(
        self,
        first: Int64s,
        width: Int32s,
        length: Int32s,
        lane_length: Int32Table,
        lane_sequence: Int32Table,
        chunk: Int64s,
        labels: Int32s | None,
        weights: Doubles | None,
    ) -> None: ...

class Chain:
    def __init__(self, batches: Batches, scores: OutDoubleTable) -> None: ...
    def forward(
        self, alpha: OutDoubleTable, transitions: DoubleTable, losses: OutDoubles, n_jobs: int
    ) -> bool: ...
    def backward(
        self, alpha: OutDoubleTable, transitions: DoubleTable, pairs: OutDoubleTable, n_jobs: int
    ) -> None: ...
    def draw(
        self, transitions: DoubleTable, n_pairs: int, share: float, seed: int, n_jobs: int
    ) -> tuple[Int32s, Int32s, Int32s, Int32s, Floats, Int32s, Int32s, Int32s, Floats, Floats]: ...
    def fork(
        self,
        transitions: DoubleTable,
        least: float,
        share: float,
        seed: int,
        n_jobs: int,
        traced: bool,
    ) -> tuple[Int32s, Int32s, Int32s, Int32s, Floats, Int32s, Int32s, Int32s, Floats, Floats]: ...
    def evaluate(
        self,
        features: Features,
        coordinates: Int64s,
        weights: Doubles,
        alpha: OutDoubleTable,
        transitions: DoubleTable,
        losses: OutDoubles,
        pairs: OutDoubleTable,
        n_jobs: int,
        dense: tuple[DenseFeatures, Int64s, Doubles] | None = None,
    ) -> None: ...
    def viterbi(self, transitions: DoubleTable, path: OutInt32s, n_jobs: int) -> None: ...

class SingleChain:
    def __init__(self, batches: Batches, scores: OutFloatTable) -> None: ...
    def forward(
        self, alpha: OutFloatTable, transitions: DoubleTable, losses: OutDoubles, n_jobs: int
    ) -> bool: ...
    def backward(
        self, alpha: OutFloatTable, transitions: DoubleTable, pairs: OutDoubleTable, n_jobs: int
    ) -> None: ...
    def draw(
        self, transitions: DoubleTable, n_pairs: int, share: float, seed: int, n_jobs: int
    ) -> tuple[Int32s, Int32s, Int32s, Int32s, Floats, Int32s, Int32s, Int32s, Floats, Floats]: ...
    def fork(
        self,
        transitions: DoubleTable,
        least: float,
        share: float,
        seed: int,
        n_jobs: int,
        traced: bool,
    ) -> tuple[Int32s, Int32s, Int32s, Int32s, Floats, Int32s, Int32s, Int32s, Floats, Floats]: ...

def exp(x: Doubles, out: OutDoubles) -> None:
    """The vectorised exponential, for its test."""

class Features:
    def __init__(
        self,
        start: Int64s,
        slots: Int32s,
        value_start: Int64s,
        values: Doubles,
        lists: tuple[Int64s, UInt16s, Int32s, Int32s | None] | None = None,
    ) -> None: ...
    def scores(
        self,
        coordinates: Int64s,
        weights: Doubles,
        out: OutDoubleTable,
        dirty: OutBytes,
        n_jobs: int,
    ) -> None: ...
    def gradient(
        self, coordinates: Int64s, residuals: DoubleTable, out: OutDoubles, n_jobs: int
    ) -> None: ...
    def sweep(
        self,
        residuals: DoubleTable,
        threshold: float,
        pair_start: Int64s | None,
        pair_labels: Int32s | None,
        n_jobs: int,
    ) -> tuple[Int64s, Doubles, float]: ...
    def scores_single(
        self, coordinates: Int64s, weights: Doubles, rank: Int32s, out: OutFloatTable, n_jobs: int
    ) -> None: ...
    def gradient_single(
        self, coordinates: Int64s, rank: Int32s, residuals: FloatTable, out: OutDoubles, n_jobs: int
    ) -> None: ...
    def sweep_single(
        self,
        rank: Int32s,
        residuals: FloatTable,
        threshold: float,
        pair_start: Int64s | None,
        pair_labels: Int32s | None,
        kept: Int64s,
        n_jobs: int,
    ) -> tuple[Int64s, Doubles, float]: ...
    def restrict_slots(
        self, slot_map: Int32s, n_jobs: int
    ) -> tuple[Int64s, Int32s, Int64s, Doubles]: ...
    def drawn_columns(
        self,
        coordinates: Int64s,
        label_pairs: Int64s,
        n_labels: int,
        n_slots: int,
        tokens: tuple[Int32s, Int32s, Int32s, Int32s, Floats],
        edges: tuple[Int32s, Int32s, Int32s, Floats],
        n_jobs: int,
    ) -> tuple[Int64s, Int32s, Floats]: ...
    def observed_pairs(self, labels: Int32s, n_labels: int) -> tuple[Int64s, Int32s]: ...

@overload
def transpose(
    indptr: Int32s,
    entry_column: Int32s,
    row_order: Int64s,
    row_slot: Int32s,
    start: Int64s,
    slots: OutInt32s,
    entry: OutInt32s | None,
    place: Int32s | None,
    list_start: OutInt64s,
    lists: OutUInt16s,
) -> None: ...
@overload
def transpose(
    indptr: Int64s,
    entry_column: Int32s,
    row_order: Int64s,
    row_slot: Int32s,
    start: Int64s,
    slots: OutInt32s,
    entry: OutInt64s | None,
    place: Int32s | None,
    list_start: OutInt64s,
    lists: OutUInt16s,
) -> None:
    """CSR entries to columns, rows taken in the given order."""

class DenseFeatures:
    @overload
    def __init__(self, values: FloatTable, slot_row: Int32s) -> None: ...
    @overload
    def __init__(self, values: DoubleTable, slot_row: Int32s) -> None: ...
    def add_scores(
        self,
        coordinates: Int64s,
        weights: Doubles,
        out: OutDoubleTable,
        dirty: OutBytes,
        n_jobs: int,
    ) -> None: ...
    def gradient(
        self, coordinates: Int64s, residuals: DoubleTable, out: OutDoubles, n_jobs: int
    ) -> None: ...
    def sweep(
        self,
        residuals: DoubleTable,
        threshold: float,
        pair_start: Int64s | None,
        pair_labels: Int32s | None,
        n_jobs: int,
    ) -> tuple[Int64s, Doubles, float]: ...
    def add_scores_single(
        self, coordinates: Int64s, weights: Doubles, rank: Int32s, out: OutFloatTable, n_jobs: int
    ) -> None: ...
    def gradient_single(
        self, coordinates: Int64s, rank: Int32s, residuals: FloatTable, out: OutDoubles, n_jobs: int
    ) -> None: ...
    def sweep_single(
        self,
        rank: Int32s,
        residuals: FloatTable,
        threshold: float,
        pair_start: Int64s | None,
        pair_labels: Int32s | None,
        kept: Int64s,
        n_jobs: int,
    ) -> tuple[Int64s, Doubles, float]: ...
    def drawn_columns(
        self,
        coordinates: Int64s,
        n_labels: int,
        n_slots: int,
        tokens: tuple[Int32s, Int32s, Int32s, Int32s, Floats],
        others: tuple[Int64s, Int32s, Floats],
        n_jobs: int,
    ) -> tuple[Int64s, Int32s, Floats]: ...
    def squares(self) -> Doubles: ...
    def observed_pairs(self, labels: Int32s, n_labels: int) -> tuple[Int64s, Int32s]: ...

class Tree:
    def __init__(
        self,
        parent: Int32s,
        depth: Int32s,
        leaf_start: Int32s,
        leaf_stop: Int32s,
        leaf_nodes: Int32s,
        start: Int64s,
        columns: Int32s,
        values: Doubles,
        leaves: Int32s,
        weights: Doubles | None,
        n_columns: int,
    ) -> None: ...
    def move(self, coordinates: Int64s, w: Doubles, d: Doubles, n_jobs: int) -> None: ...
    def forward(self, step: float, losses: OutDoubles, n_jobs: int) -> None: ...
    def backward(self, step: float, residuals: OutDoubleTable, n_jobs: int) -> None: ...
    def draw(
        self, residuals: DoubleTable, n_pairs: int, share: float, seed: int, n_jobs: int
    ) -> tuple[Int32s, Int32s, Int32s, Int32s, Floats, int]: ...

def add_sparse(
    coordinates: Int64s, values: Doubles, others: Int64s, their_values: Doubles, step: float
) -> tuple[Int64s, Doubles]:
    """The first sparse vector plus step times the second, without zeros."""

def inner_products(A: DoubleTable, B: DoubleTable, out: OutDoubleTable, n_jobs: int) -> None:
    """Write A B' into out."""

@overload
def memory_rows(
    S: DoubleTable,
    Y: DoubleTable,
    D: Doubles,
    SS: DoubleTable,
    SY: DoubleTable,
    gamma: float,
    rows: OutDoubleTable,
    diagonal: OutDoubles,
    n_jobs: int,
) -> bool: ...
@overload
def memory_rows(
    S: DoubleTable,
    Y: DoubleTable,
    D: Doubles,
    SS: DoubleTable,
    SY: DoubleTable,
    gamma: float,
    rows: OutFloatTable,
    diagonal: OutDoubles,
    n_jobs: int,
) -> bool:
    """
    Rows of P and C and the diagonal of B = gamma D + P P' - C C'; false where B breaks down.
    """

@overload
def extend_rows(
    s: Doubles, y: Doubles, base: Doubles, m: int, rows: OutDoubleTable, diagonal: OutDoubles
) -> bool: ...
@overload
def extend_rows(
    s: Doubles, y: Doubles, base: Doubles, m: int, rows: OutFloatTable, diagonal: OutDoubles
) -> bool:
    """Add a pair to the rows of m pairs; false where it would break B."""

@overload
def coordinate_descent(
    w: Doubles,
    g: Doubles,
    rows: DoubleTable,
    m: int,
    base: Doubles,
    diagonal: Doubles,
    lam: Doubles,
    l2: Doubles,
    lower: Doubles,
    upper: Doubles,
    max_passes: int,
    tolerance: float,
    seed: int,
    d: OutDoubles,
) -> float: ...
@overload
def coordinate_descent(
    w: Doubles,
    g: Doubles,
    rows: FloatTable,
    m: int,
    base: Doubles,
    diagonal: Doubles,
    lam: Doubles,
    l2: Doubles,
    lower: Doubles,
    upper: Doubles,
    max_passes: int,
    tolerance: float,
    seed: int,
    d: OutDoubles,
) -> float:
    """
    Minimise the penalised quadratic model from d = 0 and write d; returns the passes made. lam, l2, lower and upper: one number a coordinate, or one for all.
    """

class SampledModel:
    def __init__(
        self,
        start: Int64s,
        row: Int32s,
        value: Floats,
        n_rows: int,
        ridge: float,
        budget: float,
        n_jobs: int,
    ) -> None: ...
    def append(self, S: DoubleTable, Y: DoubleTable) -> int: ...
    def keep(self, positions: Int64s) -> None: ...
    def minimize(
        self,
        w: Doubles,
        g: Doubles,
        lam: Doubles,
        l2: Doubles,
        lower: Doubles,
        upper: Doubles,
        max_passes: int,
        tolerance: float,
        seed: int,
        d: OutDoubles,
    ) -> float:
        """
        Minimise the penalised quadratic model from d = 0 and write d; returns the passes made. lam, l2, lower and upper: one number a coordinate, or one for all.
        """

    def diagonal(self) -> Doubles: ...

class SingleSampledModel:
    def __init__(
        self,
        start: Int64s,
        row: Int32s,
        value: Floats,
        n_rows: int,
        ridge: float,
        budget: float,
        n_jobs: int,
    ) -> None: ...
    def append(self, S: DoubleTable, Y: DoubleTable) -> int: ...
    def keep(self, positions: Int64s) -> None: ...
    def minimize(
        self,
        w: Doubles,
        g: Doubles,
        lam: Doubles,
        l2: Doubles,
        lower: Doubles,
        upper: Doubles,
        max_passes: int,
        tolerance: float,
        seed: int,
        d: OutDoubles,
    ) -> float:
        """
        Minimise the penalised quadratic model from d = 0 and write d; returns the passes made. lam, l2, lower and upper: one number a coordinate, or one for all.
        """

    def diagonal(self) -> Doubles: ...

class DrawnProduct:
    def __init__(
        self, start: Int64s, row: Int32s, value: Floats, n_rows: int, ridge: float, n_jobs: int
    ) -> None: ...
    def times(self, v: Doubles, out: OutDoubles) -> None:
        """Write rho v + J'(J v) to out."""

    def diagonal(self) -> Doubles: ...

class Edges:
    def __init__(
        self,
        start: Int64s,
        patterns: Int32s,
        value_start: Int64s,
        values: Doubles,
        row_start: Int64s,
        rows: Int32s,
        row_weights: Doubles,
        pattern_start: Int64s,
        pattern_columns: Int32s,
        pattern_values: Doubles,
        n_labels: int,
    ) -> None: ...
    def put(self, start: Int64s, pair: Int32s, value: Doubles) -> None: ...
    def gradient(
        self,
        coordinates: Int64s,
        alpha: DoubleTable,
        onward: DoubleTable,
        log_domain: Bytes,
        transitions: DoubleTable,
        out: OutDoubles,
        n_jobs: int,
    ) -> None: ...
    def sweep(
        self,
        threshold: float,
        alpha: DoubleTable,
        onward: DoubleTable,
        log_domain: Bytes,
        transitions: DoubleTable,
        observed: Int64s,
        counts: Doubles,
        admitted: Int64s | None,
        n_jobs: int,
    ) -> tuple[Int64s, Doubles, float]: ...

class Lattice:
    def __init__(
        self,
        batches: Batches,
        scores: OutDoubleTable,
        token_start: Int64s,
        pattern: Int32s,
        twin: Int64s | None,
        allowed: ByteTable | None,
    ) -> None: ...
    def forward(
        self,
        edges: Edges,
        alpha: OutDoubleTable,
        log_domain: OutBytes,
        transitions: DoubleTable,
        losses: OutDoubles,
        n_jobs: int,
    ) -> None: ...
    def backward(
        self,
        edges: Edges,
        alpha: OutDoubleTable,
        onward: OutDoubleTable,
        log_domain: OutBytes,
        residuals: OutDoubleTable,
        transitions: DoubleTable,
        pairs: OutDoubleTable,
        n_jobs: int,
    ) -> None: ...
    def viterbi(
        self, edges: Edges, transitions: DoubleTable, path: OutInt32s, n_jobs: int
    ) -> None: ...

class ChainSamples:
    def __init__(
        self,
        sample_start: Int64s,
        row_start: Int64s,
        columns: Int32s,
        values: Doubles | None,
        weights: Doubles | None,
        w: OutDoubleTable,
        q: OutDoubleTable,
        admitted: DoubleTable | None,
        n_labels: int,
        labels: Int32s,
        admitted_pairs: DoubleTable | None,
        longest: int,
    ) -> None: ...
    def put_transitions(self, transitions: DoubleTable) -> None: ...
    def get_transitions(self, out: OutDoubleTable) -> None: ...
    def restart(self) -> None: ...
    def descend(self, order: Int64s, rate: float, lam: float, l2: float) -> None: ...
    def settle(self) -> None: ...
    def loss(self, order: Int64s) -> float: ...

class TreeSamples:
    def __init__(
        self,
        sample_start: Int64s,
        row_start: Int64s,
        columns: Int32s,
        values: Doubles | None,
        weights: Doubles | None,
        w: OutDoubleTable,
        q: OutDoubleTable,
        parent: Int32s,
        leaf_nodes: Int32s,
        leaves: Int32s,
    ) -> None: ...
    def restart(self) -> None: ...
    def descend(self, order: Int64s, rate: float, lam: float, l2: float) -> None: ...
    def settle(self) -> None: ...
    def loss(self, order: Int64s) -> float: ...

class ChainBlocks:
    def __init__(
        self,
        start: Int64s,
        slots: Int32s,
        value_start: Int64s,
        values: Doubles,
        sample: Int32s,
        weights: Doubles | None,
        admitted: DoubleTable | None,
        w: OutDoubleTable,
        scores: OutDoubleTable,
        marginals: OutDoubleTable,
        losses: OutDoubles,
        n_labels: int,
        sample_start: Int64s,
        rows: Int32s,
        labels: Int32s,
        row_label: Int32s,
        admitted_pairs: DoubleTable | None,
    ) -> None: ...
    def put_transitions(self, transitions: DoubleTable) -> None: ...
    def get_transitions(self, out: OutDoubleTable) -> None: ...
    def restart(self) -> None: ...
    def descend(
        self,
        blocks: Int64s,
        lam: float,
        l2: float,
        sigma: float,
        beta: float,
        floor: float,
        max_trials: int,
        budget: int,
        violation: OutDoubles,
        excess: OutDoubles,
    ) -> int: ...
    def counts(self) -> tuple[int, int, int]: ...

class TreeBlocks:
    def __init__(
        self,
        start: Int64s,
        slots: Int32s,
        value_start: Int64s,
        values: Doubles,
        sample: Int32s,
        weights: Doubles | None,
        w: OutDoubleTable,
        scores: OutDoubleTable,
        marginals: OutDoubleTable,
        losses: OutDoubles,
        parent: Int32s,
        leaf_nodes: Int32s,
        leaves: Int32s,
    ) -> None: ...
    def restart(self) -> None: ...
    def descend(
        self,
        blocks: Int64s,
        lam: float,
        l2: float,
        sigma: float,
        beta: float,
        floor: float,
        max_trials: int,
        budget: int,
        violation: OutDoubles,
        excess: OutDoubles,
    ) -> int: ...
    def counts(self) -> tuple[int, int, int]: ...

class SagaBlocks:
    def __init__(
        self,
        start: Int64s,
        slots: Int32s,
        value_start: Int64s,
        values: Doubles,
        kept: Int64s,
        slot_row: Int32s,
        block_start: Int64s,
        row_start: Int64s,
        weights: Doubles | None,
    ) -> None: ...
    def occurrences(self) -> Int64s: ...
    def typical_curvatures(self, u: Doubles) -> Doubles: ...
    def columns_of(self, block: int) -> Int32s: ...

class SagaMemory:
    def __init__(
        self,
        w: OutDoubleTable,
        a: OutDoubleTable,
        residuals: OutFloatTable,
        own: OutFloatTable,
        admitted: ByteTable | None,
        rate: Doubles,
        share: Doubles,
        lam: DoubleTable,
        l2: DoubleTable,
        lower: DoubleTable,
        upper: DoubleTable,
        n_own: int,
    ) -> None: ...

class ChainSaga:
    def __init__(
        self, blocks: SagaBlocks, memory: SagaMemory, n_labels: int, labels: Int32s
    ) -> None: ...
    def visit(
        self, order: Int64s, test_every: int, caution: float, n_jobs: int
    ) -> tuple[float, float]: ...

class TreeSaga:
    def __init__(
        self,
        blocks: SagaBlocks,
        memory: SagaMemory,
        parent: Int32s,
        leaf_nodes: Int32s,
        leaves: Int32s,
    ) -> None: ...
    def visit(
        self, order: Int64s, test_every: int, caution: float, n_jobs: int
    ) -> tuple[float, float]: ...

class Tagger:
    def __init__(
        self,
        row: Int32s,
        start: Int64s,
        label: Int32s,
        value: Doubles,
        transitions: DoubleTable,
        first: Doubles,
        last: Doubles,
    ) -> None: ...
    def tag(
        self,
        indptr: Int64s,
        indices: Int32s,
        data: Doubles,
        lengths: Int64s,
        path: OutInt32s,
        n_jobs: int,
    ) -> None: ...
    def tag_used(
        self,
        indptr: Int64s,
        indices: Int32s,
        data: Doubles | None,
        lengths: Int64s,
        path: OutInt32s,
        n_jobs: int,
    ) -> None: ...
    def marginals(
        self,
        indptr: Int64s,
        indices: Int32s,
        data: Doubles,
        lengths: Int64s,
        out: OutDoubleTable,
        n_jobs: int,
    ) -> None: ...
    def marginals_used(
        self,
        indptr: Int64s,
        indices: Int32s,
        data: Doubles | None,
        lengths: Int64s,
        out: OutDoubleTable,
        n_jobs: int,
    ) -> None: ...
    def slot_scores(
        self,
        indptr: Int64s,
        indices: Int32s,
        data: Doubles,
        token: Int64s,
        out: OutDoubleTable,
        n_jobs: int,
    ) -> None: ...

def same_bytes(a: list[Any], b: list[Any]) -> bool:
    """Whether the arrays of two lists are the same in size and in every bit."""

def rows_of_slots(array: DoubleTable, token: Int64s, out: OutDoubleTable) -> None:
    """From (labels, slots) to (tokens, labels)."""

class NameColumns:
    """Known names, or growing ones."""

class Names(NameColumns):
    def __init__(self, blob: Bytes, offsets: Int64s) -> None: ...
    def twin(self) -> int: ...
    def find(self, names: list[str]) -> Int64s | None: ...

class GrowingNames(NameColumns):
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add(self, names: list[str], counts: Int64s) -> Int64s | None: ...
    def arrays(self) -> tuple[Bytes, Int64s, Int64s]: ...

class TokenRows:
    def __init__(
        self, names: NameColumns, keep_zeros: bool = False, numbers: tuple[type, ...] = ()
    ) -> None: ...
    def read(self, tokens: list[Any], begin: int) -> int: ...
    def add(self, names: list[str], values: Doubles) -> bool: ...
    def arrays(self) -> tuple[Int32s, Doubles | None, Int64s, int]: ...

class Templates:
    def __init__(self, templates: list[Any]) -> None: ...
    def find(
        self, names: NameColumns, sequences: list[Any], sources: list[Any], skip_first_tokens: bool
    ) -> tuple[Int32s, Doubles | None, Int64s, int] | None: ...

def row_width(sequences: list[Any]) -> int | None:
    """Columns of the rows of all sequences, if one number."""
