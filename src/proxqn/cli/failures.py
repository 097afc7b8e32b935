"""How commands end when something is wrong: one line on standard error and an exit code.

Codes follow BSD's ``sysexits.h``. An error nobody foresaw keeps its traceback: it is a bug.
"""

from __future__ import annotations

import os
import sys
import threading
from enum import IntEnum
from typing import NoReturn

import click

from proxqn.cli.standard_streams import stand_in_for_closed_ones


class Exit(IntEnum):
    """Exit codes."""

    USAGE = 2  # click's own
    DATA = 65  # a fault in data, templates or a model file
    NO_INPUT = 66
    NO_MEMORY = 71  # or another limit of the system's
    CANNOT_WRITE = 73
    IO = 74  # a full disk, say
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class OutputError(Exception):
    """The output cannot be written."""


def run(command: click.Command) -> NoReturn:
    """Run a command and leave with its exit code."""
    stand_in_for_closed_ones()
    out = sys.stdout
    try:
        code = command.main(prog_name="proxqn", standalone_mode=False)
        _flush()
    except BrokenPipeError:
        code = _reader_gone()
    except SystemExit as left:
        # A command's own; or click's, which takes a broken pipe for a fault, and wraps the streams.
        code = left.code if sys.stdout is out else _reader_gone()
    except (KeyboardInterrupt, click.Abort):
        code = _fail("interrupted; nothing was written.", Exit.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except Exception as error:
        code = report(error)
    _leave(code if isinstance(code, int) else 0)


def _reader_gone() -> int:
    """End well: the reader has seen enough, as in `proxqn predict … | head`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _leave(code: int) -> NoReturn:
    """Leave; at once where a thread waits for standard input, whose lock Python would want."""
    if any(thread.daemon for thread in threading.enumerate()):
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def report(error: Exception) -> int:
    """Say what a foreseen error means and return its exit code; raise any other."""
    # ValueError is what readers, templates, estimators and model files raise for bad content.
    match error:
        case FileNotFoundError():
            return _fail(f"{error.filename}: no such file.", Exit.NO_INPUT)
        case IsADirectoryError():
            return _fail(f"{error.filename}: is a folder, expected a file.", Exit.NO_INPUT)
        case PermissionError():
            return _fail(f"{error.filename}: no permission.", Exit.NO_INPUT)
        case OutputError():
            return _fail(str(error), Exit.CANNOT_WRITE)
        case OSError():
            return _fail(f"{error.filename or 'output'}: {error.strerror}.", Exit.IO)
        case ValueError():
            return _fail(str(error), Exit.DATA)
        case MemoryError():
            what = f" ({error})" if str(error) else ""
            return _fail(f"not enough memory{what}; nothing was written.", Exit.NO_MEMORY)
    raise error


def _fail(message: str, code: Exit) -> int:
    click.echo(f"proxqn: {message}", err=True)
    return int(code)


def _flush() -> None:
    sys.stdout.flush()
