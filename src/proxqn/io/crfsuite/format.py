"""CRFsuite's binary model: what the file is made of.

All numbers are little-endian; offsets count from the beginning of the file, in a dictionary from
the beginning of the dictionary.

=============  ====================================================================================
part           contents
=============  ====================================================================================
header         ``lCRF``, size of the file, ``FOMC``, version, a number not in use, labels,
               attributes; offsets of the five parts that follow
``FEAT``       size and number, then features of 20 bytes: kind (0: an attribute and a label, 1: two
               labels), source, label, weight
``CQDB``       the labels, and again the attributes: a dictionary, see `proxqn.io.crfsuite.cqdb`
``LFRF``       size and number of labels plus two, an offset for each: how many features go out from
               the label, and which
``AFRF``       the same of the attributes
=============  ====================================================================================

Only weights other than zero are there, and only attributes that have one. Labels are numbered in
the order in which they occur in the training data.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import scipy.sparse as sp

from proxqn.features.vocabulary import Vocabulary

MAGIC: Final = b"lCRF"
KIND: Final = b"FOMC"  # first-order Markov CRF
VERSION: Final = 100
FEATURES, LABEL_REFS, ATTRIBUTE_REFS = b"FEAT", b"LFRF", b"AFRF"

HEADER: Final = struct.Struct("<4sI4s9I")
CHUNK: Final = struct.Struct("<4sII")  # of features and of references: name, size, number
FEATURE: Final = np.dtype([("kind", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1
UNUSED_REFS: Final = 2  # for the ends of a sequence, whose features no version has
SIZE_LIMIT: Final = 2**32  # offsets have 32 bits


@final
@dataclass(frozen=True)
class Header:
    """The first 48 bytes."""

    size: int
    n_labels: int
    n_attributes: int
    features: int  # offsets, from here on
    labels: int
    attributes: int
    label_refs: int
    attribute_refs: int

    def pack(self) -> bytes:
        """Return its bytes."""
        counts = VERSION, 0, self.n_labels, self.n_attributes
        offsets = self.features, self.labels, self.attributes, self.label_refs, self.attribute_refs
        return HEADER.pack(MAGIC, self.size, KIND, *counts, *offsets)


@final
@dataclass(frozen=True)
class CRFsuiteModel:
    """What a model file says.

    Attributes
    ----------
    labels : tuple of str
        By number.
    attributes : Vocabulary
        Those that have a weight, by number.
    state : csr_array of shape (n_attributes, n_labels)
        Weights of attributes and labels.
    transitions : csr_array of shape (n_labels, n_labels)
        Weights of a label (row) followed by another (column).
    """

    labels: tuple[str, ...]
    attributes: Vocabulary
    state: sp.csr_array
    transitions: sp.csr_array
