"""chaine: its own build of CRFsuite, with a log of one line an iteration.

The log gives the loss but neither the line search's trials nor the number of nonzero weights.
"""

from __future__ import annotations

import logging
import re
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from chaine.crf import Trainer

from .command_line import arguments
from .crfsuite_model import read_weights
from .memory import peak_bytes
from .named import named_sequences
from .problem import Problem
from .run import Iteration, PeerRun

LOGGERS = "chaine.crf", "chaine._core.crf"  # the wrapper's and the engine's
ITERATION = re.compile(r"Iteration (\d+), training loss: (\S+)")


class Recorder(logging.Handler):
    """Takes the times of chaine's log entries."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[Iteration] = []
        self.prepare_peak = 0
        self.setup_seconds = self.started = self.cpu_started = 0.0
        self.stop = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Receive a log entry."""
        message, elapsed = record.getMessage().strip(), time.process_time() - self.cpu_started
        found = ITERATION.match(message)
        if message == "Start training":
            self.prepare_peak = peak_bytes()
            self.started, self.cpu_started = time.perf_counter(), time.process_time()
        elif message.startswith("Start training with"):
            self.setup_seconds = elapsed
        elif found:
            self.history.append(
                Iteration(int(found.group(1)), elapsed, float(found.group(2)), None, None)
            )
        elif self.history and message != "Saving model":
            self.stop = message


def record_log() -> Recorder:
    """Send both of chaine's logs to a recorder instead of the terminal."""
    recorder = Recorder()
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [recorder], False
        logger.setLevel(logging.INFO)
    return recorder


def train(
    problem: Problem, lam: float, *, max_iterations: int | None = None, observed_only: bool = False
) -> PeerRun:
    """Train chaine on the problem and return its weights and its history."""
    limit = {} if max_iterations is None else {"max_iterations": max_iterations}
    options = {
        "c1": lam,
        "c2": 0.0,
        "all_possible_states": not observed_only,
        "all_possible_transitions": not observed_only,
        **limit,
    }
    recorder, trainer = record_log(), Trainer("lbfgs", **options)
    with tempfile.TemporaryDirectory(prefix="proxqn-chaine-") as folder:
        model_path = Path(folder, "model.chaine")
        began = time.perf_counter()
        items = (items for items, _ in named_sequences(problem))
        labels = (labels for _, labels in named_sequences(problem))
        trainer.train(items, labels, model_filepath=model_path)
        ended, cpu_ended, peak = time.perf_counter(), time.process_time(), peak_bytes()
        coef, transitions = read_weights(model_path, problem.n_labels, problem.X.shape[1])
    return PeerRun(
        peer=f"chaine {version('chaine')}",
        lam=lam,
        options=options,
        prepare_seconds=recorder.started - began,
        setup_seconds=recorder.setup_seconds,
        train_seconds=ended - recorder.started,
        prepare_peak_bytes=recorder.prepare_peak,
        train_peak_bytes=max(peak, recorder.prepare_peak),
        stop=recorder.stop,
        history=recorder.history,
        coef=coef,
        transitions=transitions,
        train_cpu_seconds=cpu_ended - recorder.cpu_started,
    )


def main() -> None:
    """Read a problem file, train, write the run."""
    args = arguments("chaine")
    run = train(
        Problem.load(args.problem),
        args.lam,
        max_iterations=args.max_iterations,
        observed_only=args.observed_only,
    )
    run.save(args.run)


if __name__ == "__main__":
    main()
