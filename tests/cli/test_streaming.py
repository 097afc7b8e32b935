"""``proxqn predict model -`` in a pipe: answers as it is asked, in constant memory."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import proxqn
from proxqn import HierarchicalClassifier
from proxqn.cli.streaming import batched

SENTENCE = b"the D\ndog N\nsees V\n\n"


def command(home, *more):
    return [sys.executable, "-m", "proxqn", "predict", str(home / "model.proxqn"), "-", "-q", *more]


SAMPLE = b"cat 1:1 3:0.5\n"


@pytest.fixture(scope="module")
def tree_home(tmp_path_factory):
    """A folder with a tree for a model."""
    X, y = np.array([[0, 1, 0, 0.5], [0, 0, 1, 0.5]] * 6), ["cat", "dog"] * 6
    folder = tmp_path_factory.mktemp("tree")
    proxqn.save(HierarchicalClassifier(lam=0.1).fit(X, y), folder / "model.proxqn")
    return folder


def test_each_sample_is_answered_before_the_next_is_sent(tree_home):
    with subprocess.Popen(
        command(tree_home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        for sample, answer in ((SAMPLE, b"cat\n"), (b"2:1 3:0.5\n", b"dog\n"), (SAMPLE, b"cat\n")):
            process.stdin.write(sample)
            assert process.stdout.readline() == answer
        process.stdin.close()
        assert process.wait(30) == 0
        watchdog.cancel()


def test_each_sentence_is_answered_before_the_next_is_sent(home):
    with subprocess.Popen(
        command(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        for _ in range(3):
            process.stdin.write(SENTENCE)
            answer = [process.stdout.readline() for _ in range(4)]
            assert [line.split()[:1] for line in answer] == [[b"the"], [b"dog"], [b"sees"], []]
        process.stdin.close()
        assert process.wait(30) == 0
        watchdog.cancel()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("kind", ["chain", "tree"])
def test_a_reader_that_has_seen_enough_ends_it(home, tree_home, kind):
    text, model = (SENTENCE, home) if kind == "chain" else (SAMPLE, tree_home)
    line = f"yes '{text.decode()}' | {' '.join(command(model))} | head -n 8"
    done = subprocess.run(
        ["bash", "-c", f"{line}; echo ${{PIPESTATUS[1]}}"], capture_output=True, check=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines()[0].startswith(b"the D " if kind == "chain" else b"cat")
    assert done.stdout.splitlines()[-1] == b"0"
    assert done.stderr == b""


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs a child's largest memory")
@pytest.mark.parametrize("kind", ["chain", "tree"])
def test_memory_does_not_grow_with_the_input(home, tree_home, tmp_path, kind):
    text, last, model = SENTENCE, b"\n\n", home
    if kind == "tree":
        text, last, model = SAMPLE, b"cat\n", tree_home

    def megabytes(n):
        with subprocess.Popen(
            command(model, "-o", str(tmp_path / "out")), stdin=subprocess.PIPE
        ) as process:
            for _ in range(n):
                process.stdin.write(100 * text)
            process.stdin.close()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        assert (tmp_path / "out").read_bytes().count(last) == 100 * n
        return used.ru_maxrss / 1024

    assert megabytes(400) < megabytes(60) + 5.0


# --- batches ---


@pytest.fixture
def pipe(tmp_path):
    """A path that is no regular file, so that what arrives there is taken as it comes."""
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


@pytest.mark.parametrize("n", [0, 1, 3, 10, 11])
def test_all_records_come_in_order(pipe, tmp_path, n):
    (tmp_path / "file").write_bytes(b"")
    for source in (pipe, str(tmp_path / "file"), "-"):
        found = list(batched(iter(range(n)), source, 3))
        assert [record for some in found for record in some] == list(range(n))
        assert all(1 <= len(some) <= 3 for some in found)


def test_from_a_file_each_is_as_long_as_can_be(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    found = list(batched(iter(range(7)), str(tmp_path / "file"), 3))
    assert [len(some) for some in found] == [3, 3, 1]


def test_a_fault_comes_after_the_records_before_it(pipe):
    def records():
        yield from range(4)
        raise ValueError("line 5")

    found = []
    with pytest.raises(ValueError, match="line 5"):
        found.extend(batched(records(), pipe, 3))
    assert [record for some in found for record in some] == [0, 1, 2, 3]


def test_who_leaves_early_leaves_no_thread_waiting_for_room(pipe):
    before = set(threading.enumerate())
    stream = batched(iter(range(10**6)), pipe, 2)
    next(stream)
    stream.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_standard_input_that_is_none_is_read_as_a_file(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert list(batched(iter(range(3)), "-", 2)) == [[0, 1], [2]]
