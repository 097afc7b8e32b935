"""A lattice's one long vector as an estimator has it: a chain's parts, and edges' coefficients."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from proxqn.losses.chain import coefficients as of_chain
from proxqn.losses.lattice.data import LatticeData
from proxqn.problem.sparse import Floats, SparseVector


def pack(
    data: LatticeData, coef: sp.csr_array, transitions: Floats, edge_coef: sp.csr_array
) -> SparseVector:
    """Turn coefficients (labels or label pairs x features) into a weight vector.

    What has no weight is left out: features that do not occur, pairs not admitted.
    """
    entries, columns = sp.coo_array(edge_coef), data.patterns.columns
    column = np.searchsorted(columns, entries.col)
    known = column < len(columns)
    known[known] = columns[column[known]] == entries.col[known]
    coordinates = column[known].astype(np.int64) * data.n_pairs + entries.row[known]
    values = entries.data[known]
    if data.admitted is not None:
        admitted = np.isin(coordinates, data.admitted)
        coordinates, values = coordinates[admitted], values[admitted]
    order = np.argsort(coordinates)
    edges = SparseVector(coordinates[order], values[order].astype(np.float64))
    return data.joined(of_chain.pack(data.chain, coef, transitions), edges)


def unpack(data: LatticeData, w: SparseVector) -> tuple[sp.csr_array, Floats, sp.csr_array]:
    """Return coefficients (L x features), transitions (L x L), edge weights (L² x features)."""
    chain, edges = data.split(w)
    column, pair = np.divmod(edges.coordinates, data.n_pairs)
    edge_coef = sp.coo_array(
        (edges.values, (pair, data.patterns.columns[column])),
        shape=(data.n_pairs, data.patterns.n_features),
    ).tocsr()
    return *of_chain.unpack(data.chain, chain), edge_coef
