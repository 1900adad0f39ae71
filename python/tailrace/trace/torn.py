"""Files that a killed process had open for writing, by its log: what is in them may be the half of it."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from tailrace.trace.log import Log, LogError, logs_of, read_header, read_log, read_run
from tailrace.trace.renamed import RenamesOfRun
from tailrace.trace.summed import summed_calls

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
STATE, START = 0, 19  # fields of /proc/PID/stat behind the program's name
MOST_READS = 10  # of the header of a log that its process writes
TICK_S = 0.02  # of the clock of process starts, rounded up
BY_DESCRIPTOR = 1  # detail of fopen: the stream is of a descriptor that was open before (fdopen)


class Access(Enum):
    """What a descriptor is open for."""

    TO_READ = 1
    TO_WRITE = 2
    UNKNOWN = 3  # of fopen, whose mode is not in the log, until the first read or write


@dataclass
class OpenFile:
    """A descriptor at one moment."""

    file: int
    begin_ns: int
    access: Access


@dataclass
class Counts:
    """What one process did to one file, where the order of calls is not in the log."""

    opens: int = 0
    closes: int = 0
    writes: int = 0

    @property
    def is_torn(self) -> bool:
        is_open = self.opens > self.closes or (self.opens == 0 and self.closes == 0)  # or its parent had opened it
        return is_open and self.writes > 0


def torn_below(folder: Path, run: Path) -> list[str]:
    """Paths below `folder`, relative to it, of files that a process of the recorded run had open for writing when it was killed.

    Processes of other nodes have other files under these names, but may rename a folder for all nodes. A process without an end in
    its log was killed, or became a program without the C library, or it runs. Where calls are only counted, a file that was
    written and is open counts, in whatever way it is open. Raises LogError, also where a log is damaged, and OSError."""
    logs, damaged = read_run(run, os.uname().nodename)
    if damaged:
        raise LogError(f"which files are torn is not known: {damaged[0]}")
    return sorted(_torn_below(folder, run, [log for log in logs if not log.ended and not _runs(log.header)]))


def _torn_below(folder: Path, run: Path, killed: Sequence[Log]) -> set[str]:
    top = os.path.realpath(folder)
    found = set()
    for name in _torn_names(run, killed):
        real = os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))
        if real.startswith(f"{top}/"):
            found.add(os.path.relpath(real, top))
    return found


class TornSoFar:
    """What torn_below() returns, again and again while the program runs. The log of each process that has ended is read once."""

    def __init__(self, folder: Path, run: Path) -> None:
        self._folder, self._run = folder, run
        self._known: set[Path] = set()  # logs of processes that have ended, or of other nodes
        self._torn: set[str] = set()

    def names(self) -> frozenset[str]:
        """Raises LogError, OSError."""
        for path in logs_of(self._run):
            if path not in self._known and not self._may_change(path):
                self._known.add(path)
        return frozenset(self._torn)

    def _may_change(self, path: Path) -> bool:
        """Whether the process of the log runs. If it was killed, adds its torn files."""
        header = _header_of(path)
        if header["host"] != os.uname().nodename or header["end_ns"]:
            return False
        if _runs(header):
            return True
        log = read_log(path)
        if not log.ended:  # it may have ended by itself since the header was read
            self._torn |= _torn_below(self._folder, self._run, [log])
        return False


def _header_of(path: Path) -> dict[str, Any]:
    """The header of a log, which its process may be writing at this moment. Raises LogError, OSError."""
    for _ in range(MOST_READS):
        with contextlib.suppress(LogError):
            return read_header(path)
        time.sleep(TICK_S)
    return read_header(path)


def _runs(header: Mapping[str, Any]) -> bool:
    """Whether the process of a log lives: another one of its number has begun after the log."""
    try:
        fields = Path(f"/proc/{header['process']}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    if fields[STATE] in (b"Z", b"X"):
        return False
    began_s = int(fields[START]) / os.sysconf("SC_CLK_TCK")
    return began_s <= header["begin_ns"] / 1e9 + TICK_S


def _torn_names(run: Path, killed: Sequence[Log]) -> Iterator[str]:
    """The name of each torn file when it was opened, and its last one."""
    opened = [(log, log.name_of(file), begin_ns) for log in killed for file, begin_ns in _open_files(log)]
    opened = [one for one in opened if one[1].startswith("/")]
    renames = RenamesOfRun(read_run(run)[0]) if opened else None
    for log, name, begin_ns in opened:
        yield name
        if renames is not None:
            yield renames.last_name(log, name, begin_ns)


def _open_files(log: Log) -> Iterator[tuple[int, int]]:
    """The numbers of the names of files that were open to write when the process ended, and when they were opened."""
    return _counted(log) if _is_counted(log) else _followed(log)


def _is_counted(log: Log) -> bool:
    """Whether calls that open or close files are in sums."""
    groups = {log.calls[number].group for number in set(summed_calls(log)["call"].tolist()) if number in log.calls}
    return bool(groups & {"open", "close"})


def _followed(log: Log) -> Iterator[tuple[int, int]]:
    """Files that are open to write at the end of the log, and when they were opened: each call in its order."""
    open_files: dict[int, OpenFile] = {}
    for event in log.events[log.events["result"] >= 0]:
        call = log.calls.get(int(event["call"]))
        descriptor, file, begin_ns = int(event["descriptor"]), int(event["file"]), int(event["begin_ns"])
        match call.group if call else "":
            case "open" if call and call.name == "dup":
                if descriptor in open_files:
                    open_files[int(event["result"])] = replace(open_files[descriptor])
            case "open" if call and not (call.name == "fopen" and int(event["detail"]) == BY_DESCRIPTOR):
                open_files[descriptor] = OpenFile(file, begin_ns, _access_of(call.name, int(event["detail"])))
            case "close":
                open_files.pop(descriptor, None)
            case "read" | "stdio_read":
                opened = open_files.setdefault(descriptor, OpenFile(file, begin_ns, Access.TO_READ))
                opened.access = Access.TO_WRITE if opened.access is Access.TO_WRITE else Access.TO_READ
            case "write" | "stdio_write":
                open_files.setdefault(descriptor, OpenFile(file, begin_ns, Access.TO_WRITE)).access = Access.TO_WRITE
    return ((one.file, one.begin_ns) for one in open_files.values() if one.access is not Access.TO_READ)


def _access_of(call: str, flags: int) -> Access:
    if call == "fopen":
        return Access.UNKNOWN
    return Access.TO_WRITE if call == "mkstemp" or flags & WRITES else Access.TO_READ


def _counted(log: Log) -> Iterator[tuple[int, int]]:
    counts: dict[int, Counts] = defaultdict(Counts)
    events = log.events[log.events["result"] >= 0]
    rows = [(event["file"], event["call"], 1, event["detail"]) for event in events]
    rows += [(row["file"], row["call"], row["calls"], 0) for row in summed_calls(log)]
    for file, number, calls, detail in rows:
        call, count = log.calls.get(int(number)), counts[int(file)]
        match call.group if call else "":
            case "open" if call and not (call.name == "fopen" and int(detail) == BY_DESCRIPTOR):
                count.opens += int(calls)
            case "close":
                count.closes += int(calls)
            case "write" | "stdio_write":
                count.writes += int(calls)
    return ((file, 0) for file, count in counts.items() if count.is_torn)
