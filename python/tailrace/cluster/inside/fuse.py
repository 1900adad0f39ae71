"""FUSE mounts of processes that were killed.

A process that serves a mount may also use it, as MooseFS's client does just after mounting. When it is killed, its thread still
waits for a reply, and the kernel does not close the descriptor that would send the reply. Only aborting the connection ends the
process.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable

from . import kernel

CONNECTIONS = "/sys/fs/fuse/connections"


def devices_in(mounts: str) -> set[str]:
    """The numbers of the FUSE mounts in a file such as /proc/self/mountinfo; none where its process has ended."""
    with contextlib.suppress(OSError), open(mounts, errors="replace") as lines:
        split = (line.split(" - ", 1) for line in lines)
        return {before.split()[2].removeprefix("0:") for before, after in split if after.startswith("fuse")}
    return set()


def abort_connections(processes: Iterable[str]) -> None:
    """Aborts the connections of the mounts that these processes have and this one has not; this one's are the machine's. The caller
    needs a mount namespace of its own, so that the machine does not see the control file system."""
    theirs = {path for process in processes for path in glob.glob(f"/proc/{process}/task/*/mountinfo")}
    devices = {device for path in theirs for device in devices_in(path)} - devices_in("/proc/self/mountinfo")
    if not devices:
        return
    if not os.listdir(CONNECTIONS):
        kernel.mount("fusectl", CONNECTIONS, "fusectl")
    for device in devices:
        with contextlib.suppress(OSError), open(f"{CONNECTIONS}/{device}/abort", "w") as abort:
            abort.write("1")
