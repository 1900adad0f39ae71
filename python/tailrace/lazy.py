"""Names of a package that are imported at their first use: a command that copies a file needs neither numpy nor a cluster."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def module(package: str, name: str) -> Any:
    """A module of the package, imported now."""
    return importlib.import_module(f"{package}.{name}")


def attributes(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The package's `__getattr__` and `__dir__`. `modules` maps each name to the module of the package that defines it."""

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(module(package, modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names
