"""Marks members' processes by an environment variable, so that they can be ended when the process that started them was killed."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

VARIABLE = "TAILRACE_MEMBER"  # marks all processes of a member, also those that have left its session


def mark_of(run: str, owner: int, member: int) -> str:
    """The mark of a member's processes. `owner`: the id of the process whose scratch the member uses."""
    return f"{run}/{owner}/{member}"


def end_processes_of(mark: str) -> int:
    """Kills all processes whose environment has this mark, or one that begins with it and `/`. Returns how many there were."""
    wanted = f"{VARIABLE}={mark}".encode()
    ended = 0
    for _ in range(20):  # a process may start another one while this looks
        found = [pid for pid in _pids() if _is_marked(pid, wanted)]
        if not found:
            break
        ended = max(ended, len(found))
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    return ended


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _is_marked(pid: int, wanted: bytes) -> bool:
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z" and any(word == wanted or word.startswith(wanted + b"/") for word in content.split(b"\0"))
