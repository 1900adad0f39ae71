"""What a study ran on: read from the kernel and the programs, not from the user."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def describe_machine(targets: Sequence[Path]) -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "") if Path("/etc/os-release").exists() else "",
        "file_systems": {str(target): file_system(target) for target in targets},
        "versions": {
            "Python": platform.python_version(),
            "MPI": _mpi_version(),
            "tailrace": _tailrace_version(),
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


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _mpi_version() -> str:
    """Of Open MPI the first line tells it, of MPICH's launcher a line further down."""
    try:
        lines = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=20, check=False).stdout.splitlines()
        told = next((line.split(":", 1)[1].strip() for line in lines if line.strip().startswith("Version:")), "")
        return f"{lines[0].split()[0]} {told}" if told else lines[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return "not found"


def _tailrace_version() -> str:
    import tailrace

    return tailrace.__version__
