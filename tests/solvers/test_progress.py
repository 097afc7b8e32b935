import io
import sys

import pytest

from proxqn.solvers.progress import Progress
from proxqn.solvers.trace import Row, Trace


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Result:
    def __init__(self, rows):
        self.trace = Trace()
        for row in rows:
            self.trace.append(row)
        self.message = "converged: enough"


def row(iteration, epoch=1, gap=float("inf")):
    return Row(
        iteration=iteration,
        epoch=epoch,
        objective=1000.0 / iteration,
        gap=gap,
        kkt=1.0,
        certified=False,
        nnz=10,
        working_set=20,
        step=1.0,
        trials=1,
        inner_passes=3.0,
        seconds=0.1 * iteration,
    )


def run(stream, rows, **options):
    with Progress(stream, **options) as progress:
        for one in rows:
            progress(one)
        progress.finish(Result(rows))
    return stream.getvalue()


ROWS = [row(1), row(2), row(3, epoch=2, gap=1.0), row(4, epoch=2, gap=0.25)]


def test_pipe_gets_lines_of_equal_width():
    lines = run(io.StringIO(), ROWS).splitlines()
    assert [line.split()[0] for line in lines] == ["iteration", "1", "3", "4", "converged:"]
    assert len({len(line) for line in lines[:-1]}) == 1
    assert max(map(len, lines)) < 80
    assert lines[1].split() == ["1", "1,000.0000", "?", "10", "20", "1", "0.10"]
    assert lines[3].split()[2] == "1.0e-03"


def test_every_iteration():
    assert len(run(io.StringIO(), ROWS, every_iteration=True).splitlines()) == 1 + 4 + 1


def test_terminal_gets_one_live_table():
    pytest.importorskip("rich")
    written = run(Terminal(), ROWS)
    assert "\x1b[" in written
    assert "converged: enough" in written
    last = written.split("iteration")[-1]
    assert "500.0000      3.4e-01" in last  # epoch 1 ended here; its bound came with epoch 2


def test_terminal_without_rich_gets_lines(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.live", None)
    assert "\x1b[" not in run(Terminal(), ROWS)


def test_terminal_is_restored_after_an_error():
    pytest.importorskip("rich")
    stream = Terminal()
    with Progress(stream) as progress:  # leaves without finish, as after an error
        progress(row(1))
    assert stream.getvalue().count("\x1b[?25l") == stream.getvalue().count("\x1b[?25h")


def test_run_without_iterations():
    assert run(io.StringIO(), []) == "converged: enough\n"
