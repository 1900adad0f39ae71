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
    """The command that runs code in another Python with this process's path of modules. That Python does not read the site's
    folders, so it starts in half of the time."""
    path = [PACKAGES, *(name for name in sys.path if name != PACKAGES)]
    return [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:] = {path!r}; {code}"]


def end_with_parent(parent: int) -> None:
    """Makes this process end when its parent ends. Call it first. `parent`: the process id of the parent."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)
