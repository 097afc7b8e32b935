"""Peak resident memory of this process."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_bytes() -> int:
    """Return the largest resident memory so far.

    ``ru_maxrss`` is no use in a child on Linux: it starts from the size of the process that
    started it, so that a small child of a large benchmark would look large. ``VmHWM`` counts
    this program only.

    Examples
    --------
    >>> peak_bytes() > 1_000_000
    True
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return int(fields["VmHWM"].split()[0]) * 1024
