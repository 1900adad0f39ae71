"""Sums of a run's calls by process, file and call. Every total of `model.Run` is made from these tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.trace import accesses
from tailrace.trace.activity import keys_of
from tailrace.trace.kept_calls import KeptCalls, error_number
from tailrace.trace.layers import BUFFERED, COUNTED, LIBRARY, SYSTEM, TRANSFER, CallName, Place, place_of
from tailrace.trace.nesting import NO_PARENT, made_within, nested, union_ns
from tailrace.trace.source_figures import SourceFigures

Array = np.ndarray[Any, np.dtype[Any]]
NO_NAME = -1
MOST_SLOWEST = 100
COPIES = ("sendfile", "copy_file_range", "splice")  # read `other_name` as much as they write the file

# A row may stand for one call or for many: calls that were only counted, merged calls, and counters of other tools are rows, too.
SUMS = pa.schema(
    [
        ("log", pa.int32()),
        ("file", pa.int32()),  # place in `Sums.files`
        ("call", pa.int32()),  # place in `Sums.calls`
        ("within_mpi", pa.bool_()),  # made by MPI itself: not by the program, and not by MPI-IO
        ("calls", pa.int64()),
        ("failed", pa.int64()),
        ("read_bytes", pa.int64()),
        ("written_bytes", pa.int64()),
        ("time_ns", pa.int64()),
        ("self_ns", pa.int64()),  # null: not known, because the source does not say what lies within what
        ("most_ns", pa.int64()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
    ]
)
INNERMOST = ("POSIX", "stdio", "MPI")  # layers
WITHIN_LIBRARIES = 15  # flags
KEYS = ("log", "file", "call", "within_mpi")
ADDED = ("calls", "failed", "read_bytes", "written_bytes", "time_ns", "self_ns")


class Names:
    """Texts in the order in which they were first seen, each with its place."""

    def __init__(self) -> None:
        self.texts: list[Any] = []
        self._places: dict[Any, int] = {}

    def place(self, text: Any) -> int:
        if text is None:
            return NO_NAME
        found = self._places.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


@dataclass
class Sums:
    """The sums while a run is read: the events of one process are added at a time. `kept`: also gets each single call."""

    kept: KeptCalls | None = None
    files: Names = field(default_factory=Names)
    calls: Names = field(default_factory=Names)  # of CallName
    sums: list[pa.Table] = field(default_factory=list)  # SUMS
    sizes: list[pa.Table] = field(default_factory=list)  # accesses.SIZES
    orders: list[pa.Table] = field(default_factory=list)  # accesses.ORDER
    failures: list[pa.Table] = field(default_factory=list)
    slowest: list[dict[str, Any]] = field(default_factory=list)
    io_ns: dict[int, int] = field(default_factory=dict)  # log -> ns in which a thread was in an I/O call
    summed_io_ns: dict[int, int] = field(default_factory=dict)  # log -> ns in I/O calls that are merged or only counted

    def call(self, name: str, group: str) -> int:
        return self.calls.place(CallName(name, group, place_of(name, group)))

    def add_slowest(self, log: int, events: pa.Table) -> None:
        """Adds only the slowest calls: for a source whose sums do not come from events."""
        columns = _Columns(self, _in_order(events))
        self._keep_slowest(columns.slowest(log))
        columns.keep(log)

    def _keep_slowest(self, rows: list[dict[str, Any]]) -> None:
        self.slowest = sorted([*self.slowest, *rows], key=lambda row: -row["seconds"])[:MOST_SLOWEST]

    def add_events(self, log: int, events: pa.Table) -> None:
        """Adds all events of one process."""
        columns = _Columns(self, _in_order(events))
        self.sums += [columns.sums(log), *columns.copied(log)]
        self.failures += columns.failures(log)
        self._keep_slowest(columns.slowest(log))
        columns.keep(log)
        self.io_ns[log] = columns.io_ns()
        sizes, orders = columns.accesses(log)
        self.sizes.append(sizes)
        self.orders.append(orders)

    def add_counters(self, counters: pa.Table) -> None:
        """Adds calls that were only counted, by file and call. Counters of other tools do not tell which call each was."""
        no_call = self.call("only counted", COUNTED)
        call = _calls_of(self, counters, otherwise=no_call)
        time = _int64(counters["busy_ns"])
        self.sums.append(
            _as(
                SUMS,
                log=counters["log"],
                file=_places(counters["file"], self.files),
                call=call,
                within_mpi=False,
                calls=_int64(counters["calls"]),
                failed=_int64(counters["failed"]),
                read_bytes=_int64(counters["bytes_read"]),
                written_bytes=_int64(counters["bytes_written"]),
                time_ns=time,
                self_ns=pc.if_else(self._makes_no_others(call), time, pa.scalar(None, pa.int64())),
                first_ns=counters["first_ns"],
                last_ns=counters["last_ns"],
            )
        )
        self._add_io_ns(counters, call, np.ones(len(counters), bool))

    def add_merged(self, merged: pa.Table) -> None:
        """Adds merged records: sums of similar calls. Their order is not known, nor the self time of calls that make others. The
        time of calls that a library made is in the self time of the library's call."""
        call, file = _calls_of(self, merged), _places(merged["file"], self.files)
        place = [self.calls.texts[number].place for number in call.tolist()]
        moved, time = np.maximum(_numbers(merged["moved"]), 0), _int64(merged["busy_ns"])
        asked = _numbers(_int64(merged["bytes"]))
        moved = np.where(np.array([of.moves == LIBRARY for of in place], bool) & (moved == 0), asked, moved)  # HDF5 returns 0
        is_outermost = _numbers(merged["flags"]) & WITHIN_LIBRARIES == 0
        failed = np.asarray(pc.is_valid(merged["error"]))
        read, written = (np.array([of.kind == kind and of.moves != "" for of in place], bool) for kind in ("read", "write"))
        self.sums.append(
            _as(
                SUMS,
                log=merged["log"],
                file=file,
                call=call,
                within_mpi=False,
                calls=_int64(merged["calls"]),
                failed=np.where(failed, _numbers(_int64(merged["calls"])), 0),
                read_bytes=np.where(read, moved, 0),
                written_bytes=np.where(written, moved, 0),
                time_ns=time,
                self_ns=pc.if_else(self._makes_no_others(call) & is_outermost, time, pa.scalar(None, pa.int64())),
                most_ns=merged["most_ns"],
                first_ns=merged["begin_ns"],
                last_ns=merged["last_ns"],
            )
        )
        self._add_io_ns(merged, call, is_outermost)
        chosen = np.flatnonzero(failed)
        columns = {"log": merged["log"].take(pa.array(chosen)), "call": call[chosen], "file": file[chosen]}
        of_failed = merged.take(pa.array(chosen))
        columns |= {"error": of_failed["error"].cast(pa.string()), "calls": _int64(of_failed["calls"])}
        self.failures.append(pa.table(columns))
        self._add_sizes(merged, call, file, read | written)
        if self.kept is not None:
            _keep_merged(self.kept, merged, call, file, np.where(read | written, moved, 0))

    def _makes_no_others(self, call: Array) -> Array:
        """Whether a call of this kind makes no other recorded calls, so that its time is its self time."""
        layers = np.array([of.place.layer in INNERMOST for of in self.calls.texts] or [False])
        return np.asarray(layers[call], bool)

    def _add_io_ns(self, rows: pa.Table, call: Array, is_outermost: Array) -> None:
        is_io = np.array([of.place.is_io for of in self.calls.texts] or [False])[call] & self._makes_no_others(call)
        time = _numbers(_int64(rows["busy_ns"]))
        for log, busy_ns in zip(_numbers(rows["log"], -1).tolist(), np.where(is_io & is_outermost, time, 0).tolist(), strict=True):
            self.summed_io_ns[log] = self.summed_io_ns.get(log, 0) + busy_ns

    def _add_sizes(self, merged: pa.Table, call: Array, file: Array, moves: Array) -> None:
        rows: dict[str, list[int]] = {name: [] for name in ("log", "file", "call", "least_bytes", "most_bytes", "accesses")}
        for at in np.flatnonzero(moves).tolist():
            for bin_text in (merged["sizes"][at].as_py() or "").split():
                least, _, count = bin_text.partition(":")
                if least != "0":
                    sizes = (int(least), 2 * int(least) - 1, int(count))
                    for name, value in zip(rows, (merged["log"][at].as_py(), int(file[at]), int(call[at]), *sizes), strict=True):
                        rows[name].append(value)
        if rows["log"]:
            self.sizes.append(pa.table(rows, schema=accesses.SIZES))

    def add_figures(self, figures: SourceFigures) -> None:
        """Adds sums that the source has made itself."""
        columns: list[tuple[Sequence[Any], pa.Schema, list[pa.Table]]] = [
            (figures.sums, SUMS, self.sums),
            (figures.sizes, accesses.SIZES, self.sizes),
            (figures.orders, accesses.ORDER, self.orders),
        ]
        for rows, schema, tables in columns:
            made = [
                {**row, "within_mpi": False, "file": self.files.place(row["file"]), "call": self._own_call(row)} for row in rows
            ]
            for row in made:
                row["order"] = accesses.ORDERS.index(row["order"]) if "order" in row else None
            tables.append(pa.Table.from_pylist(made, schema=schema))

    def _own_call(self, row: Any) -> int:
        return self.calls.place(CallName(row["call"], row["layer"], Place(row["layer"], row["kind"], row["moves"])))


def _calls_of(into: Sums, rows: pa.Table, otherwise: int | None = None) -> Array:
    """The place of each row's call in `Sums.calls`. `otherwise`: the place for rows without a call."""
    different: dict[tuple[Any, Any], int] = {}
    found = np.empty(len(rows), np.int32)
    pairs = zip(rows["call"].to_pylist(), rows["group"].to_pylist(), strict=True)
    for at, (name, group) in enumerate(pairs):
        if (name, group) not in different:
            known = otherwise is None or name is not None
            different[name, group] = into.call(name or "?", group or "") if known else int(otherwise or 0)
        found[at] = different[name, group]
    return found


def _keep_merged(kept: KeptCalls, merged: pa.Table, call: Array, file: Array, moved: Array) -> None:
    """Keeps records of merged calls as calls. Each ends when all calls of its record would have ended, one after the other."""
    begin, busy = _numbers(merged["begin_ns"]), _numbers(_int64(merged["busy_ns"]))
    failed = np.array([-error_number(error) for error in merged["error"].to_pylist()], np.int64)
    columns = {
        **{name: _numbers(merged[name]) for name in ("thread", "flags", "detail")},
        "call": call,
        "begin": begin / 1e9,
        "end": (begin + busy) / 1e9,
        "self_s": busy / 1e9,
        "file": file,
        "result": np.maximum(_numbers(merged["moved"]), 0) + failed,
        "moved": moved,
        "count": _numbers(_int64(merged["calls"])),
    }
    logs = _numbers(merged["log"], NO_NAME)
    for log in np.unique(logs).tolist():
        chosen = logs == log
        kept.add(log, offset=NO_NAME, position=NO_NAME, **{name: column[chosen] for name, column in columns.items()})
    collectives = np.flatnonzero(np.array([group == "collective" for group in merged["group"].to_pylist()], bool))
    for at in collectives.tolist():
        kept.note_merged_collective(int(logs[at]), float(columns["begin"][at]))


def _in_order(events: pa.Table) -> pa.Table:
    """By thread and beginning; a call before those that it makes, also where they begin together."""
    begin, end = (_numbers(events[name]) for name in ("begin_ns", "end_ns"))
    depth = np.bitwise_count(_numbers(events["flags"]) & 15) if hasattr(np, "bitwise_count") else _numbers(events["flags"]) & 15
    order = np.lexsort((depth, -end, begin, _numbers(events["thread"])))
    return events if bool((np.diff(order) == 1).all()) else events.take(pa.array(order))


class _Columns:
    """The events of a process as arrays, with the calls' places and self times."""

    def __init__(self, into: Sums, events: pa.Table) -> None:
        self.into, self.events = into, events
        self.file = _places(events["file"], into.files)
        self.call = self._calls()
        self.result, self.asked = _numbers(events["result"]), _numbers(events["bytes"]).astype(np.int64)
        self.begin = _numbers(events["begin_ns"])
        self.end = np.maximum(_numbers(events["end_ns"]), self.begin)  # a damaged log may have an end before the beginning
        self.moves = self._of_call(lambda call: call.place.moves)
        self.kind = self._of_call(lambda call: call.place.kind)
        self.moved = np.where(self.result > 0, self.result, 0)
        unsaid = (self.moves == LIBRARY) & (self.result == 0)  # HDF5 and netCDF return 0
        self.moved = np.where(unsaid, np.maximum(self.asked, 0), self.moved)
        self.moved = np.where(np.isin(self.kind, ("read", "write")) & (self.moves != ""), self.moved, 0)
        self.self_ns, self.within_mpi = self._nested()

    def _calls(self) -> Array:
        """The place of each event's call in `Sums.calls`."""
        pairs, names = Names(), Names()
        call, group = _places(self.events["call"], names), _places(self.events["group"], pairs)
        both = call.astype(np.int64) * (len(pairs.texts) + 1) + group + 1
        different, places = np.unique(both, return_inverse=True)
        found = []
        for number in different.tolist():
            name, of_group = divmod(number, len(pairs.texts) + 1)
            found.append(self.into.call(names.texts[name] if name >= 0 else "?", pairs.texts[of_group - 1] if of_group else ""))
        return np.array(found, np.int32)[places]

    def _of_call(self, value: Any) -> Array:
        return np.array([value(call) for call in self.into.calls.texts])[self.call]

    def _nested(self) -> tuple[Array, Array]:
        threads = _numbers(self.events["thread"])
        borders = [0, *(np.flatnonzero(threads[1:] != threads[:-1]) + 1).tolist(), len(threads)]
        layer = self._of_call(lambda call: call.place.layer)
        self_ns, within_mpi = np.zeros(len(threads), np.int64), np.zeros(len(threads), bool)
        for first, last in itertools.pairwise(borders):
            part = slice(first, last)
            found = nested(self.begin[part], self.end[part])
            self_ns[part] = found.self_ns
            if (found.parent != NO_PARENT).any():
                within_mpi[part] = made_within(found.parent, layer[part] == "MPI", layer[part] == "MPI-IO")
        return self_ns, within_mpi

    def sums(self, log: int) -> pa.Table:
        rows = len(self.call)
        table = pa.table(
            {
                "file": pa.array(self.file),
                "call": pa.array(self.call),
                "within_mpi": pa.array(self.within_mpi),
                "calls": pa.array(np.ones(rows, np.int64)),
                "failed": pa.array((self.result < 0).astype(np.int64)),
                "read_bytes": pa.array(np.where(self.kind == "read", self.moved, 0)),
                "written_bytes": pa.array(np.where(self.kind == "write", self.moved, 0)),
                "time_ns": pa.array(self.end - self.begin),
                "self_ns": pa.array(self.self_ns),
                "first_ns": pa.array(self.begin),
                "last_ns": pa.array(self.end),
            }
        )
        wanted = [*((name, "sum") for name in ADDED), ("time_ns", "max"), ("first_ns", "min"), ("last_ns", "max")]
        added = table.group_by(["file", "call", "within_mpi"]).aggregate(wanted)
        return _as(
            SUMS,
            log=log,
            **{name: added[name] for name in ("file", "call", "within_mpi")},
            **{name: added[f"{name}_sum"] for name in ADDED},
            most_ns=added["time_ns_max"],
            first_ns=added["first_ns_min"],
            last_ns=added["last_ns_max"],
        )

    def keep(self, log: int) -> None:
        if self.into.kept is not None:
            others = {name: _numbers(self.events[name]) for name in ("thread", "flags", "detail")}
            self.into.kept.add(
                log,
                **others,
                call=self.call,
                begin=self.begin / 1e9,
                end=self.end / 1e9,
                self_s=self.self_ns / 1e9,
                file=self.file,
                offset=_numbers(self.events["offset"], NO_NAME),
                position=self.positions[0],
                result=self.result,
                moved=self.moved,
                count=1,
            )

    def copied(self, log: int) -> list[pa.Table]:
        """Copies read another file: rows without calls or time of their own, with its bytes."""
        numbers = [self.into.calls.place(call) for call in self.into.calls.texts if call.name in COPIES]
        chosen = np.flatnonzero(np.isin(self.call, numbers) & (self.moved > 0))
        if not len(chosen):
            return []
        source = _places(self.events["other_name"].take(pa.array(chosen)), self.into.files)
        table = pa.table({"file": source, "call": self.call[chosen], "read_bytes": self.moved[chosen]})
        added = table.filter(pc.not_equal(table["file"], NO_NAME)).group_by(["file", "call"]).aggregate([("read_bytes", "sum")])
        none = dict.fromkeys(("calls", "failed", "written_bytes", "time_ns", "self_ns"), 0)
        return [
            _as(SUMS, log=log, file=added["file"], call=added["call"], read_bytes=added["read_bytes_sum"], within_mpi=False, **none)
        ]

    def failures(self, log: int) -> list[pa.Table]:
        failed = pa.array(np.flatnonzero(self.result < 0))
        if not len(failed):
            return []
        error = self.events["error"].take(failed).cast(pa.string())
        table = pa.table({"call": self.call[failed], "file": self.file[failed], "error": error, "calls": self.result[failed]})
        added = table.group_by(["call", "file", "error"]).aggregate([("calls", "count")])
        columns = {
            "log": pa.repeat(pa.scalar(log, pa.int32()), len(added)),
            **{name: added[name] for name in ("call", "file", "error")},
        }
        return [pa.table({**columns, "calls": added["calls_count"]})]

    def slowest(self, log: int) -> list[dict[str, Any]]:
        lasted = np.where(np.isin(self.kind, ("read", "write", "metadata", "sync")), self.end - self.begin, -1)
        few = np.argpartition(lasted, -MOST_SLOWEST)[-MOST_SLOWEST:] if len(lasted) > MOST_SLOWEST else np.arange(len(lasted))
        return [
            {
                "log": log,
                "call": int(self.call[at]),
                "file": int(self.file[at]),
                "begin_s": int(self.begin[at]) / 1e9,
                "seconds": int(lasted[at]) / 1e9,
                "self_s": int(self.self_ns[at]) / 1e9,
                "bytes": int(self.moved[at]),
            }
            for at in few.tolist()
            if lasted[at] >= 0
        ]

    def io_ns(self) -> int:
        is_io = self._of_call(lambda call: call.place.is_io)
        return min(union_ns(self.begin[is_io], self.end[is_io]), int(self.self_ns[is_io].sum()))

    def accesses(self, log: int) -> tuple[pa.Table, pa.Table]:
        moves = np.flatnonzero((self.moved > 0) & np.isin(self.moves, (SYSTEM, BUFFERED, TRANSFER, LIBRARY)))
        table = pa.table({"file": self.file[moves], "call": self.call[moves], "bin": accesses.bins_of(self.moved[moves])})
        sizes = table.group_by(["file", "call", "bin"]).aggregate([("bin", "count")])
        least = np.int64(1) << np.minimum(_numbers(sizes["bin"]), 62)
        limits = {"least_bytes": least, "most_bytes": least + (least - 1)}
        found = _as(accesses.SIZES, log=log, file=sizes["file"], call=sizes["call"], accesses=sizes["bin_count"], **limits)
        where, stream = self.positions
        ordered = np.flatnonzero((self.moved > 0) & (where >= 0))
        ordered = ordered[np.argsort(self.begin[ordered], kind="stable")]
        layer = self._of_call(lambda call: call.place.layer)[ordered]
        of_layer = (self.kind[ordered] == "read") * 2 + (layer == "POSIX")
        streams = keys_of(self.file[ordered], of_layer, stream[ordered])
        orders = accesses.orders_of(streams, where[ordered], self.moved[ordered])
        table = pa.table({"file": self.file[ordered], "call": self.call[ordered], "order": orders})
        counted = table.group_by(["file", "call", "order"]).aggregate([("order", "count")])
        columns = {name: counted[name] for name in ("file", "call", "order")}
        return found, _as(accesses.ORDER, log=log, accesses=counted["order_count"], **columns)

    @cached_property
    def positions(self) -> tuple[Array, Array]:
        """The offset of each transfer of POSIX and MPI-IO, or -1: not known. Those with different numbers cannot be compared."""
        found, stream = np.full(len(self.call), -1, np.int64), np.full(len(self.call), -1, np.int64)
        offset = _numbers(self.events["offset"], -1)
        of_library = (self.moves == LIBRARY) & (offset >= 0)
        found[of_library] = offset[of_library]
        name = self._of_call(lambda call: call.name)
        seeks, worked = name == "lseek", self.result >= 0
        opens, copies = np.isin(name, ("open", "mkstemp")), np.isin(name, ("dup", "fcntl"))
        chosen = np.flatnonzero(((seeks | opens | copies) & worked) | (self.moves == SYSTEM))
        chosen = chosen[np.argsort(self.begin[chosen], kind="stable")]
        transfers, seeks, copies = (self.moves == SYSTEM)[chosen], seeks[chosen], copies[chosen]
        at = np.where(seeks, self.result[chosen], np.where(copies, -1, 0))
        advance = np.where(transfers & (offset[chosen] < 0), self.moved[chosen], 0)
        descriptor = np.where(copies, self.result[chosen], _numbers(self.events["descriptor"], -1)[chosen])
        offsets = np.where(transfers, offset[chosen], -1)
        positions, known = accesses.positions_of(descriptor, offsets, advance, ~transfers, at)
        found[chosen] = np.where(transfers, positions, -1)
        stream[chosen] = np.where(known, -1, descriptor)
        return found, stream


def _as(schema: pa.Schema, **columns: Any) -> pa.Table:
    """A table of the schema. A plain value is the same in all rows; a column that is left out is null."""
    rows = next(len(column) for column in columns.values() if hasattr(column, "__len__"))
    made = []
    for wanted in schema:
        value = columns.get(wanted.name)
        if not hasattr(value, "__len__"):
            made.append(pa.repeat(pa.scalar(value, wanted.type), rows))
        else:
            column = value if isinstance(value, pa.ChunkedArray | pa.Array) else pa.array(value)
            made.append(column.cast(wanted.type))
    return pa.table(made, schema=schema)


def _int64(column: Any) -> Any:
    """A damaged log has counts beyond 2^63: they become negative, and no error."""
    return column.cast(pa.int64(), safe=False)


def _numbers(column: Any, null: int = 0) -> Array:
    """A column of numbers as one array, with `null` for missing values."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return np.asarray(pc.fill_null(column, pa.scalar(null, column.type)) if column.null_count else column)


def _places(column: Any, names: Names) -> Array:
    """The places of a column's texts in `names`."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # no rows
        return np.empty(0, np.int32)
    places = np.array([*map(names.place, column.dictionary.to_pylist()), NO_NAME], np.int32)
    return places[_numbers(column.indices, -1)]
