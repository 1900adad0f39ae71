"""Writes files that are either complete or do not exist."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path` to write to. At the end, renames the file to `path`; after an error, removes it."""
    beside = path.with_name(f"{path.name}.tmp")
    try:
        yield beside
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
