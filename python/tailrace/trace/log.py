"""Reads the log of one process (docs/trace-log.md) without trusting it. A file that is no log, or a damaged one, gives an error
with its name. The log of a killed process lacks only the record that was being written."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.fnv import fnv1a
from tailrace.plain_text import quoted
from tailrace.regular_file import open_regular
from tailrace.trace.merged import MERGED_CHUNK, Records, records_of

MAGIC = b"TRTRACE\n"
LEAST_CHUNK_BYTES = 4096
MOST_DIGITS = 5  # of the number of a call, which has 16 bits
VERSION = 1
NAME, CHUNK, COUNTER = 0xFFFF, 0xFFFE, 0xFFFD
NO_OFFSET = -1  # the call has no offset
# Why calls are only counted, by the bits of the header's `reasons`.
REASONS = {
    1: "the budget was spent; give more with `run --budget`",
    2: "the log's file could not grow: the disk is full or over its quota",
    4: "the program had no free descriptor for the log",
    8: "the process may no longer open its log: it has another user or fewer rights, or the log was replaced",
    16: "the log's file would exceed the file size limit (ulimit -f)",
    32: "opening the log was interrupted",
}

COUNTS = ("read_bytes", "written_bytes", "read_calls", "write_calls", "device_read_bytes", "device_written_bytes")
LOADER_COUNTS = COUNTS[0:3:2]
HEADER = np.dtype(
    [
        ("magic", "S8"),
        *((name, "<u4") for name in ("version", "header_bytes", "chunk_bytes", "slot_bytes")),
        *((name, "<u8") for name in ("begin_ns", "begin_real_ns", "end_ns", "end_real_ns")),
        *((name, "<i4") for name in ("process", "parent", "rank", "ranks")),
        *((name, "<u8") for name in ("budget_bytes", "dropped_events")),
        *((name, "<u4") for name in ("chunks", "reasons")),
        *((name, [(count, "<u8") for count in COUNTS]) for name in ("at_begin", "at_end")),
        *((name, f"S{size}") for name, size in (("host", 64), ("program", 512), ("command", 2048), ("calls", 8192))),
        *((name, [(count, "<u8") for count in COUNTS]) for name in ("thread_at_begin", "thread_at_end", "own")),
        *((name, [(count, "<u8") for count in LOADER_COUNTS]) for name in ("loader_at_begin", "loader_at_end")),
    ]
)
EVENT = np.dtype(
    [
        ("begin_ns", "<u8"),
        ("end_ns", "<u8"),
        ("call", "<u2"),
        ("flags", "<u2"),
        ("descriptor", "<i4"),
        ("file", "<u8"),
        ("offset", "<i8"),
        ("bytes", "<u8"),
        ("result", "<i8"),
        ("detail", "<u8"),
    ]
)
NAME_HEAD = np.dtype([("file", "<u8"), ("bytes", "<u4"), ("slots", "<u4"), ("call", "<u2"), ("text", "S46")])
CHUNK_HEAD = np.dtype(
    [("begin_ns", "<u8"), ("thread", "<u4"), ("process", "<u4"), ("call", "<u2"), ("kind", "<u2"), ("rest", "S44")]
)
TEXT_AT = NAME_HEAD.fields["text"][1] if NAME_HEAD.fields else 0
TOTALS = ("reads", "writes", "bytes_read", "bytes_written", "failed", "busy_ns", "first_ns", "last_ns")
COUNTER_SLOTS = np.dtype(
    [
        ("file", "<u8"),
        ("calls", "<u8"),
        ("call", "<u2"),
        ("counted_call", "<u2"),
        ("ended", "<u4"),
        *((name, "<u8") for name in TOTALS),
        ("rest", "S40"),
    ]
)


Events = np.ndarray[Any, np.dtype[Any]]  # of EVENT
Places = np.ndarray[Any, np.dtype[np.intp]]
MOST_KNOWN = 1 << 20
_known_names: dict[int, str] = {}  # by their hash: processes of a run use the same files


class LogError(ValueError):
    """Raised for a file that is no log, or a damaged log. The text names the file."""


@dataclass(frozen=True)
class Call:
    number: int
    name: str
    group: str


@dataclass(frozen=True)
class Log:
    path: Path
    header: dict[str, Any]
    calls: dict[int, Call]
    events: np.ndarray[Any, np.dtype[Any]]  # EVENT, in the order of their beginnings
    threads: np.ndarray[Any, np.dtype[np.uint32]]  # of each event
    names: dict[int, str]
    counters: np.ndarray[Any, np.dtype[Any]]  # COUNTER_SLOTS: sums by file and call of calls without events
    merged: Records  # sums of like calls, in the order of their beginnings

    @property
    def ended(self) -> bool:
        """Whether the process ended by itself: it was not killed, and not replaced by a program without the C library."""
        return bool(self.header["end_ns"])

    @property
    def counted_because(self) -> str:
        """Why calls are only counted; "" where none are."""
        return counted_because(self.header)

    @property
    def counted_text(self) -> str:
        """How many calls are only counted, and why; "" where none are."""
        because = self.counted_because
        return f"{self.header['dropped_events']} calls are only counted by file: {because}" if because else ""

    def name_of(self, file: int) -> str:
        return self.names.get(file, "?" if file else "")


def counted_because(header: Mapping[str, Any]) -> str:
    """Why calls of a log are only counted; "" where none are."""
    if not header["dropped_events"]:
        return ""
    return "; ".join([text for bit, text in REASONS.items() if header["reasons"] & bit] or [REASONS[1]])


def read_run(folder: Path, host: str | None = None) -> tuple[list[Log], list[str]]:
    """The logs of a run, and a message for each that cannot be read. `host`: only those of processes of this node. Raises LogError
    where there is none."""
    logs, damaged = [], []
    for path in logs_of(folder):
        try:
            if host is None or read_header(path)["host"] == host:
                logs.append(read_log(path))
        except LogError as error:
            damaged.append(str(error))
    return logs, damaged


def logs_of(folder: Path) -> list[Path]:
    """The paths of the logs in a folder. Raises LogError if there is none."""
    if not folder.is_dir():
        raise LogError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}; name the folder of a recorded run")
    paths = sorted(folder.glob("*.trace"))
    if not paths:
        raise LogError(f"{folder}: no logs of calls in it; `tailrace run --log {quoted(folder)} -- COMMAND` makes them")
    return paths


def read_header(path: Path) -> dict[str, Any]:
    """The header of a log, without its list of calls. Raises LogError, OSError."""
    with open_regular(path) as file:
        header = _header(path, file.read(HEADER.itemsize))
    del header["calls"]
    return header


def read_log(path: Path) -> Log:
    """Raises LogError, OSError."""
    with open_regular(path) as file:
        header = _header(path, file.read(HEADER.itemsize))
        places = list(_chunk_places(file.fileno(), header))
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    data = np.frombuffer(content, np.uint8)
    chunks = [data[at : at + header["chunk_bytes"]] for at in places]
    events, threads, counters, merged = [], [], [], []
    names: dict[int, str] = {}
    for chunk in chunks:
        slots = chunk[: len(chunk) // EVENT.itemsize * EVENT.itemsize].view(EVENT)
        if len(slots) == 0 or slots["call"][0] != CHUNK:
            continue  # the process was killed before it wrote anything into the chunk
        head = slots[:1].view(CHUNK_HEAD)[0]
        if head["kind"] > MERGED_CHUNK:
            continue  # a kind of chunk that a newer version writes
        if head["kind"] == MERGED_CHUNK:
            merged.append(chunk)
            continue
        if head["kind"] == 1:
            found = slots[2 : len(slots) // 2 * 2].view(COUNTER_SLOTS)
            counters.append(found[found["call"] == COUNTER])
            continue
        is_event = _take_names(slots, names)
        events.append(slots[is_event])
        threads.append(_threads_of(slots, is_event))
    all_events = np.concatenate(events) if events else np.empty(0, EVENT)
    all_threads = np.concatenate(threads) if threads else np.empty(0, np.uint32)
    calls = _calls(path, header.pop("calls"))
    known = np.isin(all_events["call"], list(calls))
    order = np.argsort(all_events["begin_ns"][known], kind="stable")
    found_counters = np.concatenate(counters) if counters else np.empty(0, COUNTER_SLOTS)
    records = records_of(merged)
    records = records[np.isin(records["call"], list(calls))]
    return Log(path, header, calls, all_events[known][order], all_threads[known][order], names, found_counters, records)


def _chunk_places(descriptor: int, header: dict[str, Any]) -> Iterator[int]:
    """Where chunks begin that have data. The holes of a file are passed over: it may be longer than its device."""
    size = os.fstat(descriptor).st_size
    at = header["header_bytes"]
    while at < size:
        try:
            data = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # none from there to the end
            return
        at += (data - at) // header["chunk_bytes"] * header["chunk_bytes"]
        yield at
        at += header["chunk_bytes"]


def _header(path: Path, content: bytes) -> dict[str, Any]:
    if len(content) < HEADER.itemsize:
        raise LogError(
            f"{path}: has {len(content)} bytes, and the header of a log has {HEADER.itemsize}: it is no log, or it was cut"
        )
    raw = np.frombuffer(content, HEADER, 1)[0]
    header = {name: raw[name].item() for name in HEADER.names or ()}
    if raw["magic"] != MAGIC:
        raise LogError(f"{path}: not a log of calls: it begins with {raw['magic']!r}")
    if header["version"] > VERSION:
        raise LogError(
            f"{path}: the log has version {header['version']}, this reader knows up to {VERSION}: read it with a newer Tailrace"
        )
    if header["version"] < 1:
        raise LogError(f"{path}: damaged: version {header['version']} of the log")
    sizes = (header["header_bytes"], header["chunk_bytes"], header["slot_bytes"])
    if sizes[0] < HEADER.itemsize or sizes[1] < LEAST_CHUNK_BYTES or sizes[1] % EVENT.itemsize or sizes[2] != EVENT.itemsize:
        raise LogError(f"{path}: damaged: header, chunk and slot of {sizes} bytes")
    for key in ("host", "program", "command"):
        header[key] = bytes(raw[key]).decode(errors="replace")
    header["command"] = header["command"].replace("\0", " ")
    for key in ("at_begin", "at_end", "thread_at_begin", "thread_at_end", "own"):
        header[key] = dict(zip(COUNTS, header[key], strict=True))
    for key in ("loader_at_begin", "loader_at_end"):
        header[key] = dict(zip(LOADER_COUNTS, header[key], strict=True))
    return header


def _calls(path: Path, text: bytes) -> dict[int, Call]:
    calls = {}
    for line in text.decode(errors="replace").splitlines():
        words = line.split()
        if (
            len(words) < 3 or not words[1].isdecimal() or len(words[1]) > MOST_DIGITS
        ):  # later versions may say more behind the three
            raise LogError(f"{path}: damaged: {line!r} in its list of calls")
        calls[int(words[1])] = Call(int(words[1]), words[0], words[2])
    return calls


def _take_names(slots: np.ndarray[Any, np.dtype[Any]], names: dict[int, str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Adds the names in a chunk to `names`. Returns which slots may be events."""
    is_event = slots["call"] != 0
    is_event[0] = False
    places = np.flatnonzero(slots["call"] == NAME)
    places, ends = _regular_names(slots, places)
    if len(places) == 0:
        return is_event
    borders = np.zeros(len(slots) + 1, np.int8)
    borders[places] = 1
    borders[ends] -= 1
    is_event &= np.cumsum(borders[:-1]) == 0
    heads = slots[places].view(NAME_HEAD)
    numbers = heads["file"].tolist()
    names.update((number, _known_names[number]) for number in numbers if number in _known_names)
    raw = b""
    for k in [k for k, number in enumerate(numbers) if number not in names]:
        raw = raw or slots.tobytes()
        first, size = int(places[k]) * EVENT.itemsize + TEXT_AT, int(heads["bytes"][k])
        text = raw[first : min(first + size, int(ends[k]) * EVENT.itemsize)]
        if len(text) == size and name_hash(text) == numbers[k]:
            _remember(numbers[k], text.decode(errors="backslashreplace"))  # as it can be printed
            names[numbers[k]] = _known_names[numbers[k]]
    return is_event


def _regular_names(slots: np.ndarray[Any, np.dtype[Any]], places: Places) -> tuple[Places, Places]:
    """Where names begin and end: without the places that are in the text of another name."""
    places = places[places > 0]
    ends = np.minimum(places + np.maximum(slots[places].view(NAME_HEAD)["slots"], 1), len(slots))
    if (places[1:] >= ends[:-1]).all():
        return places, ends
    chosen, end = [], 0
    for k, (first, last) in enumerate(zip(places.tolist(), ends.tolist(), strict=True)):
        if first >= end:
            chosen.append(k)
            end = last
    return places[chosen], ends[chosen]


def _remember(number: int, name: str) -> None:
    if len(_known_names) >= MOST_KNOWN:
        _known_names.clear()
    _known_names[number] = name


def _threads_of(
    slots: np.ndarray[Any, np.dtype[Any]], is_event: np.ndarray[Any, np.dtype[np.bool_]]
) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The thread of each event in a chunk: that of the last head before the event."""
    heads = np.flatnonzero(is_event & (slots["call"] == CHUNK))
    heads = np.concatenate(([0], heads))
    return slots[heads].view(CHUNK_HEAD)["thread"][np.searchsorted(heads, np.flatnonzero(is_event), "right") - 1]


def name_hash(text: bytes) -> int:
    """FNV-1a, 64 bits; never 0."""
    return fnv1a(text) or 1
