"""Memory of this process."""

from __future__ import annotations

import ctypes


def give_back_memory() -> None:
    """Gives what is free in the heap back to the system, where the C library can. After many arrays of different sizes that is more
    than a third of what the process has."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
