"""Everything in Python that writes a file × every kind of thing that may be there: none is lost.

The same for commands: ``tests/cli/test_outputs.py``. Both write by ``proxqn.replacing``, whose own
tests have sockets, devices, folders, disks and killed processes.
"""

from __future__ import annotations

import errno
import os
import resource
import stat
import threading

import numpy as np
import pytest

import proxqn
from proxqn import ChainCRF
from proxqn.compat import pycrfsuite
from proxqn.compat.sklearn_crfsuite import CRF
from proxqn.ui.plots import plot_trace

X = [[{"w": "the"}, {"w": "dog"}], [{"w": "dogs"}, {"w": "bark"}]] * 4
Y = [["D", "N"], ["N", "V"]] * 4
ROWS = [[["the", "D"], ["dog", "N"]], [["dogs", "N"], ["bark", "V"]]] * 4


def _trainer(path):
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(X, Y, strict=True):
        trainer.append(tokens, labels)
    trainer.train(path)


def _dump(path):
    crf = ChainCRF(lam=0.1, end_weights=False).fit(X, Y)
    crf.to_crfsuite(f"{path}.made")
    tagger = pycrfsuite.Tagger()
    tagger.open(f"{path}.made")
    tagger.dump(path)


def _columns():
    return ChainCRF(lam=0.1, end_weights=False, templates="U0:%x[0,0]\nB").fit(ROWS, Y)


def _plot(path):
    pytest.importorskip("matplotlib")
    plot_trace(ChainCRF(lam=0.1).fit(X, Y).trace_, path)


WRITERS = {
    "save": lambda path: proxqn.save(ChainCRF(lam=0.1).fit(X, Y), path),
    "to_crfsuite": lambda path: ChainCRF(lam=0.1, end_weights=False).fit(X, Y).to_crfsuite(path),
    "to_wapiti": lambda path: _columns().to_wapiti(path),
    "to_crfpp": lambda path: _columns().to_crfpp(path),
    "trace": lambda path: ChainCRF(lam=0.1).fit(X, Y).trace_.to_csv(path),
    "plot": _plot,
    "pycrfsuite's train": _trainer,
    "pycrfsuite's dump": _dump,
    "sklearn_crfsuite's fit": lambda path: CRF(model_filename=str(path)).fit(X, Y),
}  # fmt: skip


@pytest.fixture
def place(tmp_path):
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_keeps_its_mode_and_a_link_stays_a_link(place, writer):
    (place / "real").write_bytes(b"old")
    (place / "real").chmod(0o640)
    (place / "out").symlink_to("real")
    WRITERS[writer](place / "out")
    assert (place / "out").is_symlink()
    assert (place / "real").read_bytes() not in (b"old", b"")
    assert stat.S_IMODE((place / "real").stat().st_mode) == 0o640
    assert not list(place.glob(".*.part"))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_pipe_gets_what_a_file_would(place, writer):
    if writer == "sklearn_crfsuite's fit":
        pytest.skip("its file is read again")
    WRITERS[writer](place / "file")
    os.mkfifo(place / "out")
    found = []
    reader = threading.Thread(target=lambda: found.append((place / "out").read_bytes()))
    reader.start()
    WRITERS[writer](place / "out")
    reader.join(10)
    assert stat.S_ISFIFO((place / "out").stat().st_mode)
    if writer not in ("trace", "plot"):  # in which are seconds
        assert found == [(place / "file").read_bytes()]
    assert len(found[0]) > 16


@pytest.mark.parametrize("writer", WRITERS)
def test_a_disk_that_fills_up_leaves_the_old_file(place, writer, monkeypatch):
    (place / "out").write_bytes(b"old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if writer == "pycrfsuite's dump":  # its own input has to be written first
        monkeypatch.setattr(os, "fsync", lambda handle: full() if _is_text(handle) else None)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, limit[1]))
    try:
        with pytest.raises(OSError, match=r"File too large|No space"):
            WRITERS[writer](place / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert (place / "out").read_bytes() == b"old"
    assert not list(place.glob(".*.part"))


def _is_text(handle):
    return os.readlink(f"/proc/self/fd/{handle}").rpartition("/")[2].startswith(".out.")


@pytest.mark.parametrize("writer", WRITERS)
def test_a_folder_is_refused(place, writer):
    (place / "out").mkdir()
    with pytest.raises(IsADirectoryError):
        WRITERS[writer](place / "out")
    assert (place / "out").is_dir()
    assert np.array_equal(list((place / "out").iterdir()), [])
