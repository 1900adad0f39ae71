"""Measures the memory of a member's processes while they run."""

from __future__ import annotations

import os
from collections.abc import Sequence

POLL_S = 0.05  # seconds between two measurements
PAGE = os.sysconf("SC_PAGE_SIZE")
BYTES_PER_KIB = 1 << 10
SHARE = b"Pss:"


class MemoryWatch:
    """The memory limit of one member in bytes (0: no limit), and the largest use that was measured."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.peak_bytes = 0

    def interval_s(self, left_s: float) -> float:
        """Seconds to wait before the next measurement."""
        return min(left_s, POLL_S) if self.most_bytes else left_s

    def is_over(self, pids: Sequence[int]) -> bool:
        used = used_bytes(pids, self.most_bytes)
        self.peak_bytes = max(self.peak_bytes, used)
        return used > self.most_bytes


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
