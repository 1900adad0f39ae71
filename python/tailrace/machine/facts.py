"""What a study ran on: processor, memory, file systems, versions of programs."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tailrace
from tailrace.launch.local import mpi_version

JOURNALS = Path("/proc/fs/jbd2")  # a folder for each file system with a journal: DEVICE-INODE


def describe_machine(targets: Sequence[Path]) -> dict[str, Any]:
    """As study records have it. `targets`: directories whose file systems are described."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "") if Path("/etc/os-release").exists() else "",
        "file_systems": {str(target): file_system(target) for target in targets},
        "versions": {
            "Python": platform.python_version(),
            "MPI": mpi_version(),
            "tailrace": tailrace.__version__,
        },
    }


def file_system(path: Path) -> dict[str, Any]:
    """Type, device and size of the file system that holds `path`, which need not exist yet."""
    here = next(folder for folder in (path, *path.parents) if folder.exists()).resolve()
    stat = os.statvfs(here)
    described: dict[str, Any] = {"type": "unknown", "device": "", "total_bytes": stat.f_frsize * stat.f_blocks}
    longest = -1
    for line in Path("/proc/self/mounts").read_text().splitlines():
        device, mount, kind, options, *_ = line.split(" ")
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), mount)
        if here.is_relative_to(point) and len(point) >= longest:
            longest = len(point)
            described |= {"type": kind, "device": device, "options": options}
    return described


def remembers_removed(path: Path) -> bool:
    """Whether `path` is on ext4 without a journal: where files were removed, it makes new ones slowly for some minutes
    (docs/benchmarks.md)."""
    device = os.stat(path).st_dev
    name = os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"))
    return file_system(path)["type"] == "ext4" and not list(JOURNALS.glob(f"{name}-*"))


def processor() -> str:
    """The model's name; where the kernel gives none, the architecture."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
