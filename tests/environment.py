"""The paths, time limits and environment of the tests."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

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
