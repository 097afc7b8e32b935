"""A model as text for a terminal."""

from __future__ import annotations

import math
from itertools import zip_longest

import numpy as np

from proxqn.cli.model_summary import TOO_MANY, LabelWeights, ModelSummary, Weight
from proxqn.problem import Floats

_SHADES = " ░▒▓█"  # from nothing to the largest weight, in absolute value
_NAME = 34  # characters of a feature's name


def text(found: ModelSummary) -> str:
    """Return all there is to see."""
    parts = [f"{found.file}: a {found.kind} model", _sizes(found), _certificate(found)]
    if found.transitions is not None:
        drawn = heat_map(found.labels, found.transitions) if found.can_be_drawn else TOO_MANY
        parts.append(f"transitions\n{drawn}")
    if found.edges is not None:
        parts.append(_weights(found.edges))
    parts += [_weights(label) for label in found.weights]
    return "\n\n".join(parts)


def _sizes(found: ModelSummary) -> str:
    return "\n".join(f"{name:16s}  {size:>14,}" for name, size in found.sizes.items())


def _certificate(found: ModelSummary) -> str:
    c = found.certificate
    proved = f"at most {c['gap']:.3g} ({c['relative gap']:.1e} of it) above the optimum"
    if not math.isfinite(c["gap"]):
        proved = "no lower bound of the optimum is known"
    return (
        f"λ {_numbers(c['lam'])}, l2 {c['l2']:g}, {c['iterations']} iterations; {c['status']}\n"
        f"objective {c['objective']:,.6f}, {proved}"
    )


def _numbers(lam: float | list[float]) -> str:
    """Return one λ, or those of all depths."""
    return ", ".join(f"{number:g}" for number in np.atleast_1d(lam))


def heat_map(labels: list[str], transitions: Floats) -> str:
    """Draw label (row) followed by label (column): darker is larger, a minus marks below zero.

    Examples
    --------
    >>> print(heat_map(["A", "B"], np.array([[2.0, -1.0], [0.0, 0.5]])))
          0  1
    0  A  ██ -▒
    1  B     ░░
    """
    largest = float(np.abs(transitions).max(initial=0.0)) or 1.0
    width = min(_NAME, max(len(label) for label in labels))
    head = f"{'':{width + 5}}" + " ".join(f"{j:<2d}" for j in range(len(labels)))
    rows = [
        f"{i:<2d} {label[:_NAME]:{width}}  "
        + " ".join(_cell(float(w), largest) for w in transitions[i])
        for i, label in enumerate(labels)
    ]
    return "\n".join(line.rstrip() for line in [head, *rows])


def _cell(weight: float, largest: float) -> str:
    if not weight:
        return "  "
    shade = _SHADES[max(1, round(abs(weight) / largest * (len(_SHADES) - 1)))]
    return ("-" if weight < 0 else shade) + shade


def _weights(label: LabelWeights) -> str:
    lines = [f"{label.label}: {label.n_weights:,} weights"]
    for most, least in zip_longest(label.positive, label.negative):
        lines.append(f"  {_pair(most)}    {_pair(least)}".rstrip())
    return "\n".join(lines)


def _pair(weight: Weight | None) -> str:
    if weight is None:
        return " " * (_NAME + 10)
    name = weight[0] if len(weight[0]) <= _NAME else weight[0][: _NAME - 1] + "…"
    return f"{weight[1]:+9.4f} {name:{_NAME}}"
