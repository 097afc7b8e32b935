"""What is known of the distance to the optimum, in words that claim no more than is known."""

from __future__ import annotations

import math
from typing import Any

_WORTH_SAYING = 0.9  # of the gap to all weights: what is proved among some


def distance(objective: float, known: Any) -> str:
    """Return the sentence.

    Parameters
    ----------
    known : object
        With ``estimate``, ``gap``, ``gap_box`` and ``box``, as results have them.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> distance(200.0, SimpleNamespace(estimate=0.02, gap=116.0, gap_box=26.0, box=35.2))
    'estimated 0.01 % above the optimum; proved within 13 % among weights up to 35, 58 % of all'
    >>> distance(200.0, SimpleNamespace(estimate=0.2, gap=0.2, gap_box=0.2, box=math.inf))
    'proved within 0.1 % of the optimum'
    """
    if not objective or math.isnan(objective):
        return ""
    said = []
    if known.estimate < known.gap:
        said.append(f"estimated {_share(known.estimate, objective)} above the optimum")
    if math.isfinite(known.gap_box) and known.gap_box < _WORTH_SAYING * known.gap:
        among = f"{_share(known.gap_box, objective)} among weights up to {known.box:.2g}"
        of_all = f", {_share(known.gap, objective)} of all" if math.isfinite(known.gap) else ""
        said.append(f"proved within {among}{of_all}")
    elif math.isfinite(known.gap):
        said.append(f"proved within {_share(known.gap, objective)} of the optimum")
    return "; ".join(said)


def _share(part: float, whole: float) -> str:
    return f"{100.0 * part / abs(whole):.2g} %"
