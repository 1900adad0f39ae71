"""How much load a program makes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tailrace.cluster.values import ClusterError


@dataclass(frozen=True)
class Level:
    """The number of processes, and MiB/s of all of them together; 0: no limit."""

    jobs: int = 1
    mib_per_s: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.jobs <= 64:
            raise ClusterError(f"{self.jobs} jobs: give 1 to 64")
        if not 0 <= self.mib_per_s < math.inf:
            raise ClusterError(f"{self.mib_per_s:g} MiB/s: give 0 (no limit) or more")
