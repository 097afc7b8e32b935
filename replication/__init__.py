"""The paper's figures and tables, made again: ``python -m replication`` in a checkout.

This folder uses proxqn as its users do and is not part of the package that is installed.

``problems``
    Which data, and how they are loaded.
``runs``
    Which methods, which runs, each in a process of its own, and how they are kept.
``report``
    From kept runs to tables, figures, verdicts and one page.
``theory``
    The convergence theory in numbers.
"""
