"""What an input hands to an output: tables in parts, read when they are asked for, so that a run may be larger than memory."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tailrace.trace.schema import Tables


@dataclass(frozen=True)
class Recording:
    """The row of a process comes in the part of its first events or in an earlier one; the events of a thread come in the order of
    their beginnings."""

    parts: Iterator[Tables]
    count: int  # of parts
    damaged: list[str] = field(default_factory=list)  # what is wrong with inputs that were passed over; it grows with the parts


class MissingLibraryError(RuntimeError):
    """A format needs a library that is not installed; the text says how to get it."""


def library(module: str, remedy: str = "`pip install 'tailrace[trace]'` has all that imports and exports need") -> Any:
    """A module that only some formats need: not everybody has it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibraryError(f"{module} cannot be imported ({error}): {remedy}") from None
