"""Old import paths of public names lead to the new ones, with a deprecation line."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

OLD = {
    "proxqn.data.hierarchy": ("Hierarchy", "proxqn.features.hierarchy"),
    "proxqn.data.encode": ("SequenceEncoder", "proxqn.features.encoding"),
    "proxqn.data.readers": ("read_columns", "proxqn.io.readers"),
    "proxqn.data.templates": ("Templates", "proxqn.features.templates"),
    "proxqn.oracles.chain": ("ChainOracle", "proxqn.losses.chain.oracle"),
    "proxqn.oracles.tree": ("TreeOracle", "proxqn.losses.tree.oracle"),
    "proxqn.oracles.function": ("FunctionOracle", "proxqn.losses.function"),
    "proxqn.reports.tables": ("format_columns", "proxqn.ui.tables"),
    "proxqn.reports.plots": ("plot_trace", "proxqn.ui.plots"),
    "proxqn.persistence.model_file": ("load", "proxqn.io.model_file"),
    "proxqn.persistence": ("save", "proxqn.io.model_file"),
    "proxqn.solvers.owl_qn": ("OWLQN", "proxqn.solvers.rivals.owl_qn"),
    "proxqn.solvers.prox_gd": ("ProxGD", "proxqn.solvers.rivals.prox_gd"),
    "proxqn.solvers.sgd": ("SGD", "proxqn.solvers.rivals.sgd"),
    "proxqn.solvers.bcd": ("BCD", "proxqn.solvers.rivals.bcd"),
    "proxqn.solvers.trace": ("Trace", "proxqn.run.trace"),
    "proxqn.solvers.progress": ("Progress", "proxqn.ui.progress"),
}


@pytest.mark.parametrize("old", OLD)
def test_old_paths_lead_to_the_new_ones(old):
    name, new = OLD[old]
    program = (
        f"import warnings\nwith warnings.catch_warnings(record=True) as said:\n"
        f"    warnings.simplefilter('always')\n    from {old} import {name} as old\n"
        f"from {new} import {name} as new\nassert old is new\n"
        f"lines = [str(w.message) for w in said if w.category is DeprecationWarning]\n"
        f"assert any('has moved' in line and '{new.rsplit('.', 1)[0]}' in line for line in lines)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr


def test_the_experiments_say_where_they_are():
    with pytest.raises(ModuleNotFoundError, match="python -m replication"):
        import_module("proxqn.experiments.theory")
