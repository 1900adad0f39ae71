"""The programs and libraries of the bench cluster that are built with Tailrace."""

from __future__ import annotations

import shutil
from pathlib import Path

from tailrace.cluster.values import NotPossible

PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parents[1]


def switch() -> str:
    return _found("tailrace-switch", "bin") or shutil.which("tailrace-switch") or _missing("tailrace-switch")


def mpich_end() -> str:
    return _found("libtailrace_mpich_end.so", "lib") or _missing("libtailrace_mpich_end.so")


def _found(name: str, folder: str) -> str:
    """Within an installed package, in the build folder of a checkout, or where CMake has installed it."""
    for home in (PACKAGE, CHECKOUT / "build", *(Path(prefix) for prefix in ("/usr/local", "/usr"))):
        if (home / folder / name).exists():
            return str(home / folder / name)
    return ""


def _missing(name: str) -> str:
    raise NotPossible(f"{name} is not here: it comes with Tailrace on Linux; in a checkout, `make build` makes it")
