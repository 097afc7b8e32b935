from __future__ import annotations

import io

from tests.replication.made_runs import keep

from replication.problems.spec import ProblemSpec
from replication.runs.live_table import Display
from replication.runs.processes import News
from replication.runs.records import Outcome, Plan, Record, Store

SPEC = ProblemSpec("ocr")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tell(display: Display, name: str) -> None:
    display(News(name, "loading"))
    for i in range(20):
        display(News(name, "training", seconds=0.1 * i, objective=200.0 - i, nnz=i))
    display(News(name, "done"))


def test_a_pipe_gets_a_line_at_the_start_and_at_the_end(tmp_path):
    store, stream = Store(tmp_path), io.StringIO()
    record = keep(store, SPEC, 100.0, "bcd", [(0.0, 200.0, 0), (2.5, 101.0, 12)])
    with Display([record.plan], store, stream) as display:
        tell(display, record.plan.name)
    first, last = stream.getvalue().splitlines()
    assert first.startswith("[0 of 1] ocr λ=100 BCD  loading")
    assert last == "[1 of 1] ocr λ=100 BCD  time was up  2.5 s  objective 101.0000  12 nonzeros"


def test_a_terminal_gets_a_table(tmp_path):
    store, stream = Store(tmp_path), Terminal()
    record = keep(store, SPEC, 100.0, "bcd", [(0.0, 200.0, 0), (2.5, 101.0, 12)])
    with Display([record.plan], store, stream) as display:
        tell(display, record.plan.name)
    assert "1 of 1 runs" in stream.getvalue()
    assert "time was up" in stream.getvalue()


def test_failures_are_told_with_their_reason(tmp_path):
    store, stream = Store(tmp_path), io.StringIO()
    plan = Plan("ocr", "sgd", 1.0, 1.0)
    kept = keep(store, SPEC, 1.0, "sgd", [(0.0, 1.0, 0)])
    store.save(Record(plan, kept.origin, {}, Outcome.FAILED, "out of memory"), [])
    with Display([plan], store, stream) as display:
        display(News(plan.name, "failed"))
    assert "failed  out of memory" in stream.getvalue()
