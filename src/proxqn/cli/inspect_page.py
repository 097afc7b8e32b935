"""A model as one HTML page that needs no other file and runs no script."""

from __future__ import annotations

from html import escape

import numpy as np

from proxqn.cli.model_summary import TOO_MANY, LabelWeights, ModelSummary, Weight
from proxqn.problem import Floats

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; color: #222; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .5rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.heat td { width: 1.6rem; height: 1.6rem; padding: 0; border: 1px solid #fff; }
.heat th { font-weight: normal; font-size: .8rem; } .heat .top th { writing-mode: vertical-rl; }
.labels { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1rem; }
.labels section { border: 1px solid #ddd; border-radius: 4px; padding: .5rem .8rem; }
.labels h3 { margin: 0 0 .3rem; font-size: .95rem; } code { overflow-wrap: anywhere; }
.up { color: #0072B2; } .down { color: #D55E00; } small { color: #666; font-weight: normal; }
"""
# Nothing from elsewhere may be loaded, whatever a name contains; on top of escaping.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(found: ModelSummary) -> str:
    """Return the page; all names in it are escaped."""
    title = escape(f"{found.file}: a {found.kind} model")
    heat = ""
    if found.transitions is not None:
        heat = "<h2>Transitions</h2>"
        heat += _heat_map(found.labels, found.transitions) if found.can_be_drawn else TOO_MANY
    sections = [*([found.edges] if found.edges is not None else []), *found.weights]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"{_facts(found)}{heat}<h2>Largest weights</h2>"
        f'<div class="labels">{"".join(map(_section, sections))}</div></body></html>\n'
    )


def _facts(found: ModelSummary) -> str:
    rows = [(name, f"{size:,}") for name, size in found.sizes.items()]
    for name, value in found.certificate.items():
        rows.append((name, f"{value:.6g}" if isinstance(value, float) else str(value)))
    cells = "".join(f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in rows)
    return f"<table>{cells}</table>"


def _heat_map(labels: list[str], transitions: Floats) -> str:
    """Draw rows followed by columns: blue above zero, vermilion below."""
    largest = float(np.abs(transitions).max(initial=0.0)) or 1.0
    head = "".join(f"<th>{escape(label)}</th>" for label in labels)
    rows = [f'<tr class="top"><th></th>{head}</tr>']
    for i, label in enumerate(labels):
        cells = "".join(
            _cell(float(w), largest, f"{label} → {labels[j]}") for j, w in enumerate(transitions[i])
        )
        rows.append(f"<tr><th>{escape(label)}</th>{cells}</tr>")
    return f'<table class="heat">{"".join(rows)}</table>'


def _cell(weight: float, largest: float, where: str) -> str:
    colour = "0,114,178" if weight > 0 else "213,94,0"
    shade = f"rgba({colour},{abs(weight) / largest:.3f})"
    return f'<td style="background:{shade}" title="{escape(where)}: {weight:+.4f}"></td>'


def _section(label: LabelWeights) -> str:
    rows = "".join(
        _row(weight, side)
        for side, weights in (("up", label.positive), ("down", label.negative))
        for weight in weights
    )
    return (
        f"<section><h3>{escape(label.label)} <small>{label.n_weights:,} weights</small></h3>"
        f"<table>{rows}</table></section>"
    )


def _row(weight: Weight, side: str) -> str:
    name, value = weight
    return f'<tr><td class="n {side}">{value:+.4f}</td><td><code>{escape(name)}</code></td></tr>'
