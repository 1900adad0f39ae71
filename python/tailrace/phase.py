"""Phases that a program names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def phase(name: str) -> Iterator[None]:
    """What is done within has this name in a recorded run (`tailrace run`). Local; phases may lie within each other."""
    import tailrace._core as _core  # at the first use: `import tailrace` does not load the library

    _core.phase_begin(name)
    try:
        yield
    finally:
        _core.phase_end()
