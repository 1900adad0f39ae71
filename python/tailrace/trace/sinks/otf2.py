"""An OTF2 archive: a folder with the anchor file traces.otf2. Each call is a region that is entered and left. Its effect on a file
is a record of I/O, with handles that are opened, duplicated and closed. Merged calls are regions on a location of their own, with
their sums as attributes."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailrace.trace.optional import import_optional
from tailrace.trace.schema import READS, WRITES, Tables
from tailrace.trace.sinks.otf2_handles import OPENS, POSIX, STREAMS, Row, Use, Uses
from tailrace.trace.sinks.timeline import Place, begins_and_ends, valid_events, values_of

SUFFIX = ".otf2"
STORED_TABLES = ("events", "merged", "processes")
NS_PER_S = 10**9
MERGED_SUMS = ("calls", "bytes", "moved", "busy_ns")
ATTRIBUTES = {
    "offset": "position in the file, bytes",
    "error": "name of the error",
    "file": "of merged calls",
    "calls": "number of merged calls",
    "bytes": "requested by merged calls",
    "moved": "bytes that merged calls moved",
    "busy_ns": "time in merged calls",
}


def write(parts: Iterable[Tables], out: Path) -> None:
    """RATIONALE: writes in a child process, because OTF2's library ends its process when the device is full."""
    import_optional("otf2")
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as writer:
            writer.submit(_begin, str(out)).result()
            for part in parts:
                writer.submit(_add, part["processes"], part["events"], part["merged"]).result()
            writer.submit(_finish).result()
    except BrokenProcessPool:
        raise OSError(
            errno.EIO, "OTF2's library ended its process, probably because the device is full; remove files there, and export again"
        ) from None


# The archive that the child process writes.
writers: list[Writer] = []


def _begin(out: str) -> None:
    otf2 = import_optional("otf2")
    with _library_errors_as_oserror():
        writers.append(Writer(otf2, otf2.writer.Writer(out, timer_resolution=NS_PER_S)))


def _add(processes: pa.Table, events: pa.Table, merged: pa.Table) -> None:
    with _library_errors_as_oserror():
        for process in processes.to_pylist():
            writers[0].begin_process(process)
        writers[0].add_events(valid_events(events))
        writers[0].add_merged(valid_events(merged))


def _finish() -> None:
    with _library_errors_as_oserror():
        writers.pop().finish()


@contextlib.contextmanager
def _library_errors_as_oserror() -> Iterator[None]:
    """The library's own exceptions cannot be sent to another process."""
    failures = import_optional("_otf2").Error
    try:
        yield
    except failures as error:
        raise OSError(errno.EIO, f"OTF2 cannot write it: {error}") from None


class Writer:
    """Writes events; makes definitions when they are first needed. OTF2 numbers them and stores them when the archive is closed."""

    def __init__(self, otf2: Any, archive: Any) -> None:
        self.otf2, self.archive, self.define = otf2, archive, archive.definitions
        self.root = self.define.system_tree_node("run")
        self.paradigms = {
            POSIX: self.define.io_paradigm("POSIX", "POSIX I/O", otf2.IoParadigmClass.SERIAL, otf2.IoParadigmFlag.OS),
            STREAMS: self.define.io_paradigm("ISOC", "ISO C I/O", otf2.IoParadigmClass.SERIAL, otf2.IoParadigmFlag.NONE),
        }
        kinds = {"offset": otf2.Type.UINT64, "error": otf2.Type.STRING, "file": otf2.Type.STRING}
        self.attributes = {
            name: self.define.attribute(name, text, kinds.get(name, otf2.Type.UINT64)) for name, text in ATTRIBUTES.items()
        }
        self.modes = {
            **dict.fromkeys(READS, otf2.IoOperationMode.READ),
            **dict.fromkeys(WRITES, otf2.IoOperationMode.WRITE),
            "sync": otf2.IoOperationMode.FLUSH,
        }
        self.groups: dict[int, Any] = {}  # location groups, by log
        self.locations: dict[Place, Any] = {}  # writers of events
        self.handles: dict[Use, Any] = {}
        self.uses = Uses()
        self.operations = 0
        self.regions: dict[str, Any] = {}
        self.begin_real_ns: int | None = None

    def begin_process(self, process: dict[str, Any]) -> None:
        if self.begin_real_ns is None:
            self.begin_real_ns = process["begin_real_ns"] - process["begin_ns"]
        host = self.define.system_tree_node(process["host"] or "?", "node", self.root)
        rank = "" if process["rank"] is None else f"rank {process['rank']}: "
        number = "" if process["process"] is None else f" {process['process']}"
        # With the number of the log: OTF2 merges definitions that are equal.
        name = f"{rank}{process['program']}{number} [{process['log']}]"
        self.groups[process["log"]] = self.define.location_group(name, system_tree_parent=host)

    def add_events(self, events: pa.Table) -> None:
        rows = [Row(*values) for values in zip(*values_of(events, Row._fields).values(), strict=True)]
        uses = self.uses.of(rows)
        for place, number, begins in begins_and_ends(events):
            location, row, use = self.location_of(place), rows[number], uses[number]
            if begins:
                location.enter(row.begin_ns, self.region_of(row.call, row.group))
                self.begin_io(location, row, use, self.operations + number)
            else:
                self.end_io(location, row, use, self.operations + number)
                location.leave(
                    row.end_ns, self.region_of(row.call, row.group), {self.attributes["error"]: row.error} if row.error else None
                )
        self.operations += len(rows)

    def add_merged(self, records: pa.Table) -> None:
        columns = values_of(records, ("call", "group", "begin_ns", "end_ns", "file", "error", *MERGED_SUMS))
        for place, row, begins in begins_and_ends(records, is_merged=True):
            location = self.location_of(place)
            region = self.region_of(f"merged calls of {columns['call'][row]}", columns["group"][row])
            if begins:
                location.enter(columns["begin_ns"][row], region)
                continue
            attributes = {self.attributes[name]: max(0, columns[name][row]) for name in MERGED_SUMS}
            attributes |= {self.attributes[name]: columns[name][row] for name in ("file", "error") if columns[name][row]}
            location.leave(columns["end_ns"][row], region, attributes)

    def begin_io(self, location: Any, row: Row, use: Use | None, operation: int) -> None:
        mode = self.modes.get(row.group)
        if mode is not None and use is not None:
            at = {self.attributes["offset"]: row.offset} if row.offset is not None and row.offset >= 0 else None
            none = self.otf2.IoOperationFlag.NONE
            location.io_operation_begin(row.begin_ns, self.handle_of(use), mode, none, row.bytes, operation, at)

    def end_io(self, location: Any, row: Row, use: Use | None, operation: int) -> None:
        otf2, time = self.otf2, row.end_ns
        if row.call == "unlink" and row.result >= 0 and row.file is not None:
            location.io_delete_file(time, self.paradigms[POSIX], self.file_of(row.file))
        if use is None:
            return
        if row.group in self.modes:
            location.io_operation_complete(time, self.handle_of(use), max(0, row.result), operation)
        elif row.result < 0:
            return
        elif row.group == "open" and use.copied is not None:
            location.io_duplicate_handle(time, self.handle_of(use.copied), self.handle_of(use), otf2.IoStatusFlag.NONE)
        elif row.group == "open":
            access, creation, status = self.flags_of(row)
            location.io_create_handle(time, self.handle_of(use), access, creation, status)
        elif row.group == "close":
            location.io_destroy_handle(time, self.handle_of(use))
        elif row.group == "seek":
            whence = otf2.IoSeekOption
            options = (whence.FROM_START, whence.FROM_CURRENT, whence.FROM_END, whence.DATA, whence.HOLE)
            option = options[row.detail] if row.detail is not None and row.detail < len(options) else whence.FROM_START
            location.io_seek(time, self.handle_of(use), row.offset or 0, option, row.result)

    def flags_of(self, row: Row) -> tuple[Any, Any, Any]:
        """The flags of open. The mode of a stream is not recorded, so it counts as reading and writing."""
        otf2, detail = self.otf2, row.detail or 0
        access = (otf2.IoAccessMode.READ_ONLY, otf2.IoAccessMode.WRITE_ONLY, otf2.IoAccessMode.READ_WRITE)
        creation, status = otf2.IoCreationFlag.NONE, otf2.IoStatusFlag.NONE
        for bit, name in OPENS.items():
            if detail & bit:
                if hasattr(otf2.IoCreationFlag, name):
                    creation |= getattr(otf2.IoCreationFlag, name)
                else:
                    status |= getattr(otf2.IoStatusFlag, name)
        return access[2 if row.call != "open" else min(2, detail & 3)], creation, status

    def location_of(self, place: Place) -> Any:
        if place not in self.locations:
            group = self.groups.get(place.log)
            if group is None:
                group = self.groups[place.log] = self.define.location_group(f"process {place.log}", system_tree_parent=self.root)
            self.locations[place] = self.archive.event_writer(place.name(), group=group)
        return self.locations[place]

    def handle_of(self, use: Use) -> Any:
        if use not in self.handles:
            otf2 = self.otf2
            flag = otf2.IoHandleFlag.PRE_CREATED if use.inherited else otf2.IoHandleFlag.NONE
            name = f"{use.descriptor} [{use.log}.{use.number}]"
            handle = self.define.io_handle(name, self.file_of(use.file or "?"), self.paradigms[use.paradigm], flag)
            if use.inherited:
                self.define.io_pre_created_handle_state(handle, otf2.IoAccessMode.READ_WRITE)
            self.handles[use] = handle
        return self.handles[use]

    def file_of(self, name: str) -> Any:
        """A file of the whole run, because the log does not contain whether hosts share a file system."""
        return self.define.io_regular_file(name, self.root)

    def region_of(self, name: str, group: str) -> Any:
        if name not in self.regions:
            roles = self.otf2.RegionRole
            role = roles.FILE_IO_METADATA if group == "meta" else roles.FILE_IO
            self.regions[name] = self.define.region(name, description=group, region_role=role)
        return self.regions[name]

    def finish(self) -> None:
        """Closes the archive. Sets the time of day of the run; OTF2 would store the time of day of writing."""
        if self.begin_real_ns is not None and self.archive._first_timestamp is not None:
            self.archive._realtime_timestamp = (self.begin_real_ns + self.archive._first_timestamp) / NS_PER_S
        self.archive.close()
