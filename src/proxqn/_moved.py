"""Old import paths of public names: they lead to the new ones, with a deprecation line."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module


def alias(package: str, homes: dict[str, str]) -> None:
    """Let modules of a package that is gone be found under their old names.

    Parameters
    ----------
    package : str
        The old package, whose ``__init__`` calls this.
    homes : dict
        From names of modules in it to those that stand in their place.
    """
    for old, new in homes.items():
        module = import_module(new)
        sys.modules[f"{package}.{old}"] = module
        setattr(sys.modules[package], old, module)
    places = ", ".join(sorted({home.rpartition(".")[0] for home in homes.values()}))
    warnings.warn(
        f"{package} has moved: import from {places} instead ({package}.{next(iter(homes))} is "
        f"{homes[next(iter(homes))]}). The old path will go with version 0.3.",
        DeprecationWarning,
        stacklevel=2,
    )


def forward(module: str, home: str) -> None:
    """Put another module in the place of one that is gone, whose file calls this."""
    sys.modules[module] = import_module(home)
    warnings.warn(
        f"{module} has moved: import from {home} instead. The old path will go with version 0.3.",
        DeprecationWarning,
        stacklevel=3,
    )
