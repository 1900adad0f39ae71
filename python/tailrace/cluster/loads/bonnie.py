"""bonnie++: writes, reads, makes and removes files without a limit of its rate."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster.loads.level import Level
from tailrace.cluster.values import ClusterError


@dataclass(frozen=True)
class Bonnie:
    name: str = "bonnie"
    program: str = "bonnie++"
    package: str = "bonnie++"

    def script(self, folder: str, level: Level) -> str:
        if level.mib_per_s:
            raise ClusterError(f"bonnie++ has no rate ({level.mib_per_s:g} MiB/s): set --jobs instead, or choose --with fio")
        one = f"bonnie++ -q -u root -d {folder} -r 32 -s 64 -n 2"
        return f"{' & '.join([one] * level.jobs)} & wait"
