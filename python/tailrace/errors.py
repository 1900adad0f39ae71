"""The exceptions: `Error`, and for each status of the C contract a subclass that is also the builtin it resembles.

BLOCK_OVERLAP in C is `BlockOverlap` here, a ValueError. The classes are made by the extension from status.def; `ERRORS` has them
by status. An error that all ranks must learn of is raised on all of them with the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tailrace._core as _core

Error: type[Exception] = _core.Error
ERRORS: dict[str, type[Exception]] = _core.ERRORS

globals().update({made.__name__: made for made in ERRORS.values()})

__all__ = ["ERRORS", "Error", *sorted(made.__name__ for made in ERRORS.values())]

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Exception]:
        """Type checkers cannot see classes that are made at import."""
