"""Runs recorded programs on ranks."""

from __future__ import annotations

from pathlib import Path

from tailrace.trace import launch
from tailrace.trace.log import Log, read_run

from tests.mpirun import Mpirun


def called(log: Log) -> list[tuple[str, str, int, int, int]]:
    """Call, file, offset, bytes and result of each event."""
    return [
        (
            log.calls[int(event["call"])].name,
            log.name_of(int(event["file"])),
            int(event["offset"]),
            int(event["bytes"]),
            int(event["result"]),
        )
        for event in log.events
    ]


class Recorder:
    """Runs a program on ranks with the tracer, and reads the logs."""

    def __init__(self, mpirun: Mpirun, folder: Path) -> None:
        self.mpirun, self.logs, self.work = mpirun, folder / "logs", folder / "work"
        self.logs.mkdir()
        self.work.mkdir()

    def __call__(self, program: str | Path, *arguments: object, ranks: int = 4, **variables: str) -> list[Log]:
        of_ranks = dict(launch.traced_environment(self.logs, 64 << 20, {}).items())
        self.mpirun(program, ranks, arguments, of_ranks={**of_ranks, **variables}, cwd=self.work)
        logs, damaged = read_run(self.logs)
        assert not damaged
        mine = [log for log in logs if log.header["rank"] >= 0 and any(call.startswith("MPI_Init") for call, *_ in called(log))]
        assert sorted(log.header["rank"] for log in mine) == list(range(ranks))
        assert all(log.header["ranks"] == ranks for log in mine)
        return sorted(mine, key=lambda log: int(log.header["rank"]))
