"""A file is the old one or the new one, and what is no regular file stays what it is."""

from __future__ import annotations

import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from proxqn.replacing import replacing, write_atomically


@pytest.fixture
def null(tmp_path):
    """A device that takes everything: one of our own where root could destroy the machine's."""
    if os.geteuid():
        return Path(os.devnull)
    try:
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("no device can be made here")
    return tmp_path / "null"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_while_writing_leaves_the_old_file_or_the_new(tmp_path):
    first, second = (bytes([i]) * 300_000 for i in range(2))
    path = tmp_path / "m"
    write_atomically(first, path)
    rng = random.Random(0)
    for _ in range(50):
        child = os.fork()
        if child == 0:
            while True:
                write_atomically(second, path)
                write_atomically(first, path)
        time.sleep(rng.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_bytes() in (first, second)


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "m"
    write_atomically(b"old", path)
    monkeypatch.setattr(os, "replace", _full_disk)
    with pytest.raises(OSError, match="no space"):
        write_atomically(b"new", path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


def _full_disk(*_):
    raise OSError("no space")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(b"new", tmp_path / "link")
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to("real")
    write_atomically(b"new", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(b"new", path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_the_user_s_mask_leaves(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(b"new", tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid(), reason="needs root")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    write_atomically(b"new", path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_what_fails_in_the_middle_leaves_the_old_file(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"new", None])
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing does not exist; create it first: .*/m'"):
        write_atomically(b"new", tmp_path / "nothing" / "m")


def test_a_long_name_is_written(tmp_path):
    path = tmp_path / ("ü" * 127)
    write_atomically(b"new", path)
    assert path.read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_atomically(b"new", path)
    reader.join(10)
    assert found == [b"new"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_socket_is_written_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    found = []

    def serve():
        channel, _ = server.accept()
        with channel, channel.makefile("rb") as stream:
            found.append(stream.read())

    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        server.listen()
        reader = threading.Thread(target=serve)
        reader.start()
        write_atomically(b"new" * 100_000, "s")
        reader.join(10)
    assert found == [b"new" * 100_000]
    assert stat.S_ISSOCK(os.stat("s").st_mode)


def test_a_device_is_written_to(null):
    write_atomically(b"new", null)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_folder_and_a_disk_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_atomically(b"new", tmp_path)
    disk = tmp_path / "disk"
    try:
        os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(7, 200))
    except OSError:
        pytest.skip("no disk can be made here")
    with pytest.raises(OSError, match="is a disk"):
        write_atomically(b"new", disk)
    assert stat.S_ISBLK(disk.stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "link"])
def test_an_open_file_of_ours_is_written_on_not_replaced(tmp_path, name):
    """``>> file``: what stands there, and the file itself, stay."""
    if not os.path.exists("/dev/fd"):
        pytest.skip("no /dev/fd on this system")
    (tmp_path / "link").symlink_to("/dev/stdout")
    log = tmp_path / "log"
    log.write_bytes(b"before ")
    before = log.stat().st_ino
    code = f"from proxqn.replacing import write_atomically as w; w(b'after', {name!r})"
    with open(log, "ab") as out:
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=out, check=True)
    assert log.read_bytes() == b"before after"
    assert log.stat().st_ino == before
