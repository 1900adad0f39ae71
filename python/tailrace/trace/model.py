"""One model of a run, whichever tool recorded it: `Run.read(path)`."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.memory import memory_given_back
from tailrace.trace.accesses import ORDER, ORDERS, SIZES
from tailrace.trace.activity import Activity
from tailrace.trace.call_sums import ADDED, SUMS, Sums
from tailrace.trace.file_groups import VERBS, FileGroup, Member, Users, file_groups
from tailrace.trace.kept_calls import KeptCalls
from tailrace.trace.layers import BUFFERED, COUNTED, IO_KINDS, LAYERS, SYSTEM, TRANSFER, CallName
from tailrace.trace.row_sums import added_rows, joined_rows, sum_of
from tailrace.trace.run_facts import Mount, RunFacts, completed, distinct, facts_of_folder
from tailrace.trace.schema import Tables
from tailrace.trace.source_figures import SourceFigures
from tailrace.trace.table_parts import TableParts

Row = dict[str, Any]
# Figures that need calls: a benchmark's output has none.
OF_CALLS: tuple[str, ...] = (
    "layers",
    "layer_kinds",
    "calls",
    "files",
    "file_groups",
    "ranks_and_processes",
    "nodes",
    "directories",
    "file_systems",
)
OF_CALLS += ("system_and_buffered", "access_sizes", "access_order")
LARGE_EVENTS = 1_000_000  # giving memory back takes a time that grows with all that this process has
ALL_RANKS = "all ranks together"  # sums that the source has made over all ranks
NOT_KNOWN = "?"
COUNTED_UNKNOWN = {"self time of counted calls": "a counter does not record what lies within what; self times are without them"}


@dataclass(frozen=True)
class Share:
    """The part of the processes' time in which they were in I/O calls, and what these calls were. 0.25 is a quarter."""

    of_run: float | None  # None: `Run.unknown` has the reason
    kinds: Mapping[str, float | None]  # by IO_KINDS; their sum is `of_run`
    processes: int


@dataclass(frozen=True)
class Run:
    """The sums of a run's calls, by which all its figures are made. `select` returns the same run with some of its calls.

    A figure that the source cannot feed is None, and `unknown` has the reason."""

    facts: RunFacts
    processes: list[Row]
    files: list[str]
    calls: list[CallName]
    sums: pa.Table  # call_sums.SUMS
    sizes: pa.Table  # accesses.SIZES
    orders: pa.Table  # accesses.ORDER
    failed_calls: list[Row]
    slow_calls: list[Row]
    io_ns: Mapping[int, int]
    results: list[Row] = field(default_factory=list)
    messages: Mapping[str, list[str]] = field(default_factory=dict)  # "damaged", "partial"
    unknown: Mapping[str, str] = field(default_factory=dict)
    activity: Activity | None = None  # each call, where they were asked for; `select` does not choose among them

    @classmethod
    def read(cls, path: Path, each: Callable[[int, int], None] = lambda done, count: None, *, with_calls: bool = False) -> Run:
        """Reads a source one process at a time. `each` is called after each part. Raises what sources.read raises."""
        from tailrace.trace import sources

        return cls.of_parts(sources.read(path), path, each, with_calls=with_calls)

    @classmethod
    def of_parts(
        cls,
        parts: TableParts,
        path: Path | None = None,
        each: Callable[[int, int], None] = lambda done, count: None,
        *,
        with_calls: bool = False,
    ) -> Run:
        made = _Made(parts.sums_are_figures, with_calls)
        for done, part in enumerate(parts.parts, start=1):
            made.add(part)
            each(done, parts.count)
        facts = facts_of_folder(path) if path is not None and path.is_dir() else RunFacts()
        if parts.figures.mounts is not None:
            facts.mounts = [Mount(*mount) for mount in parts.figures.mounts]
        made.sums.add_figures(parts.figures)
        # Calls are joined next: then they are in memory twice.
        with memory_given_back(when=sum(row["events"] or 0 for row in made.processes) >= LARGE_EVENTS):
            return made.run(completed(facts, made.processes), parts.damaged, parts.figures)

    @property
    def hosts(self) -> list[str]:
        return distinct(row["host"] for row in self.processes)

    @property
    def ranks(self) -> list[int]:
        return sorted({row["rank"] for row in self.processes if row["rank"] is not None})

    def select(self, wanted: Callable[[Mapping[str, Any]], bool], *, with_mpi: bool = True) -> Run:
        """The run with the calls of some files and ranks. `wanted` is asked for each (file, rank): {"file": ..., "rank": ...}."""
        ranks = {row["log"]: row["rank"] for row in self.processes}
        files = [*self.files, None]

        def keep(table: pa.Table) -> pa.Table:
            pairs = table.group_by(["log", "file"]).aggregate([]).to_pylist() if len(table) else []
            chosen = [pair for pair in pairs if wanted({"file": files[pair["file"]], "rank": ranks.get(pair["log"])})]
            # Sums that the source has made over all ranks have no log.
            codes = {(-1 if pair["log"] is None else pair["log"]) << 32 | pair["file"] + 1 for pair in chosen}
            log = pc.fill_null(table["log"].cast(pa.int64()), -1)
            code = pc.add(pc.multiply(log, 1 << 32), pc.add(table["file"].cast(pa.int64()), 1))
            mask = pc.is_in(code, pa.array(sorted(codes), pa.int64()))
            if not with_mpi and "within_mpi" in table.column_names:
                mpi = [number for number, call in enumerate(self.calls) if call.place.layer == "MPI"]
                mask = pc.and_(mask, pc.invert(pc.or_(table["within_mpi"], pc.is_in(table["call"], pa.array(mpi, pa.int32())))))
            return table.filter(mask)

        def keep_row(row: Row) -> bool:
            return wanted({"file": files[row["file"]], "rank": ranks.get(row["log"])})

        return replace(
            self,
            sums=keep(self.sums),
            sizes=keep(self.sizes),
            orders=keep(self.orders),
            failed_calls=[row for row in self.failed_calls if keep_row(row)],
            slow_calls=[row for row in self.slow_calls if keep_row(row)],
        )

    def share(self) -> Share:
        """Of ranks where there are any: launchers and shells only wait for them."""
        chosen = [row for row in self.processes if not self.ranks or row["rank"] is not None]
        ended = [row for row in chosen if row["end_ns"] is not None]
        time_ns = sum(row["end_ns"] - row["begin_ns"] for row in ended)
        logs = pa.array([row["log"] for row in ended], pa.int32())
        of_them = pc.or_(pc.is_in(self.sums["log"], logs), pc.is_null(self.sums["log"]))
        known = pc.and_(of_them, pc.is_valid(self.sums["self_ns"]))
        kinds = self._by(lambda call: call.place.kind, self.sums.filter(known))
        self_ns = {kind: kinds[kind]["self_ns"] if kind in kinds else 0 for kind in IO_KINDS}
        if time_ns <= 0 or "calls" in self.unknown:
            return Share(None, dict.fromkeys(IO_KINDS), len(ended))
        every = sum(self_ns.values())
        io_ns = min(sum(self.io_ns.get(row["log"], 0) for row in ended), every) if self.io_ns else every
        every = every or 1
        if "time of syncs" in self.unknown:
            self_ns["sync"] = None
        return Share(
            io_ns / time_ns,
            {kind: None if value is None else io_ns / time_ns * value / every for kind, value in self_ns.items()},
            len(ended),
        )

    def by_layer(self) -> dict[str, Row]:
        """Each layer's bytes once: those of a stream are counted where the program moves them, and not again on their way to the
        kernel. Bytes of different layers are the same bytes, and not to be added; self times are."""
        found = self._by(lambda call: call.place.layer, self._without_transfers())
        return {layer: found[layer] for layer in LAYERS if layer in found}

    def by_layer_and_kind(self) -> dict[tuple[str, str], Row]:
        return self._by(lambda call: (call.place.layer, call.place.kind), self._without_transfers())

    def _without_transfers(self) -> pa.Table:
        """The sums, without the bytes of transfers between buffers and the kernel."""
        transfers = [number for number, call in enumerate(self.calls) if call.place.moves == TRANSFER]
        is_transfer = pc.is_in(self.sums["call"], pa.array(transfers, pa.int32()))
        table = self.sums
        for name in ("read_bytes", "written_bytes"):
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(name), pc.if_else(is_transfer, 0, table[name]))
        return table

    def by_call(self) -> dict[str, Row]:
        return self._by(lambda call: call.name)

    def by_file(self) -> dict[str, Row]:
        """Bytes are those of the program's calls: to and from the kernel, and to and from buffers of the C library."""
        totals = self._totals("file")
        return {self.files[number]: row for number, row in totals.items() if number >= 0}

    def by_process(self) -> dict[int | None, Row]:
        """By the number of the log; None: sums that the source has made over all ranks."""
        return self._totals("log")

    def by_rank(self) -> dict[str, Row]:
        texts = {row["log"]: _process_text(row) for row in self.processes}
        return joined_rows(self._totals("log"), lambda log: ALL_RANKS if log is None else texts.get(log, f"log {log}"))

    def by_host(self) -> dict[str, Row]:
        hosts = {row["log"]: row["host"] for row in self.processes}
        return joined_rows(self._totals("log"), lambda log: hosts.get(log) or NOT_KNOWN)

    def by_directory(self) -> dict[str, Row]:
        return joined_rows(self._totals("file"), lambda file: os.path.dirname(self.files[file]) if file >= 0 else None)

    def by_file_system(self) -> dict[str, Row] | None:
        if self.facts.mounts is None:
            return None

        def system_of(file: int) -> str | None:
            mount = self.facts.file_system_of(self.files[file]) if file >= 0 else None
            return f"{mount.folder} ({mount.kind})" if mount else None

        return joined_rows(self._totals("file"), system_of)

    def groups(self) -> list[tuple[FileGroup, Row]]:
        """Files whose names differ only in numbers, with their sums."""
        return list(self._groups)

    @cached_property
    def _groups(self) -> list[tuple[FileGroup, Row]]:
        totals = self.by_file()
        found = file_groups({name: users for name, users in self.users().items() if name in totals})
        return [(group, sum_of(totals[name] for name in group.files)) for group in found]

    def users(self) -> dict[str, Users]:
        """Who writes each file; of files that are not written, who reads or names them."""
        ranks = {row["log"]: row["rank"] for row in self.processes}
        added = added_rows(self.sums, ["file", "log"])
        file, log, read, written = (
            np.asarray(pc.fill_null(added[name].combine_chunks(), -1)) for name in ("file", "log", "read_bytes", "written_bytes")
        )
        verb = np.where(written > 0, 0, np.where(read > 0, 1, 2))
        order = np.lexsort((log, verb, file))
        order = order[file[order] >= 0]
        found = {}
        same: dict[bytes, frozenset[Member]] = {}  # files of the same processes
        for rows in np.split(order, np.flatnonzero(np.diff(file[order])) + 1) if len(order) else ():
            logs = log[rows[verb[rows] == verb[rows[0]]]]
            if logs.tobytes() not in same:
                same[logs.tobytes()] = frozenset(Member(number, ranks.get(number)) for number in logs.tolist())
            found[self.files[file[rows[0]]]] = Users(same[logs.tobytes()], VERBS[verb[rows[0]]])
        return found

    def system_and_buffered(self) -> dict[str, Row]:
        """Calls that reach the kernel, calls that end in a buffer of the C library, and transfers between both."""
        found = self._by(lambda call: call.place.moves)
        return {name: found[name] for name in (SYSTEM, BUFFERED, TRANSFER) if name in found}

    def access_sizes(self) -> list[Row]:
        """The number of accesses of each size, by layer and direction."""
        return self._accesses(self.sizes, ["least_bytes", "most_bytes"])

    def access_order(self) -> list[Row]:
        rows = self._accesses(self.orders, ["order"])
        return [{**row, "order": ORDERS[row["order"]]} for row in rows]

    def failures(self) -> list[Row] | None:
        if {"failures", "calls"} & self.unknown.keys():
            return None
        return [self._named(row) for row in sorted(self.failed_calls, key=lambda row: -row["calls"])]

    def slowest(self) -> list[Row] | None:
        if {"slowest", "calls"} & self.unknown.keys():
            return None
        return [self._named(row) for row in self.slow_calls]

    def _named(self, row: Row) -> Row:
        file = self.files[row["file"]] if row["file"] >= 0 else None
        rank = next((process["rank"] for process in self.processes if process["log"] == row["log"]), None) if "log" in row else None
        return {**row, "call": self.calls[row["call"]].name, "file": file, "rank": rank}

    def _accesses(self, table: pa.Table, keys: list[str]) -> list[Row]:
        added = table.group_by(["call", *keys]).aggregate([("accesses", "sum")]).to_pylist()
        found: dict[tuple[Any, ...], int] = defaultdict(int)
        for row in added:
            place = self.calls[row["call"]].place
            found[place.layer, place.moves, place.kind, *(row[key] for key in keys)] += row["accesses_sum"]
        names = ("layer", "moves", "kind", *keys)
        ordered = sorted(found.items(), key=lambda item: tuple((value is None, value) for value in item[0]))
        return [{**dict(zip(names, key, strict=True)), "accesses": count} for key, count in ordered]

    def _by(self, key_of: Callable[[CallName], Any], sums: pa.Table | None = None) -> dict[Any, Row]:
        """Sums of all bytes of the calls: those of layers that make each other are not to be added."""
        added = added_rows(self.sums if sums is None else sums, ["call"])
        return joined_rows({row.pop("call"): row for row in added.to_pylist()}, lambda call: key_of(self.calls[call]))

    def _totals(self, key: str) -> dict[Any, Row]:
        """Sums of bytes that count once: those of the program's calls, and those between buffers and the kernel in columns of their
        own."""
        moves = (
            np.array([call.place.moves for call in self.calls] or [""])[np.asarray(self.sums["call"])]
            if len(self.sums)
            else np.array([], str)
        )
        once, system = (pa.array(np.isin(moves, chosen)) for chosen in ((SYSTEM, BUFFERED), (SYSTEM, TRANSFER)))
        columns = {name: self.sums[name] for name in self.sums.column_names}
        for name in ("read_bytes", "written_bytes"):
            columns[f"system_{name}"] = pc.if_else(system, self.sums[name], 0)
            columns[name] = pc.if_else(once, self.sums[name], 0)
        added = added_rows(pa.table(columns), [key], (*ADDED, "system_read_bytes", "system_written_bytes"))
        return {row.pop(key): row for row in added.to_pylist()}

    def limited(self) -> list[str]:
        """How many calls have no times of their own, and why. All totals contain them."""
        merged = sum(row["merged_calls"] or 0 for row in self.processes)
        texts = [f"{merged:,} calls are merged into records of like calls: half of the budget was used"] if merged else []
        dropped: dict[str, int] = {}
        for row in self.processes:
            if row["dropped_events"]:
                why = row["counted_because"] or "the reason is not known"
                dropped[why] = dropped.get(why, 0) + row["dropped_events"]
        return texts + [f"{count:,} calls are only counted by file and call: {why}" for why, count in dropped.items()]

    def to_json(self) -> Row:
        """All figures."""
        figures_of_calls = dict.fromkeys(OF_CALLS) if "calls" in self.unknown else {}
        share = self.share()
        systems = self.by_file_system()
        return {
            "command": self.facts.command,
            "begin_real_ns": self.facts.begin_real_ns,
            "duration_s": self.facts.duration_s,
            "status": self.facts.status,
            "hosts": self.hosts,
            "ranks": len(self.ranks),
            "machine": self.facts.machine,
            "io_share": {"of_run": share.of_run, **share.kinds, "processes": share.processes},
            "unknown": {**self.facts.unknown, **self.unknown},
            "processes": self.processes,
            "layers": {name: figures(row) for name, row in self.by_layer().items()},
            "layer_kinds": [
                {"layer": layer, "kind": kind, **figures(row)} for (layer, kind), row in self.by_layer_and_kind().items()
            ],
            "calls": {name: figures(row) for name, row in self.by_call().items()},
            "files": {name: figures(row) for name, row in self.by_file().items()},
            "file_groups": [_group_json(group, row) for group, row in self.groups()],
            "ranks_and_processes": {name: figures(row) for name, row in self.by_rank().items()},
            "nodes": {name: figures(row) for name, row in self.by_host().items()},
            "directories": {name: figures(row) for name, row in self.by_directory().items()},
            "file_systems": None if systems is None else {name: figures(row) for name, row in systems.items()},
            "system_and_buffered": {name: figures(row) for name, row in self.system_and_buffered().items()},
            "access_sizes": self.access_sizes(),
            "access_order": self.access_order(),
            "failures": self.failures(),
            "slowest": self.slowest(),
            "results": self.results,
            "dropped": sum(row["dropped_events"] for row in self.processes),
            "limited": self.limited(),
            **self.messages,
            **figures_of_calls,
        }


def calls_of(path: Path) -> Activity:
    """Each call of a recorded run. Raises what Run.read raises."""
    activity = Run.read(path, with_calls=True).activity
    assert activity is not None
    return activity


class _Made:
    """A run while its parts are read. The events of a process may come in several parts."""

    def __init__(self, has_sums: bool, with_calls: bool = False) -> None:
        """`has_sums`: the source has sums of its own, of the same calls as its events and counters."""
        self.has_sums = has_sums
        self.kept = KeptCalls() if with_calls else None
        self.sums = Sums(self.kept)
        self._counted_calls = 0
        self.processes: list[Row] = []
        self.results: list[Row] = []
        self._log: int | None = None
        self._events: list[pa.Table] = []

    def add(self, part: Tables) -> None:
        self.processes += map(_process, part["processes"].to_pylist())
        self.results += part["results"].to_pylist()
        self._add_events(part["events"])
        self._add_counters(part["counters"])
        if len(part["merged"]):
            self.sums.add_merged(part["merged"])

    def _add_events(self, events: pa.Table) -> None:
        logs = np.asarray(events["log"])
        borders = [0, *(np.flatnonzero(logs[1:] != logs[:-1]) + 1).tolist(), len(logs)]
        for first, last in itertools.pairwise(borders):
            if first == last:
                continue
            if logs[first] != self._log:
                self._finish()
                self._log = int(logs[first])
            self._events.append(events.slice(first, last - first))

    def _finish(self) -> None:
        if self._events and self._log is not None:
            events = pa.concat_tables(self._events).unify_dictionaries()
            add = self.sums.add_slowest if self.has_sums else self.sums.add_events
            add(self._log, events)
        self._events = []

    def _add_counters(self, counters: pa.Table) -> None:
        self._counted_calls += pc.sum(counters["calls"]).as_py() or 0
        if len(counters) and not self.has_sums:
            self.sums.add_counters(counters)

    def run(self, facts: RunFacts, damaged: Sequence[str], figures: SourceFigures) -> Run:
        self._finish()
        sums = self.sums
        failures = pa.concat_tables(sums.failures).to_pylist() if sums.failures else []
        return Run(
            facts,
            self.processes,
            sums.files.texts,
            sums.calls.texts,
            pa.concat_tables([SUMS.empty_table(), *sums.sums]),
            pa.concat_tables([SIZES.empty_table(), *sums.sizes]),
            pa.concat_tables([ORDER.empty_table(), *sums.orders]),
            sorted(failures, key=lambda row: -row["calls"]),
            sums.slowest,
            {log: sums.io_ns.get(log, 0) + sums.summed_io_ns.get(log, 0) for log in {*sums.io_ns, *sums.summed_io_ns}},
            self.results,
            {"damaged": list(damaged), "partial": list(figures.partial)},
            {**figures.unknown, **(COUNTED_UNKNOWN if self._has_counted() else {})},
            self._activity(),
        )

    def _activity(self) -> Activity | None:
        if self.kept is None:
            return None
        return self.kept.activity(self.processes, self.sums.calls.texts, self.sums.files.texts, self._counted_calls)

    def _has_counted(self) -> bool:
        return any(call.place.layer == COUNTED for call in self.sums.calls.texts)


def _process(row: Row) -> Row:
    about = (
        "log",
        "host",
        "process",
        "parent",
        "rank",
        "ranks",
        "program",
        "command",
        "events",
        "merged_calls",
        "dropped_events",
        "counted_because",
        "begin_ns",
        "end_ns",
        "begin_real_ns",
    )
    ended = row["end_ns"] is not None
    seconds = (row["end_ns"] - row["begin_ns"]) / 1e9 if ended else None
    return {**{key: row[key] for key in about}, "ended": ended, "seconds": seconds}


def _process_text(row: Row) -> str:
    return f"rank {row['rank']}" if row["rank"] is not None else f"process {row['process']} of {row['host']}"


def figures(row: Row) -> Row:
    """A row of sums in the units of reports. `busy_s` is self time: sums of it count nothing twice."""
    seconds = {"busy_s": row["self_ns"], "time_s": row["time_ns"], "slowest_s": row["most_ns"]}
    kept = {name: value for name, value in row.items() if not name.endswith("_ns")}
    return {**kept, **{name: None if value is None else value / 1e9 for name, value in seconds.items()}}


def _group_json(group: FileGroup, row: Row) -> Row:
    users = [asdict(member) for member in group.users]
    return {
        "name": group.name,
        "files": len(group.files),
        "sharing": group.sharing,
        "users": users,
        "verb": group.verb,
        **figures(row),
    }
