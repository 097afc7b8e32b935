"""Signals, checkpoints and resuming: a valid model or the previous one, never a broken one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import click
import numpy as np
import pytest

from proxqn.cli.app import proxqn
from proxqn.io import container, model_file
from proxqn.io.container import Contents
from proxqn.io.model_file import load_with_encoder

from .conftest import TEMPLATE, corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus that takes a few seconds to fit to a tight tolerance."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "d").write_text(corpus(800, noise=0.5), encoding="utf-8")
    (folder / "t").write_text(TEMPLATE)
    return folder


def arguments(folder, output, *more):
    options = ["--template", str(folder / "t"), "--lam", "0.05", "--tol", "1e-13"]
    return ["train", "chain", str(folder / "d"), *options, "-o", str(output), *map(str, more)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_model(folder, tmp_path, number):
    command = [sys.executable, "-m", "proxqn", *arguments(folder, tmp_path / "m", "--json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for line in process.stdout:
            if json.loads(line)["iteration"] >= 5:
                break
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    done = json.loads(out.splitlines()[-1])
    assert done["interrupted"]
    assert 5 <= done["iterations"] < 900
    assert b"stopping after this iteration" in err
    saved = load_with_encoder(tmp_path / "m")
    assert saved.model.n_iter_ == done["iterations"]
    new = saved.encoder.transform([[["dog1", "N"]]])
    assert len(saved.model.predict(new.X, new.lengths)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_signals_at_random_moments(folder, tmp_path):
    """In forks of this process, which have all modules loaded: many moments in little time."""
    path = tmp_path / "m"
    proxqn(arguments(folder, path, "--max-iter", "3", "-q"), standalone_mode=False)
    previous, rng, codes = path.read_bytes(), random.Random(0), set()
    for k in range(16):
        child = os.fork()
        if child == 0:
            code = 1
            try:  # whatever happens, this copy of the test session must not go on
                code = _train_quietly(arguments(folder, path, "--max-iter", "900", "-q"))
            except KeyboardInterrupt:
                code = 130
            finally:
                os._exit(code)
        time.sleep(rng.uniform(0.0, 0.5))
        os.kill(child, signal.SIGKILL if k % 2 else signal.SIGINT)
        codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        assert path.read_bytes() == previous or model_file.read(path).model.n_iter_ >= 0
    assert codes <= {0, 130, -signal.SIGKILL, -signal.SIGINT}
    assert 130 in codes


def _train_quietly(args):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        proxqn(args, standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        return 130
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_resumed_from_a_checkpoint_it_ends_at_the_same_bits(folder, tmp_path, cli):
    legs = ("--checkpoint", tmp_path / "ck", "--checkpoint-every", "7", "-q")
    whole = arguments(folder, tmp_path / "whole", "--max-iter", "25", *legs)
    assert cli(*whole).exit_code == 0
    part = arguments(folder, tmp_path / "part", "--max-iter", "16", *legs)
    assert cli(*part).exit_code == 0  # as if it had been stopped in its third leg
    rest = arguments(folder, tmp_path / "rest", "--max-iter", "25", "--resume", tmp_path / "ck")
    assert cli(*rest, "-q").exit_code == 0
    assert (tmp_path / "rest").read_bytes() == (tmp_path / "whole").read_bytes()
    assert load_with_encoder(tmp_path / "rest").model.n_iter_ == 25


def test_killed_and_resumed_it_ends_at_the_same_bits(folder, tmp_path, cli):
    options = ("--max-iter", "40", "--checkpoint-every", "5")
    whole = arguments(folder, tmp_path / "whole", *options, "--checkpoint", tmp_path / "ck0", "-q")
    assert cli(*whole).exit_code == 0
    broken = arguments(folder, tmp_path / "m", *options, "--checkpoint", tmp_path / "ck", "--json")
    command = [sys.executable, "-m", "proxqn", *broken]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "iteration" and event["iteration"] >= 12:
                break
        process.kill()
    assert not (tmp_path / "m").exists()
    resumed = arguments(folder, tmp_path / "m", "--max-iter", "40", "--resume", tmp_path / "ck")
    assert cli(*resumed, "-q").exit_code == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_checkpoint_of_another_problem_is_refused(folder, tmp_path, cli):
    legs = ("--checkpoint", tmp_path / "ck", "--checkpoint-every", "3", "--max-iter", "5", "-q")
    assert cli(*arguments(folder, tmp_path / "m", *legs)).exit_code == 0
    other = arguments(folder, tmp_path / "m", "--lam", "0.1", "--resume", tmp_path / "ck")
    done = cli(*other)
    assert done.exit_code == 65
    assert "a checkpoint of other data or another objective" in done.stderr
    done = cli(*arguments(folder, tmp_path / "m", "--resume", tmp_path / "ck",
                          "--checkpoint-every", "4", "--checkpoint", tmp_path / "c2"))  # fmt: skip
    assert done.exit_code == 65
    assert "every 3 iterations" in done.stderr
    assert cli("inspect", tmp_path / "ck").exit_code == 65  # a checkpoint is no model


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"every": 0}, "every"),
        ({"every": True}, "every"),
        ({"iteration": -1}, "iteration"),
        ({"bound": "x"}, "bound"),
        ({"bound": 1e9}, "nothing is below 1000000000"),
        ({"problem": 5}, "problem"),
        ({"coordinates": np.array([2**62])}, "the problem has"),
        ({"coordinates": np.array([-1])}, "ascending"),
        ({"values": np.array([1e200])}, "finite"),
    ],
)
def test_a_checkpoint_made_to_mislead_is_refused(folder, tmp_path, cli, changed, message):
    legs = ("--checkpoint", tmp_path / "ck", "--checkpoint-every", "2", "--max-iter", "3", "-q")
    assert cli(*arguments(folder, tmp_path / "m", *legs)).exit_code == 0
    found = container.read(tmp_path / "ck")
    arrays = {name: array[:1] for name, array in found.arrays.items()}
    arrays |= {name: value for name, value in changed.items() if name in arrays}
    meta = found.meta | {name: value for name, value in changed.items() if name in found.meta}
    container.write(Contents(found.kind, arrays, meta), tmp_path / "ck")
    done = cli(*arguments(folder, tmp_path / "n", "--resume", tmp_path / "ck", "-q"))
    assert done.exit_code == 65, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "n").exists()


def test_resumed_from_a_model_it_starts_from_its_weights(home, tmp_path, cli):
    args = ("train", "chain", home / "train.txt", "--template", home / "t.txt", "--json",
            "--lam", "0.2", "-o", tmp_path / "m")  # fmt: skip
    (tmp_path / "t2.txt").write_text(TEMPLATE + "U9:%x[0,0]/%x[0,1]\n")
    first = [json.loads(line) for line in cli(*args).stdout.splitlines()]
    again = cli(*args[:4], tmp_path / "t2.txt", *args[5:], "--resume", home / "model.proxqn")
    second = [json.loads(line) for line in again.stdout.splitlines()]
    assert second[0]["objective"] < first[0]["objective"]
    assert second[0]["objective"] == pytest.approx(first[-1]["objective"], rel=1e-9)
