from dataclasses import replace

import numpy as np
import pytest
from benchmarks.analyse import analyse, comparable, moment
from benchmarks.measure import Record
from benchmarks.tables import readme, report


def record(trainer, seconds, objective, *, setup=0.0, stop="converged", versions=None):
    passes = list(range(1, len(seconds) + 1))
    history = {
        "iteration": passes,
        "seconds": seconds,
        "objective": objective,
        "nonzeros": [1] * len(seconds),
        **dict.fromkeys(("forward", "backward", "sweep"), passes),
    }
    return Record(
        problem="p",
        trainer=trainer,
        title="A problem",
        lam=1.0,
        flags=[],
        sizes={"tokens": 3},
        n_parameters=5,
        versions=versions or {},
        machine={},
        stop=stop,
        prepare_seconds=0.1,
        setup_seconds=setup,
        train_seconds=seconds[-1],
        train_cpu_seconds=seconds[-1],
        prepare_peak_bytes=1,
        train_peak_bytes=2,
        objective=min(objective),
        log_difference=0.0,
        bound=None,
        nonzeros=1,
        history=history,
    )


OURS = record("prox-qn", [1.0, 2.0, 3.0], [2000.0, 1050.0, 1000.0])
PEER = record("python-crfsuite", [14.0, 24.0, 44.0], [1900.0, 1090.0, 1009.0], setup=4.0)


def test_moment_is_the_first_row_at_or_below():
    at = moment(PEER, 1090.0)
    assert (at.seconds, at.with_setup, at.iteration) == (20.0, 24.0, 2)
    assert moment(PEER, 1000.0) is None


def test_an_objective_that_rises_again_counts_when_it_was_first_reached():
    run = record("sgd", [1.0, 2.0, 3.0, 4.0], [9.0, 3.0, 7.0, 2.0])
    assert moment(run, 5.0).iteration == 2
    assert moment(run, 2.5).iteration == 4


def test_ratios_leave_the_peers_setup_out_and_show_it_beside():
    ours, peer = analyse([OURS, PEER], ends_at_peer_stop=False).lines
    assert peer.ratios[1e-1] == (20.0 / 2.0, 24.0 / 2.0)
    assert peer.ratios[1e-2] == pytest.approx((40.0 / 3.0, 44.0 / 3.0))
    assert peer.ratios[1e-3] is None
    assert ours.ratios[1e-6] == (1.0, 1.0)
    assert peer.error == pytest.approx(0.009)


def test_peer_stop_is_ours_to_pass():
    stop = analyse([OURS, PEER], ends_at_peer_stop=True).peer_stop
    assert (stop.our_seconds, stop.peer_seconds, stop.peer_with_setup) == (3.0, 40.0, 44.0)
    assert stop.ratio == pytest.approx(40.0 / 3.0)


def test_a_peer_stopped_by_us_has_no_stop_of_its_own():
    limited = replace(PEER, stop="L-BFGS terminated with the maximum number of iterations")
    assert analyse([OURS, limited], ends_at_peer_stop=True).peer_stop is None


def test_runs_of_other_sources_data_or_machine_are_not_compared():
    ours = replace(OURS, versions={"sources": "a"})
    old = record("bcd", [1.0], [1.0], versions={"sources": "b"})
    elsewhere = replace(PEER, machine={"cpu": "other"})
    assert comparable([ours, old, elsewhere, PEER]) == [ours, PEER]


def test_report_says_who_was_stopped_and_what_was_never_reached():
    analysis = analyse([OURS, PEER], ends_at_peer_stop=True)
    text = report([analysis])
    assert "| python-crfsuite | 0.1 | 4.00 | 20.0 | 40.0 | – |" in text
    assert "13 times faster" in text
    assert np.all([name in readme([analysis]) for name in ("A problem", "where CRFsuite stops")])
