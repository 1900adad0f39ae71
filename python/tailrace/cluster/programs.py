"""Finds the programs and libraries of the bench cluster that are built with Tailrace."""

from __future__ import annotations

import shutil
from pathlib import Path

from tailrace import installed
from tailrace.cluster.values import NotPossible


def switch() -> str:
    """The path of the switch in user space. Raises NotPossible."""
    name = "tailrace-switch"
    return str(_found(installed.find("bin", name) or shutil.which(name), name))


def library(name: str) -> str:
    """The path of a library. Raises NotPossible."""
    return str(_found(installed.find("lib", name), name))


def _found(path: Path | str | None, name: str) -> Path | str:
    if path is None:
        raise NotPossible(installed.missing(name))
    return path
