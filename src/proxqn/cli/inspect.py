"""``proxqn inspect``: what a model has learned."""

from __future__ import annotations

import json
from typing import Any

import click

from proxqn.cli.model_summary import summary
from proxqn.cli.outputs import STANDARD, check_outputs, write_lines
from proxqn.cli.watching import plain
from proxqn.io import model_file


@click.command(
    epilog="\b\nExamples:\n"
    "  proxqn inspect model.proxqn --top 5\n"
    "  proxqn inspect model.proxqn --html model.html\n"
)
@click.argument("model")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True,
              help="So many positive and negative weights a label.")  # fmt: skip
@click.option("--label", "labels", multiple=True, help="Only this label (may be repeated).")
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object.")
@click.option("--html", metavar="FILE", help="Write a page that needs no other file.")
def inspect(model: str, top: int, labels: tuple[str, ...], as_json: bool, html: str | None) -> None:
    """Show a MODEL: its size and certificate, the largest weights, the transitions."""
    check_outputs({"--html": html, "--json": STANDARD if as_json else None}, {"MODEL": model})
    found = summary(model_file.load(model), model, top=top, labels=labels)
    if html is not None:
        from proxqn.cli.inspect_page import page

        write_lines([page(found)], html)
        if html != STANDARD:
            click.echo(f"{html}: written", err=True)
    if as_json:
        click.echo(json.dumps(_finite(found.to_json()), ensure_ascii=False))
    elif html is None:
        from proxqn.cli.inspect_text import text

        click.echo(text(found))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else plain(value)
