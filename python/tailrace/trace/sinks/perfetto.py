"""A trace for Perfetto (ui.perfetto.dev): a track for each process, below it a track for each thread, and calls as slices. The
merged calls of a thread have a track of their own: a slice for each record, from its first call to its last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from tailrace.trace.optional import import_optional
from tailrace.trace.schema import Tables
from tailrace.trace.sinks.timeline import Place, begins_and_ends, valid_events, values_of

SUFFIX = ".pftrace"
STORED_TABLES = ("events", "merged", "processes")
ARGUMENTS = (
    "file",
    "other_name",
    "descriptor",
    "offset",
    "bytes",
    "result",
    "error",
    "detail",
)  # of a slice, where they are not null
MERGED_ARGUMENTS = ("calls", "file", "other_name", "bytes", "moved", "busy_ns", "least_ns", "most_ns", "sizes", "times", "error")
SEQUENCE = 1  # all packets are of one writer
FLUSH_PACKETS = 4096


def write(parts: Iterable[Tables], out: Path) -> None:
    proto = import_optional("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    with out.open("wb") as file:
        writer = Writer(proto, file)
        for part in parts:
            for process in part["processes"].to_pylist():
                writer.begin_process(process)
            writer.add_events(valid_events(part["events"]))
            writer.add_merged(valid_events(part["merged"]))
        writer.flush()


class Writer:
    """Writes packets one after the other. Each text is stored once, then used by its number: Perfetto's interning."""

    def __init__(self, proto: Any, file: IO[bytes]) -> None:
        self.proto, self.file = proto, file
        self.trace = proto.Trace()
        self.interned: dict[tuple[str, str], int] = {}
        self.tracks: dict[Place | int, int] = {}  # of threads, and of processes by their log
        first = self.packet()
        first.sequence_flags = proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self.has_clock = False

    def packet(self) -> Any:
        if len(self.trace.packet) >= FLUSH_PACKETS:
            self.flush()
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.sequence_flags = self.proto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return packet

    def flush(self) -> None:
        """Writes the packets so far. Traces one after the other are a valid trace. A new object each time, because a cleared one
        keeps its memory."""
        self.file.write(self.trace.SerializeToString())
        self.trace = self.proto.Trace()

    def begin_process(self, process: dict[str, Any]) -> None:
        if not self.has_clock:
            self.set_clock(process["begin_real_ns"] - process["begin_ns"])
        rank = "" if process["rank"] is None else f"rank {process['rank']}: "
        number = "" if process["process"] is None else f" {process['process']}"
        self.add_track(process["log"], f"{rank}{process['program']}{number} ({process['host']})", order=process["rank"])

    def set_clock(self, begin_real_ns: int) -> None:
        """Stores the time of day of the run's beginning, which is time 0 in the viewer."""
        self.has_clock = True
        clocks = self.packet().clock_snapshot.clocks
        for clock, time_ns in ((self.proto.BUILTIN_CLOCK_BOOTTIME, 0), (self.proto.BUILTIN_CLOCK_REALTIME, begin_real_ns)):
            clocks.add(clock_id=clock, timestamp=max(0, time_ns))

    def add_track(self, key: Place | int, name: str, parent: int | None = None, order: int | None = None) -> int:
        track = self.tracks[key] = len(self.tracks) + 1
        descriptor = self.packet().track_descriptor
        descriptor.uuid, descriptor.name = track, name
        if parent is not None:
            descriptor.parent_uuid = parent
        if order is not None:
            descriptor.sibling_order_rank = order
        return track

    def track_of(self, place: Place) -> int:
        if place not in self.tracks:
            process = self.tracks.get(place.log) or self.add_track(place.log, f"process {place.log}")
            self.add_track(place, place.name(), parent=process)
        return self.tracks[place]

    def add_events(self, events: pa.Table) -> None:
        columns = values_of(events, ("call", "group", "begin_ns", "end_ns", *ARGUMENTS))
        self.add_slices(begins_and_ends(events), columns, ARGUMENTS)

    def add_merged(self, records: pa.Table) -> None:
        columns = values_of(records, ("call", "group", "begin_ns", "end_ns", *MERGED_ARGUMENTS))
        columns["call"] = [f"{calls} merged calls of {call}" for calls, call in zip(columns["calls"], columns["call"], strict=True)]
        self.add_slices(begins_and_ends(records, is_merged=True), columns, MERGED_ARGUMENTS)

    def add_slices(
        self, bounds: Iterator[tuple[Place, int, bool]], columns: Mapping[str, list[Any]], arguments: Sequence[str]
    ) -> None:
        kinds = self.proto.TrackEvent
        for place, row, begins in bounds:
            track = self.track_of(place)
            packet = self.packet()
            packet.timestamp = columns["begin_ns" if begins else "end_ns"][row]
            slice_ = packet.track_event
            slice_.track_uuid = track
            slice_.type = kinds.TYPE_SLICE_BEGIN if begins else kinds.TYPE_SLICE_END
            if begins:
                slice_.name_iid = self.intern(packet, "event_names", columns["call"][row])
                slice_.category_iids.append(self.intern(packet, "event_categories", columns["group"][row]))
                self.add_arguments(packet, ((name, columns[name][row]) for name in arguments))

    def add_arguments(self, packet: Any, arguments: Iterator[tuple[str, Any]]) -> None:
        for name, value in arguments:
            if value is None:
                continue
            argument = packet.track_event.debug_annotations.add(name_iid=self.intern(packet, "debug_annotation_names", name))
            if isinstance(value, str):
                argument.string_value_iid = self.intern(packet, "debug_annotation_string_values", value)
            elif value < 0:
                argument.int_value = value
            else:
                argument.uint_value = value

    def intern(self, packet: Any, kind: str, text: str) -> int:
        known = self.interned.get((kind, text))
        if known is None:
            known = self.interned[kind, text] = len(self.interned) + 1
            is_bytes = kind == "debug_annotation_string_values"
            field = {"str": text.encode()} if is_bytes else {"name": text}
            getattr(packet.interned_data, kind).add(iid=known, **field)
        return known
