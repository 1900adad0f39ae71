"""Lists the files that a program makes: those that a recorded run has written, or those in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tailrace.trace.log import Log, read_run

MAKING = ("write", "stdio_write", "flush")  # groups of calls
KERNELS = ("/dev/", "/proc/", "/sys/")


def is_log_folder(folder: Path) -> bool:
    return next(folder.glob("*.trace"), None) is not None


def made_in_run(folder: Path) -> tuple[list[str], list[str]]:
    """Paths of the files that a recorded run has written, and a message for each log that cannot be read. Raises LogError."""
    logs, damaged = read_run(folder)
    made: set[str] = set()
    renamed: set[str] = set()
    for log in logs:
        made.update(_made(log))
        calls = [number for number, call in log.calls.items() if call.name == "rename"]
        done = log.events[np.isin(log.events["call"], calls) & (log.events["result"] >= 0)]
        renamed.update(log.name_of(int(file)) for file in done["file"])
        made.update(log.name_of(int(file)) for file in done["detail"])
    inside = f"{folder.resolve()}/"
    return sorted(
        path
        for path in made - renamed
        if path.startswith("/") and not path.startswith((*KERNELS, inside)) and not os.path.isdir(path)
    ), damaged


def _made(log: Log) -> Iterator[str]:
    making = [number for number, call in log.calls.items() if call.group in MAKING]
    opening = [number for number, call in log.calls.items() if call.name == "open"]
    events = log.events
    creates = np.isin(events["call"], opening) & (events["detail"].astype(np.int64) & os.O_CREAT != 0) & (events["result"] >= 0)
    files = [
        events["file"][creates | (np.isin(events["call"], making) & (events["result"] >= 0))],
        log.counters["file"][np.isin(log.counters["counted_call"], making)],
        log.merged["file"][np.isin(log.merged["call"], making)],
    ]
    for file in np.unique(np.concatenate(files)):
        yield log.name_of(int(file))


def lying_in(folder: Path) -> list[str]:
    """Paths of the regular files of a folder and of all below it. Raises OSError for the folder itself."""
    found: list[str] = []
    top = os.path.realpath(folder)
    os.listdir(top)
    for inner, _, _ in os.walk(top):
        with os.scandir(inner) as entries:
            found += [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
    return sorted(found)
