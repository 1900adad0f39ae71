"""fio: sequential writes at a given rate."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.cluster.loads.level import Level

FILE = "128m"  # the size of each process's file, which it overwrites again and again
YEAR_S = 31_536_000


@dataclass(frozen=True)
class Fio:
    name: str = "fio"
    program: str = "fio"
    package: str = "fio"

    def script(self, folder: str, level: Level) -> str:
        words = f"fio --name=load --directory={folder} --rw=write --bs=1m --size={FILE} --ioengine=psync --fallocate=none"
        words += f" --thread --numjobs={level.jobs} --time_based --runtime={YEAR_S} --fsync=32"
        if level.mib_per_s:
            words += f" --rate={max(1, int(level.mib_per_s * 1024 / level.jobs))}k"
        return words
