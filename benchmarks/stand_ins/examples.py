"""NLTK's CRFTagger and sklearn-crfsuite's tutorial: ``python -m … ours nltk|tutorial``."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import time
import types
import warnings
from pathlib import Path
from typing import Any

from benchmarks.data import data_file
from benchmarks.stand_ins.peers import peer
from benchmarks.stand_ins.place import put_in_place
from benchmarks.stand_ins.sentences import chunked, tagged

_SENTENCES = 1000  # for NLTK's tagger: with its defaults CRFsuite takes long for more


def nltk_tagger() -> dict[str, Any]:
    """Train and use ``nltk.tag.CRFTagger`` as it is, on parts of speech of CoNLL-2000."""
    import nltk
    from nltk.tag import CRFTagger

    train, test = tagged("train", _SENTENCES), tagged("test", None)
    with tempfile.TemporaryDirectory() as folder:
        nltk.data.path.append(folder)  # it opens no model elsewhere
        tagger = CRFTagger()
        cpu = time.process_time()
        tagger.train(train, str(Path(folder) / "model.crf.tagger"))
        seconds = time.process_time() - cpu
        again = CRFTagger()
        again.set_model_file(str(Path(folder) / "model.crf.tagger"))
        return {"seconds": seconds, "accuracy": again.accuracy(test)}


def tutorial() -> dict[str, Any]:
    """Run the cells of sklearn-crfsuite's notebook, but the search and its picture.

    CoNLL-2002, which it reads through NLTK, is not at hand: it gets CoNLL-2000, whose rows have
    the same three columns.
    """
    corpus = types.SimpleNamespace(
        fileids=lambda: ["esp.testb", "esp.train"],
        iob_sents=lambda name: chunked("train" if "train" in name else "test"),
    )
    import nltk

    nltk.corpus.conll2002 = corpus
    cells = json.loads(peer("sklearn-crfsuite", "docs", "CoNLL2002.ipynb").read_text())["cells"]
    names: dict[str, Any] = {"__name__": "tutorial"}
    seconds = 0.0
    for cell in cells:
        text = "".join(cell["source"]).replace("%%time", "")
        if cell["cell_type"] != "code" or any(w in text for w in ("plt", "RandomizedSearchCV(")):
            continue
        if "rs." in text:  # what the search has found
            continue
        cpu = time.process_time()
        exec(compile(text, "CoNLL2002.ipynb", "exec"), names)
        seconds += (time.process_time() - cpu) * ("crf.fit(" in text)
    f1 = names["metrics"].flat_f1_score(
        names["y_test"], names["y_pred"], average="weighted", labels=names["labels"]
    )
    return {"seconds": seconds, "F1": float(f1)}


def main(whose: str, what: str) -> None:
    """Run one of them and print what it took."""
    data_file("conll2000", "train.txt")
    if whose == "ours":
        put_in_place()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"nltk": nltk_tagger, "tutorial": tutorial}[what]()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
