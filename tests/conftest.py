"""`make test` draws the same examples every time; `make fuzz` draws new ones each time."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# A shell starts background jobs with Ctrl-C ignored, which tests of interrupts would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
