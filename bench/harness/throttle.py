"""A slow device: a control group in which a program may write so many bytes a second to the device below a folder.

The kernel holds up what the program itself sends to the device: direct writes and what it waits for in fsync. What only went to the
page cache and is written back later by the kernel is not held up under version 1 of control groups. Needs root, on Linux.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from bench.harness import BenchError

V1, V2 = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")


def why_not(directory: Path) -> str | None:
    """The reason why writes to that folder cannot be held up here; None where they can."""
    if os.geteuid() != 0:
        return "control groups are root's"
    if not Path(f"/sys/dev/block/{_device(directory)}").exists():
        return f"{directory} is not on a block device of its own"
    if (V1 / "blkio.throttle.write_bps_device").exists() or "io" in _controllers():
        return None
    return "no blkio controller of version 1 in /sys/fs/cgroup/blkio, and no io controller of version 2 in /sys/fs/cgroup"


@contextlib.contextmanager
def throttled(directory: Path, bytes_per_s: int) -> Iterator[Path]:
    """A control group for programs that write to that folder; gone afterwards. BenchError where there can be none."""
    if reason := why_not(directory):
        raise BenchError(f"no throttled device: {reason}")
    name = f"tailrace-bench-{os.getpid()}"
    if (V1 / "blkio.throttle.write_bps_device").exists():
        group, limit = V1 / name, f"{_device(directory)} {bytes_per_s}"
        group.mkdir()
        (group / "blkio.throttle.write_bps_device").write_text(limit)
    else:
        group, limit = V2 / name, f"{_device(directory)} wbps={bytes_per_s}"
        (V2 / "cgroup.subtree_control").write_text("+io")
        group.mkdir()
        (group / "io.max").write_text(limit)
    try:
        yield group
    finally:
        _remove(group)


def _remove(group: Path, patience_s: float = 5) -> None:
    """Processes that have just ended keep a group busy for a moment."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _controllers() -> list[str]:
    path = V2 / "cgroup.controllers"
    return path.read_text().split() if path.exists() else []


def _device(directory: Path) -> str:
    """MAJOR:MINOR of the whole disk: of a partition there is no limit."""
    number = os.stat(directory).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    block = Path(f"/sys/dev/block/{name}")
    return (block.resolve().parent / "dev").read_text().strip() if (block / "partition").exists() else name
