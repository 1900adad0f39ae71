"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Gives a name beside `path` to write to; at the end the file gets the name `path`. After an error nothing is left of it."""
    beside = path.with_name(f"{path.name}.tmp")
    try:
        yield beside
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
