"""Phases that a program names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tailrace import _core


@contextmanager
def phase(name: str) -> Iterator[None]:
    """What is done within has this name in a recorded run (`tailrace run`). Local; phases may lie within each other."""
    _core.phase_begin(name)
    try:
        yield
    finally:
        _core.phase_end()
