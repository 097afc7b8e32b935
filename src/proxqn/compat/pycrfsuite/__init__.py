"""The module ``pycrfsuite`` (python-crfsuite), with this package's solver behind it.

``import proxqn.compat.pycrfsuite as pycrfsuite`` is the whole migration; a program that cannot be
changed is run with ``sys.modules["pycrfsuite"] = proxqn.compat.pycrfsuite``. What it trains is
written as CRFsuite's own files.

Examples
--------
>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "animals.crfsuite")
>>> trainer = Trainer(params={"c1": 0.1, "c2": 0.01}, verbose=False)
>>> trainer.append([{"w": "dogs"}, {"w": "bark"}], ["N", "V"])
>>> trainer.append([{"w": "cats"}, {"w": "purr"}], ["N", "V"])
>>> trainer.train(path)
>>> with Tagger().open(path) as tagger:
...     tagger.tag([{"w": "cats"}, {"w": "bark"}])
['N', 'V']
"""

from __future__ import annotations

from proxqn.compat.pycrfsuite import _dumpparser, _logparser
from proxqn.compat.pycrfsuite.errors import CRFSuiteError
from proxqn.compat.pycrfsuite.item_sequence import ItemSequence
from proxqn.compat.pycrfsuite.tagger import Tagger
from proxqn.compat.pycrfsuite.trainer import BaseTrainer, Trainer

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose files and parameters these are."""

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "Tagger",
    "Trainer",
    "_dumpparser",
    "_logparser",
]
