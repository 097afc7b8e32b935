"""A trainer that prints one line an iteration."""

from __future__ import annotations

from typing import Any

from proxqn.compat.pycrfsuite.trainer import Trainer

_SHOWN = (
    ("time", "time={:<5.2f}"),
    ("loss", "loss={:<8.2f}"),
    ("active_features", "active={:<5}"),
    ("avg_precision", "precision={:0.3f}"),
    ("avg_recall", "recall={:0.3f}"),
    ("avg_f1", "F1={:0.3f}"),
    ("item_accuracy_float", "Acc(item/seq)={:0.3f}"),
    ("instance_accuracy_float", "{:0.3f}"),
    ("gap", "gap={:<8.2g}"),
)


class LinePerIterationTrainer(Trainer):
    """Prints each iteration on a line, and at the end a table of the labels of the holdout."""

    def on_iteration(self, log: str, info: dict[str, Any] | None) -> None:
        """Print what is known of the iteration."""
        known = info or {}
        parts = [f"Iter {known.get('num', 0):<3}"]
        parts += [form.format(known[key]) for key, form in _SHOWN if key in known]
        print("  ".join(parts).strip())

    def on_optimization_end(self, log: str) -> None:
        """Print how each label of the holdout is found."""
        last = None if self.logparser is None else self.logparser.last_iteration
        if last is not None and last["scores"]:
            print(_table(last["scores"]))
        super().on_optimization_end(log)


def _table(scores: dict[str, Any]) -> str:
    rows = [["Label", "Precision", "Recall", "F1", "Support"]]
    for label, score in sorted(scores.items()):
        numbers = (score.precision, score.recall, score.f1)
        rows.append([label, *(f"{x or 0.0:.3f}" for x in numbers), str(score.ref)])
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    rule = "-" * len(lines[0])
    return "\n".join(["=" * len(lines[0]), lines[0], rule, *lines[1:], rule])
