"""Processes of this Python that work for another one, and end with it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

PACKAGES = str(Path(__file__).parents[1])
PR_SET_PDEATHSIG = 1


def python_command(code: str) -> list[str]:
    """Runs code with the modules that this process finds. Without the site's folders it starts in half of the time; what they have
    added to the path of modules is given to it."""
    path = [PACKAGES, *(name for name in sys.path if name != PACKAGES)]
    return [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:] = {path!r}; {code}"]


def end_with_parent(parent: int) -> None:
    """To be called first. `parent`: the number of the process that has started this one. When that ends, this ends, too."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)
