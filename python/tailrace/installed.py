"""Programs and libraries of the project that are not Python, wherever it was installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parents[1]


def find(folder: str, name: str) -> Path | None:
    """FOLDER/NAME within an installed package, in the build folder of a checkout, or where CMake has installed it."""
    homes = (PACKAGE, CHECKOUT / "build", Path("/usr/local"), Path("/usr"))
    return next((home / folder / name for home in homes if (home / folder / name).exists()), None)


def missing(name: str) -> str:
    """What to say where it is not."""
    return f"{name} is not here: it comes with Tailrace on Linux; in a checkout, `make build` makes it"
