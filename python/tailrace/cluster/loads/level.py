"""How much load a program makes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tailrace.cluster.values import ClusterError


@dataclass(frozen=True)
class Level:
    """How much: processes, and MiB/s of all of them together; 0: as much as they can."""

    jobs: int = 1
    mib_per_s: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.jobs <= 64:
            raise ClusterError(f"{self.jobs} jobs: must be 1 to 64")
        if not 0 <= self.mib_per_s < math.inf:
            raise ClusterError(f"{self.mib_per_s:g} MiB/s: must be 0 (as much as it can) or more")
