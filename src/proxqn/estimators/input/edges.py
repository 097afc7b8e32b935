"""Features of the steps between tokens, as users pass them with ``edges``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from proxqn.estimators.input.sequences import is_list_of_sequences, join
from proxqn.estimators.input.tokens import Tokens, canonical


def with_edges(tokens: Tokens, edges: Any, known: int | None) -> Tokens:
    """Return the tokens with their edge features; refuse what does not fit.

    Parameters
    ----------
    tokens : Tokens
        They have edge features already where templates make them.
    edges : matrix of shape (n_tokens, n_edge_features), or list of these, or None
        As the user gave them.
    known : int or None
        Edge features of the fitted model; None before a fit.

    Examples
    --------
    >>> tokens = Tokens(sp.csr_array(np.eye(2)), np.array([2]), listed=False)
    >>> with_edges(tokens, [[0], [1]], None).edges.toarray().tolist()
    [[0], [1]]
    """
    if edges is None:
        if known and tokens.edges is None:
            raise ValueError(
                f"the model was fitted with {known} edge features; pass edges, a matrix with one "
                "row a token."
            )
        return tokens
    if tokens.edges is not None:
        raise ValueError(
            "edges came with templates that make edge features. Leave one of them out."
        )
    matrix = _checked(edges, tokens)
    if known is not None and matrix.shape[1] != known:
        raise ValueError(
            f"edges has {matrix.shape[1]} features, but the model was fitted with {known}."
        )
    return replace(tokens, edges=matrix)


def _checked(edges: Any, tokens: Tokens) -> sp.csr_array:
    if isinstance(edges, list | tuple) and is_list_of_sequences(edges):
        edges, lengths = join(edges)
        if not np.array_equal(lengths, tokens.given_lengths):
            raise ValueError(
                "edges must have a matrix for every sequence, with as many rows as it has tokens."
            )
    matrix: Any = check_array(edges, accept_sparse="csr", ensure_min_features=0, input_name="edges")
    if matrix.shape[0] != tokens.X.shape[0]:
        raise ValueError(
            f"edges has {matrix.shape[0]} rows, but there are {tokens.X.shape[0]} tokens. Pass one "
            "row a token, the step into it; rows of first tokens are not used."
        )
    return canonical(matrix)
