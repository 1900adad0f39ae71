"""Memory of this process."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator


def give_back_memory() -> None:
    """Gives free memory of the heap back to the system, if the C library can. After many arrays of different sizes, that was a
    quarter of the process's memory. The time grows with the heap: 50 ms for a gigabyte of small objects."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@contextlib.contextmanager
def memory_given_back(*, when: bool) -> Iterator[None]:
    """Gives free memory back to the system before and after the block, if `when`: for a block that needs much memory."""
    if when:
        give_back_memory()
    yield
    if when:
        give_back_memory()
