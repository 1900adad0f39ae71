"""The memory limit of a member's processes: kept by the kernel where a control group can be made, else watched while they run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

POLL_S = 0.05  # seconds between two measurements
PAGE = os.sysconf("SC_PAGE_SIZE")
BYTES_PER_KIB = 1 << 10
SHARE = b"Pss:"
Pids = Callable[[], Sequence[int]]


class MemoryLimit:
    """Limits nothing and measures nothing. Those that do inherit it; one serves a worker's members, one after the other."""

    kept_by = ""

    def __init__(self) -> None:
        self.peak_bytes = 0  # the largest use of the member that was seen

    def joined(self, _most_bytes: int) -> contextlib.AbstractContextManager[None]:
        """Begins with a member. Its command is started in this block. Raises OSError."""
        return contextlib.nullcontext()

    def interval_s(self, left_s: float) -> float:
        """Seconds to wait before the next measurement, at most `left_s`."""
        return left_s

    def is_over(self, _pids: Pids) -> bool:
        """Measures the member's processes. Whether they have reached the limit."""
        return False

    def has_killed(self) -> bool:
        """Whether the kernel has ended one of the processes because of the limit."""
        return False


class MemoryWatch(MemoryLimit):
    """A limit for resident memory, measured again and again."""

    kept_by = "watched"

    def __init__(self) -> None:
        super().__init__()
        self._most_bytes = 0

    def joined(self, most_bytes: int) -> contextlib.AbstractContextManager[None]:
        self._most_bytes = most_bytes
        self.peak_bytes = 0
        return contextlib.nullcontext()

    def interval_s(self, left_s: float) -> float:
        return min(left_s, POLL_S)

    def is_over(self, pids: Pids) -> bool:
        used = used_bytes(pids(), self._most_bytes)
        self.peak_bytes = max(self.peak_bytes, used)
        return used > self._most_bytes


def used_bytes(pids: Sequence[int], limit_bytes: int) -> int:
    """Resident memory of processes in bytes. A shared page counts for each process while the sum is within the limit. Above the
    limit, the page is divided among them, which takes the kernel longer; otherwise forked workers would each count their parent's
    arrays."""
    resident = sum(map(_resident_bytes, pids))
    return resident if resident <= limit_bytes else sum(map(_divided_bytes, pids))


def _resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def _divided_bytes(pid: int) -> int:
    """Resident bytes, each page divided by the number of processes that share it. Undivided if the kernel does not tell."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            line = next(line for line in file if line.startswith(SHARE))
            return int(line.split()[1]) * BYTES_PER_KIB
    except (OSError, StopIteration):
        return _resident_bytes(pid)
