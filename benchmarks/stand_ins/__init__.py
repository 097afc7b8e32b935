"""Programs that people have run, unchanged, with our modules in the place of theirs.

``python -m benchmarks.stand_ins`` (``make stand-ins``). The programs, their data and tests are
looked for in the folder PROXQN_PROGRAMS, ``shared/peers`` beside the repository.
"""
