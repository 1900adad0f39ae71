"""Programs and libraries of the project that are not Python, wherever it was installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parents[1]


def find(folder: str, name: str) -> Path | None:
    """The path of FOLDER/NAME in the installed package, the build folder of a checkout, or where CMake installed it; None:
    nowhere."""
    homes = (PACKAGE, CHECKOUT / "build", Path("/usr/local"), Path("/usr"))
    return next((home / folder / name for home in homes if (home / folder / name).exists()), None)


def missing(name: str) -> str:
    """The error message for a program or library that `find` does not find."""
    return f"{name} was not found: Tailrace's package for Linux has it; in a checkout, `make build` makes it"
