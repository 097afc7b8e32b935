"""Every command that writes × every kind of thing its output can be: nothing is lost.

A regular file is replaced, and keeps its mode; what a link leads to is written; a pipe, a device
and a socket get the bytes; what cannot be written, or is an input, is refused before work begins.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.cli.conftest import TEMPLATE, corpus, run

SVM = "cat 1:1 3:0.5\ndog 2:1 3:0.5\n" * 6
CHAIN = "train chain data --template template --lam 0.2 -q"
TREE = "train tree svm --hierarchy tree --lam 0.3 -q"
LEGS = "--checkpoint-every 2 --tol 1e-12 --max-iter 5"
COMMANDS = {  # what each writes goes to the end of its line
    "train chain": f"{CHAIN} --dev dev --resume other.proxqn -o",
    "train chain, checkpoint": f"{CHAIN} {LEGS} -o made.proxqn --checkpoint",
    "train tree": f"{TREE} -o",
    "train tree, checkpoint": f"{TREE} {LEGS} -o made.proxqn --checkpoint",
    "predict": "predict model.proxqn data -q -o",
    "predict, tree": "predict tree.proxqn svm -q -o",
    "export": "export model.proxqn --to crfsuite -o",
    "inspect": "inspect model.proxqn --html",
    "wapiti train": "wapiti train -p patterns -d dev data",
    "wapiti label": "wapiti label -m wapiti data",
    "wapiti dump": "wapiti dump wapiti",
    "crf_learn": "crf_learn template data",
    "crf_learn, convert": "crf_learn -C text",
    "crf_test": "crf_test -m crfpp data -o",
    "crfsuite learn": "crfsuite learn attributes -m",
}
FILES = (
    "data", "template", "dev", "svm", "tree", "other.proxqn", "patterns", "wapiti", "text", "crfpp",
    "attributes",
)  # fmt: skip
INPUTS = [
    (command, word)
    for command, line in COMMANDS.items()
    for word in line.split()
    if word in FILES and word not in line.split()[:2]
] + [("predict", "model.proxqn"), ("export", "model.proxqn"), ("inspect", "model.proxqn"),
     ("crfsuite learn", "attributes"), ("crf_learn", "template"),
     ("wapiti dump", "wapiti")]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory, home):
    """All inputs of the commands, and what each writes to a file that was not there."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "data").write_text(corpus(12), encoding="utf-8")
    (folder / "dev").write_text(corpus(3, seed=1), encoding="utf-8")
    (folder / "template").write_text(TEMPLATE)
    (folder / "svm").write_text(SVM)
    (folder / "tree").write_text("pet cat\npet dog\nwild fox\n")
    for name in ("model.proxqn", "other.proxqn"):
        shutil.copy(home / "model.proxqn", folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "attributes").write_text("X\ta\tb:2\nY\tc\n\n" * 9)
        (folder / "patterns").write_text("*\nU0:%x[0,0]\n")
        for line in (
            f"{COMMANDS['train tree']} tree.proxqn",
            f"{COMMANDS['wapiti train']} wapiti",
            f"{COMMANDS['crf_learn']} -t crfpp",
        ):
            done = run(*line.split())
            assert done.exit_code == 0, done.output
        (folder / "crfpp.txt").rename(folder / "text")
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A folder of its own with the inputs, in which commands run."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture(scope="module")
def expected(made, tmp_path_factory):
    """What a command writes, by its name; made when first asked for."""
    known: dict[str, bytes] = {}

    def content(command: str) -> bytes:
        if command not in known:
            folder = tmp_path_factory.mktemp("expected")
            shutil.copytree(made, folder / "here")
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder / "here")
                done = run(*COMMANDS[command].split(), "out")
                assert done.exit_code == 0, done.output
                known[command] = Path("out").read_bytes()
        return known[command]

    return content


# --- what may be written -------------------------------------------------------------------------


def _file(path):
    path.write_bytes(b"old")
    path.chmod(0o640)
    return lambda: (path.read_bytes(), stat.S_IMODE(path.stat().st_mode) == 0o640)


def _nothing(path):
    return lambda: (path.read_bytes(), path.is_file())


def _link(path):
    (path.parent / "real").write_bytes(b"old")
    path.symlink_to("real")
    return lambda: ((path.parent / "real").read_bytes(), path.is_symlink())


def _link_to_nothing(path):
    path.symlink_to("real")
    return lambda: ((path.parent / "real").read_bytes(), path.is_symlink())


def _pipe(path):
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()

    def after():
        reader.join(10)
        return found[0], stat.S_ISFIFO(path.stat().st_mode)

    return after


def _socket(path):
    server, found = socket.socket(socket.AF_UNIX), []
    server.bind(path.name)
    server.listen()

    def serve():
        channel, _ = server.accept()
        with channel, channel.makefile("rb") as stream:
            found.append(stream.read())

    reader = threading.Thread(target=serve, daemon=True)
    reader.start()

    def after():
        reader.join(10)
        server.close()
        return found[0], stat.S_ISSOCK(path.stat().st_mode)

    return after


def _device(path):
    _make_device(path, 3)
    return lambda: (None, stat.S_ISCHR(path.stat().st_mode))


def _make_device(path, minor):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
    except OSError:
        pytest.skip("no device can be made here")


GOOD = {
    "nothing": _nothing, "a file": _file, "a link": _link, "a link to nothing": _link_to_nothing,
    "a pipe": _pipe, "a socket": _socket, "a device": _device,
}  # fmt: skip


@pytest.mark.parametrize("target", GOOD)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_there_gets_what_is_written(cli, place, expected, command, target):
    if "checkpoint" in command and target in ("a pipe", "a socket", "a device"):
        pytest.skip("refused, below: it could not be read again")
    content = expected(command)
    after = GOOD[target](place / "out")
    done = cli(*COMMANDS[command].split(), "out")
    assert done.exit_code == 0, done.stderr
    found, kept = after()
    assert kept
    assert found is None or found == content
    assert not [file for file in place.iterdir() if file.suffix == ".part"]


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if "checkpoint" not in c and c != "crfsuite learn"]
)
def test_standard_output_gets_it(cli, place, expected, command):
    content = expected(command)
    done = cli(*COMMANDS[command].split(), "-")
    assert done.exit_code == 0, done.stderr
    assert done.stdout_bytes == content
    assert not (place / "-").exists()


# --- what is refused -----------------------------------------------------------------------------


def _read_only(path):
    path.write_bytes(b"old")
    path.chmod(0o400)


def _full(path):
    _make_device(path, 7)


BAD = {
    "a folder": (lambda path: path.mkdir(), "out", 73, "is a folder, expected a file"),
    "in no folder": (lambda path: None, "out/m", 73, "does not exist; create it first"),
    "a link in a circle": (lambda path: path.symlink_to("out"), "out", 74, "symbolic links"),
    "a full disk": (_full, "out", 74, "No space left"),
    "read-only": (_read_only, "out", 73, "no permission to write it"),
}


@pytest.mark.parametrize("target", BAD)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_written_is_refused(cli, place, command, target):
    if target == "read-only" and not os.geteuid():
        pytest.skip("root may write everything")
    prepare, path, code, message = BAD[target]
    if target == "a full disk" and "checkpoint" in command:
        code, message = 73, "needs a regular file"
    prepare(place / "out")
    before = os.lstat(place / "out").st_mode if target != "in no folder" else None
    done = cli(*COMMANDS[command].split(), path)
    assert done.exit_code == code, done.stderr
    assert message in done.stderr
    assert before is None or os.lstat(place / "out").st_mode == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_fills_up_leaves_the_old_file(cli, place, command):
    """As RLIMIT_FSIZE makes of any disk: the write fails in its midst."""
    (place / "out").write_bytes(b"old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, limit[1]))
    try:
        done = cli(*COMMANDS[command].split(), "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert done.exit_code == 74, done.stderr
    assert "File too large" in done.stderr
    assert (place / "out").read_bytes() == b"old"
    assert not list(place.glob(".*.part"))


def test_a_checkpoint_needs_a_regular_file(cli, place):
    os.mkfifo(place / "out")
    for command in ("train chain, checkpoint", "train tree, checkpoint"):
        done = cli(*COMMANDS[command].split(), "out")
        assert done.exit_code == 73
        assert "out: --checkpoint needs a regular file" in done.stderr
        assert stat.S_ISFIFO((place / "out").stat().st_mode)
        assert not (place / "made.proxqn").exists()


WAYS = {
    "as it is": lambda name: name,
    "another way there": lambda name: f"../here/./{name}",
    "a link": lambda name: os.symlink(name, "out") or "out",
    "a second name": lambda name: os.link(name, "out") or "out",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("command", "name"), INPUTS)
def test_an_input_is_never_an_output(cli, place, command, name, way):
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    done = cli(*COMMANDS[command].split(), WAYS[way](name))
    assert done.exit_code == 73, done.stderr
    assert "which it would destroy; name another file" in done.stderr
    for file, content in before.items():
        assert (place / file).read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{CHAIN} -o m --checkpoint ./m", "--checkpoint is the same as --output"),
        (f"{CHAIN[:-3]} --json -o -", "--output and --json both write to standard output"),
        ("inspect model.proxqn --json --html -", "--html and --json both write"),
        (f"{CHAIN} -o m --checkpoint -", "--checkpoint needs a regular file"),
        ("train chain - --template template --dev - -o m", "DATA and --dev both read standard"),
    ],
)
def test_two_of_one_place_are_refused(cli, place, line, message):
    done = cli(*line.split())
    assert done.exit_code == 73
    assert message in done.stderr
    assert not (place / "m").exists()


def test_a_run_goes_on_in_its_own_checkpoint(cli, place):
    line = f"{CHAIN} {LEGS} --checkpoint c -o m".split()
    assert cli(*line).exit_code == 0
    assert cli(*line, "--resume", "./c", "--max-iter", "9").exit_code == 0


@pytest.mark.parametrize(
    "line",
    [
        f"{sys.executable} -m proxqn predict model.proxqn data -q >> data",
        f"{sys.executable} -m proxqn predict model.proxqn - -q -o data < data",
        f"{sys.executable} -m proxqn train chain - --template template -q -o data < data",
    ],
)
def test_redirected_from_or_to_an_input(place, line):
    before = (place / "data").read_bytes()
    done = subprocess.run(line, shell=True, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 73
    assert "which it would destroy" in done.stderr
    assert (place / "data").read_bytes() == before
