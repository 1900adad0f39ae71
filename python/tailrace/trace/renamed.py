"""Final names: a program writes a file under one name and gives it another one, as checkpoints are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tailrace.trace.clock import clock_of
from tailrace.trace.log import Log

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
Values = np.ndarray[Any, np.dtype[Any]]


class Renamed:
    """The renames of one process that went well. What another process renames is not known here, and neither are the files in a
    directory that is renamed."""

    def __init__(self, log: Log) -> None:
        self._of: dict[int, tuple[Values, Values]] = {}  # by old name: when it was renamed, and the final names
        later: dict[int, list[tuple[int, int]]] = defaultdict(list)  # the same, the last one first
        for event in _renames_in(log)[::-1]:
            begin, old, new = int(event["begin_ns"]), int(event["file"]), int(event["detail"])
            if old and new and new in log.names:
                # The first rename of the new name after this one says what became of it.
                later[old].append((begin, later[new][-1][1] if later.get(new) else new))
        for old, found in later.items():
            if found:
                times, final = zip(*found[::-1], strict=True)
                self._of[old] = np.array(times, np.uint64), np.array(final, np.uint64)

    def final(self, files: Values, begins: Values) -> Values:
        """The final names of files that calls with these beginnings were made for. Names are their numbers in the log."""
        if not self._of:
            return files
        found = files.copy()
        order = np.argsort(files, kind="stable")
        ordered = files[order]
        for old, (times, final) in self._of.items():
            low, high = (np.searchsorted(ordered, np.uint64(old), which) for which in SIDES)
            rows = order[low:high]
            place = np.searchsorted(times, begins[rows], "right")
            before = place < len(times)
            found[rows[before]] = final[place[before]]
        return found


class RenamesOfRun:
    """The renames of all processes of a run, of files and of folders."""

    def __init__(self, logs: Sequence[Log]) -> None:
        self._clock = clock_of(log.header for log in logs)
        self._all: list[tuple[int, str, str]] = []  # time, old name, new name
        for log in logs:
            renames = _renames_in(log)
            times = self._clock.since_begin(log.header["host"], renames["begin_ns"])
            names = ((log.name_of(int(one["file"])), log.name_of(int(one["detail"]))) for one in renames)
            self._all += [(time, old, new) for time, (old, new) in zip(times.tolist(), names, strict=True)]
        self._all.sort()

    def last_name(self, log: Log, name: str, begin_ns: int) -> str:
        """Of a file that a process has opened under this name at this time."""
        begin = self._clock.since_begin(log.header["host"], np.array([begin_ns], np.uint64))[0]
        for time_ns, old, new in self._all:
            if time_ns >= begin and (name == old or name.startswith(f"{old}/")) and new.startswith("/"):
                name = new + name[len(old) :]
        return name


def _renames_in(log: Log) -> Values:
    """The events of the renames that went well, in their order. `file` and `detail` are the numbers of the names."""
    numbers = [number for number, call in log.calls.items() if call.name == "rename"]
    return log.events[np.isin(log.events["call"], numbers) & (log.events["result"] >= 0)]
