"""Libraries that only some formats need, and that may not be installed."""

from __future__ import annotations

import importlib
from typing import Any


class MissingLibraryError(RuntimeError):
    """A format needs a library that is not installed; the text contains the command that installs it."""


def import_optional(module: str, remedy: str = "`pip install 'tailrace[trace]'` has all that imports and exports need") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibraryError(f"{module} cannot be imported ({error}): {remedy}") from None
