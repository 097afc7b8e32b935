"""``python -m replication``, from the checkout's folder."""

from __future__ import annotations

import sys

import click

from replication.commands import INTERRUPTED, replication


def main() -> int:
    """Run a command; what is wrong with data or folders is said in one line."""
    try:
        code = replication.main(prog_name="python -m replication", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (OSError, ValueError) as error:  # what readers and run_all raise for bad content
        click.echo(f"replication: {error}", err=True)
        return 1
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
