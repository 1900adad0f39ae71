"""What the timeline of a run's page draws: density for all calls, and the longest calls one by one, packed as text for a page."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.plain_text import plain
from tailrace.quantities import count_text
from tailrace.report.run_charts import KINDS, kind_of, rows_of, span, time_in
from tailrace.trace.activity import NONE, Activity, Array

LANES: Mapping[str, str] = {
    "netCDF": "HDF5, netCDF",
    "PnetCDF": "HDF5, netCDF",
    "HDF5": "HDF5, netCDF",
    "MPI-IO": "MPI-IO",
    "MPI": "MPI",
    "stdio": "stdio",
    "POSIX": "POSIX",
}
MEANINGS = (*KINDS, "wait")
WAIT = len(KINDS)
MOST_ROWS, MOST_CELLS, MOST_BINS = 256, 600_000, 2000
EVERY_CALL = 60_000  # a run with at most so many calls has them all one by one
LONGEST, OF_ROWS, OF_FILES, MOST_FILES = 15_000, 30_000, 15_000, 100  # else: the longest of all, of each row, of each large file


@dataclass(frozen=True)
class Timeline:
    packed: str  # base64 of zlib: a line of JSON, then the arrays that it names
    text: str
    exact: int  # calls that are drawn one by one
    every: int  # calls of these rows


def timeline_of(activity: Activity) -> Timeline | None:
    rows = rows_of(activity)[:MOST_ROWS]
    lane, meaning = _lanes(activity)
    row = np.full(len(activity.processes), NONE, np.int32)
    row[rows] = np.arange(len(rows))
    shown = np.flatnonzero((lane != NONE) & (row[activity.process] != NONE) & ((meaning == WAIT) | activity.on_files))
    if not len(shown):
        return None
    row_of = row[activity.process[shown]]
    used = np.unique(lane[shown])
    lane_of = np.searchsorted(used, lane[shown])
    begin, end = span(activity)
    bins = int(min(MOST_BINS, max(100, MOST_CELLS // (len(rows) * len(used)))))
    edges = np.linspace(begin, end, bins + 1)
    shares, kinds = _density(activity, shown, row_of, lane_of, meaning[shown], (len(rows), len(used), bins), edges)
    exact = _exact(activity, shown, row_of)
    calls = shown[exact]
    files, file_places = np.unique(activity.file[calls], return_inverse=True)
    every_file = np.bincount(activity.file[shown] + 1, activity.count[shown], minlength=len(activity.files) + 1)
    scale = (2**32 - 1) / (end - begin)
    arrays = {
        "shares": shares,
        "kinds": kinds,
        "begin": ((activity.begin[calls] - begin) * scale).astype(np.uint32),
        "seconds": activity.seconds[calls].astype(np.float32),
        "bytes": activity.moved[calls].astype(np.float32),
        "file": file_places.reshape(-1).astype(np.uint32),
        "call": activity.call[calls].astype(np.uint16),
        "row": row_of[exact].astype(np.uint16),
        "lane": lane_of[exact].astype(np.uint8),
        "kind": meaning[calls].astype(np.uint8),
        "file_calls": every_file[files + 1].astype(np.uint32),
    }
    layers = list(dict.fromkeys(LANES.values()))
    every = int(activity.count[shown].sum())
    of_processes = [activity.processes[place] for place in rows]
    about = {
        "duration": end - begin,
        "what": "rank" if activity.ranks else "process",
        "rows": [of.rank if activity.ranks else of.process for of in of_processes],
        "lanes": [layers[number] for number in used.tolist()],
        "meanings": MEANINGS,
        "bins": bins,
        "calls": [call.name for call in activity.calls],
        "files": [plain(activity.files[file]) if file != NONE else "" for file in files.tolist()],
        "every": every,
    }
    return Timeline(_packed(about, arrays), _text(activity, rows, calls, shown), len(calls), every)


def _lanes(activity: Activity) -> tuple[Array, Array]:
    """For each call: the number of its lane, or NONE, and the index of its meaning in MEANINGS."""
    lanes = list(dict.fromkeys(LANES.values()))
    is_wait = activity.in_group("collective", merged=True)
    lane = activity.of_call(lambda call: lanes.index(LANES[call.place.layer]) if call.place.layer in LANES else NONE).astype(
        np.int8
    )
    meaning = np.where(is_wait, WAIT, kind_of(activity)).astype(np.int8)
    lane[~is_wait & (meaning == len(KINDS))] = NONE  # memory, processes, messages
    return lane, meaning


def _density(
    activity: Activity, shown: Array, row: Array, lane: Array, meaning: Array, shape: tuple[int, int, int], edges: Array
) -> tuple[Array, Array]:
    """For each row, lane and bin: the share of time in calls, scaled to 255, and the meaning with most of this time."""
    shares, kinds = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    width = edges[1] - edges[0]
    code = (row.astype(np.int64) * shape[1] + lane) * len(MEANINGS) + meaning
    order = np.argsort(code, kind="stable")
    different, starts = np.unique(code[order], return_index=True)
    most = np.zeros(shape)
    total = np.zeros(shape)
    for number, first, last in zip(different.tolist(), starts.tolist(), [*starts[1:].tolist(), len(code)], strict=True):
        place, of_meaning = divmod(number, len(MEANINGS))
        at = divmod(place, shape[1])
        calls = shown[order[first:last]]
        spent = time_in(activity.begin[calls], activity.end[calls], edges) / width
        more = spent > most[at]
        kinds[at][more] = of_meaning
        most[at] = np.maximum(most[at], spent)
        total[at] += spent
    some = total > 0
    shares[some] = np.maximum(np.minimum(total[some], 1) * 255, 1).astype(np.uint8)
    return shares, kinds


def _exact(activity: Activity, shown: Array, row: Array) -> Array:
    """Positions in `shown` of the calls that are drawn one by one, ordered by beginning."""
    if len(shown) <= EVERY_CALL:
        chosen = np.arange(len(shown))
    else:
        seconds, file = activity.seconds[shown], activity.file[shown]
        order = np.argsort(-seconds, kind="stable")
        picked = np.zeros(len(shown), bool)
        picked[order[:LONGEST]] = True
        picked[_first_of_each(row, order, OF_ROWS // (int(row.max()) + 1))] = True
        moved = np.bincount(file + 1, activity.moved[shown], minlength=2)
        large = np.argsort(-moved[1:], kind="stable")[:MOST_FILES]
        of_large = order[np.isin(file[order], large)]
        picked[_first_of_each(file, of_large, OF_FILES // MOST_FILES)] = True
        chosen = np.flatnonzero(picked)
    return np.asarray(chosen[np.argsort(activity.begin[shown[chosen]], kind="stable")])


def _first_of_each(group: Array, order: Array, most: int) -> Array:
    """The first `most` elements of `order` in each group."""
    of = group[order]
    by_group = np.argsort(of, kind="stable")
    _, starts, counts = np.unique(of[by_group], return_index=True, return_counts=True)
    place = np.arange(len(of)) - np.repeat(starts, counts)
    return np.asarray(order[by_group[place < most]])


def _text(activity: Activity, rows: list[int], calls: Array, shown: Array) -> str:
    every = len(rows_of(activity))
    of_rows = f" {len(rows)} of {every} rows are drawn." if len(rows) < every else ""
    if len(calls) == len(shown):
        return f"All {count_text(len(calls))} calls are drawn one by one where they are wide enough.{of_rows}"
    part = activity.seconds[calls].sum() / max(activity.seconds[shown].sum(), 1e-12)
    text = (
        f"{count_text(len(calls))} of {count_text(len(shown))} calls can be drawn one by one: the {count_text(LONGEST)} longest, "
    )
    text += f"{OF_ROWS // len(rows)} of each row, and {OF_FILES // MOST_FILES} of each of the {MOST_FILES} files with most bytes. "
    return f"{text}They have {100 * part:.0f} % of the time in calls. The others are density.{of_rows}"


def _packed(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    listed = [[name, array.dtype.str.lstrip("<|"), int(array.size)] for name, array in arrays.items()]
    header = json.dumps({**about, "arrays": listed}, separators=(",", ":")).encode()
    header += b" " * (-(len(header) + 1) % 8) + b"\n"
    parts = [header]
    for array in arrays.values():
        content = np.ascontiguousarray(array).tobytes()
        parts.append(content + bytes(-len(content) % 8))
    return base64.b64encode(zlib.compress(b"".join(parts), 6)).decode()
