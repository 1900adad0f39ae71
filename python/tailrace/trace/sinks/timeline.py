"""Calls as timelines. Viewers of traces show calls that begin and end like brackets, one within the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa


class Place(NamedTuple):
    """A timeline of a thread. A thread has further lanes only where its calls overlap, as in a Darshan log."""

    log: int
    thread: int
    lane: int = 0
    is_merged: bool = False  # the lanes of merged records, which lie beside those of calls

    def name(self) -> str:
        kind = "merged calls of " if self.is_merged else ""
        return f"{kind}thread {self.thread}" + (f", overlapping {self.lane}" if self.lane else "")


@dataclass
class Lane:
    """A stack of calls that have begun."""

    place: Place
    begun: list[tuple[int, int]] = field(default_factory=list)  # end, row; the last one is on top

    def ends_until(self, time_ns: int) -> Iterator[tuple[Place, int, bool]]:
        while self.begun and self.begun[-1][0] <= time_ns:
            yield self.place, self.begun.pop()[1], False

    def has_room_for(self, end_ns: int) -> bool:
        return not self.begun or end_ns <= self.begun[-1][0]


def valid_events(events: pa.Table) -> pa.Table:
    """The events without those that have impossible times because of damage. Unknown threads become 0. Of merged records, too: they
    last until the end of their last call."""
    if "last_ns" in events.column_names:
        events = events.rename_columns(["end_ns" if name == "last_ns" else name for name in events.column_names])
    begin, end = times_of(events)
    kept = events.filter(pa.array((begin >= 0) & (begin <= end)))
    at = kept.schema.get_field_index("thread")
    return kept.set_column(at, "thread", kept["thread"].fill_null(0))


def values_of(events: pa.Table, names: Iterable[str]) -> dict[str, list[Any]]:
    """Columns as lists. A text of many rows is in memory once."""
    return {name: _values(events[name].combine_chunks()) for name in names}


def _values(column: pa.Array) -> list[Any]:
    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    texts = [*column.dictionary.to_pylist(), None]
    return [texts[place] for place in column.indices.fill_null(-1).to_pylist()]


def times_of(events: pa.Table) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return events["begin_ns"].to_numpy(), events["end_ns"].to_numpy()


def begins_and_ends(events: pa.Table, *, is_merged: bool = False) -> Iterator[tuple[Place, int, bool]]:
    """(timeline, row, whether it begins) in the order of time on each timeline. `events` come from valid_events."""
    begins, ends = times_of(events)
    logs, threads = events["log"].to_numpy(), events["thread"].to_numpy()
    # Of two calls that begin together the longer one contains the other.
    order = np.lexsort((-ends, begins, threads, logs))
    breaks = np.flatnonzero((np.diff(logs[order]) != 0) | (np.diff(threads[order]) != 0)) + 1
    for rows in np.split(order, breaks):
        if len(rows):
            yield from _begins_and_ends_of_thread(
                Place(int(logs[rows[0]]), int(threads[rows[0]]), 0, is_merged), rows, begins, ends
            )


def _begins_and_ends_of_thread(place: Place, rows: Any, begins: Any, ends: Any) -> Iterator[tuple[Place, int, bool]]:
    lanes = [Lane(place)]
    for row, begin, end in zip(rows.tolist(), begins[rows].tolist(), ends[rows].tolist(), strict=True):
        for lane in lanes:
            yield from lane.ends_until(begin)
            if lane.has_room_for(end):
                break
        else:
            lane = Lane(place._replace(lane=len(lanes)))
            lanes.append(lane)
        yield lane.place, row, True
        lane.begun.append((end, row))
    for lane in lanes:
        yield from lane.ends_until(2**63)
