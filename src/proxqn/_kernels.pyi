"""The compiled kernels; what each takes is checked in cpp/*_bindings.cpp."""

from typing import Any

def __getattr__(name: str) -> Any: ...
