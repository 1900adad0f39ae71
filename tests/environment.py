"""The paths, time limits and environment of the tests."""

from __future__ import annotations

import datetime
import os
import subprocess
from pathlib import Path
from typing import Any

from tailrace.launch.local import launcher_environment

ROOT = Path(__file__).resolve().parent.parent

# A program that has not ended by then hangs, even on a machine whose host leaves it little processor time. Most take a second.
HANGS_S = 240.0


def open_mpi_environment() -> dict[str, str]:
    """Variables for Open MPI as root, with more ranks than cores, and without warnings in a container."""
    copying = "OMPI_MCA_btl_vader_single_copy_mechanism"
    needed = launcher_environment({copying: os.environ[copying]} if copying in os.environ else {}, as_root=True)
    return {**needed, "OMPI_MCA_hwloc_base_binding_policy": "none"}


def default_seed() -> int:
    """Another seed for each CI run, elsewhere for each day: over time many cases are seen, and today's failure stays."""
    for name in ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_NUMBER"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return int(datetime.datetime.now(datetime.UTC).strftime("%Y%m%d"))


def children_inherit_os_environ() -> None:
    """Programs started without `env` get `os.environ`, not what MPI set in this process.

    A test that uses mpi4py makes this process a rank: Open MPI sets its variables in the C environment, behind `os.environ`.
    With them a child counts as a rank, too, and `mpirun` refuses to start."""
    start = subprocess.Popen.__init__

    def started(process: subprocess.Popen[Any], *args: Any, **named: Any) -> None:
        if named.get("env") is None:
            named["env"] = dict(os.environ)
        start(process, *args, **named)

    subprocess.Popen.__init__ = started  # type: ignore[method-assign, assignment]


def is_running(process: int) -> bool:
    """False for a zombie, too: in some containers a process whose parent has ended stays one."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
