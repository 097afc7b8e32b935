import io
import re
import sys
from dataclasses import replace

import pytest

from proxqn.run.trace import Row, Trace
from proxqn.ui.progress import Progress
from proxqn.ui.time_left import TimeLeft


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


def plain(written):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)


def run(stream, rows, **options):
    with Progress(stream, **options) as progress:
        for one in rows:
            progress(one)
        progress.finish(Result(rows))
    return stream.getvalue()


ROWS = [row(1), row(2), row(3, epoch=2, gap=1.0), row(4, epoch=2, gap=0.25)]


def test_pipe_gets_lines_of_equal_width():
    lines = run(io.StringIO(), ROWS, stop="gap").splitlines()
    assert [line.split()[0] for line in lines] == ["iteration", "1", "3", "4", "converged:"]
    assert len({len(line) for line in lines[:-1]}) == 1
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["1", "1,000.0000", "—", "10", "20", "0.1", "s", "—"]
    assert lines[3].split()[2] == "1.0e-03"


def test_every_iteration():
    assert len(run(io.StringIO(), ROWS, every_iteration=True).splitlines()) == 1 + 4 + 1


def test_terminal_gets_one_live_table():
    pytest.importorskip("rich")
    written = run(Terminal(), ROWS)
    assert "\x1b[" in written
    assert "converged: enough" in written
    last = plain(written).split("iteration")[-1].splitlines()
    assert [line.split()[0] for line in last[1:4]] == ["1", "3", "4"]  # two epochs and the end


def test_a_long_table_shows_its_end_and_at_last_everything(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("LINES", "10")
    monkeypatch.setattr("proxqn.ui.progress._REFRESH_SECONDS", 0.0)
    written = run(Terminal(), [row(i, epoch=i) for i in range(1, 31)])
    frames = plain(written).split("iteration")
    lines = next(frame for frame in reversed(frames) if len(frame.splitlines()) < 12).splitlines()
    assert [line.split()[0] for line in lines[1:8]] == [str(i) for i in range(24, 31)]
    assert len(frames[-1].splitlines()) >= 1 + 30


def test_the_table_fits_a_terminal_and_lines_up():
    long = row(123456, epoch=2, gap=5000.0)
    long = replace(long, objective=1234567.5, nnz=1234567, working_set=123456789, seconds=35999.0)
    lines = run_scored(io.StringIO(), [row(1), long], 0.9371)
    assert {len(line) for line in lines[:3]} == {79}
    assert lines[2].split()[-3:] == ["0.9371", "9:59:59", "—"]
    heads = ("iteration", "objective", "rel. gap", "nonzeros", "working set", "dev F1", "elapsed")
    assert all(head in lines[0] for head in (*heads, "left"))


def run_scored(stream, rows, score):
    with Progress(stream, stop="gap", score_name="dev F1") as progress:
        progress.note(score)
        for one in rows:
            progress(one)
        progress.finish(Result(rows))
    return stream.getvalue().splitlines()


def test_time_left_follows_the_fall_of_the_gap():
    left = TimeLeft(1e-4)
    assert left(row(1)) is None  # no gap is known
    falling = [replace(row(1), objective=1.0, gap=10.0**-t, seconds=float(t)) for t in range(4)]
    estimates = [left(one) for one in falling]
    assert estimates[:2] == [None, None]
    assert estimates[2:] == pytest.approx([2.0, 1.0])  # a tenth a second, to 1e-4
    assert left(replace(falling[-1], seconds=6.0)) is None  # it has stood still for half the time
    assert left(replace(falling[-1], seconds=7.0, gap=1e-5)) == 0.0
    assert TimeLeft(0.0)(falling[-1]) is None


def test_only_a_run_that_ends_by_its_gap_has_a_time_left():
    shown = run(io.StringIO(), ROWS).splitlines()
    assert shown[0].split()[-1] == "elapsed"
    assert shown[1].split() == ["1", "1,000.0000", "—", "10", "20", "0.1", "s"]


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
