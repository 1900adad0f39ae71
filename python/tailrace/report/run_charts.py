"""The charts of a run: what each shows is computed here, and drawn by svg.py."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from tailrace.plain_text import plain
from tailrace.quantities import bytes_text, count_text, seconds_text
from tailrace.report import svg
from tailrace.report.svg import Chart
from tailrace.trace.activity import NONE, Activity, Array
from tailrace.trace.layers import BUFFERED, LIBRARY, SYSTEM
from tailrace.trace.model import Run
from tailrace.trace.phases import Phases

COLUMNS, MOST_ROWS, MOST_PHASES, MOST_OFFSET_FILES, EXACT_ACCESSES, BANDS = 240, 64, 16, 3, 800, 32
READ, WRITE = ("read", "stdio_read"), ("write", "stdio_write")
KINDS = ("read", "write", "metadata", "sync")  # kinds of calls, which are also the names of their colours


def charts_of(run: Run, phases: Phases | None = None) -> list[Chart]:
    activity = run.activity
    found: list[Chart | None] = [phase_bars(phases) if phases else None]
    if activity is not None and len(activity.begin):
        found += [heat_map(activity), bandwidth(activity), creates(activity), concurrency(activity)]
    found.append(sizes(run))
    if activity is not None and len(activity.begin):
        found += [latencies(activity), *offset_maps(activity)]
    return [chart for chart in found if chart is not None]


def span(activity: Activity) -> tuple[float, float]:
    begin = min(process.begin for process in activity.processes)
    return begin, max(begin + activity.duration_s, begin + 1e-9)


def rows_of(activity: Activity) -> list[int]:
    """The processes that get a row: those of ranks; if there are none, all, those with most calls first."""
    if activity.ranks:
        return activity.ranks
    calls = np.bincount(activity.process, activity.count, minlength=len(activity.processes))
    return [int(place) for place in np.argsort(-calls, kind="stable")]


def kind_of(activity: Activity) -> Array:
    """For each call: the index of its kind in KINDS, or len(KINDS) for any other kind."""
    return activity.of_call(lambda call: KINDS.index(call.place.kind) if call.place.kind in KINDS else len(KINDS)).astype(np.int8)


def time_in(begins: Array, ends: Array, edges: Array) -> Array:
    """Seconds of calls in each interval between edges. Overlapping calls each count in full."""

    def until(of: Array) -> Array:
        of = np.sort(of)
        before = np.concatenate(([0.0], np.cumsum(of - edges[0])))
        place = np.searchsorted(of, edges)
        return np.asarray(place * (edges - edges[0]) - before[place])

    return np.asarray(np.maximum(np.diff(until(begins) - until(ends)), 0)) if len(begins) else np.zeros(len(edges) - 1)


def busy_shares(activity: Activity, process: int, edges: Array) -> Array:
    """For each interval between edges: the fraction of it in which the process was in I/O calls, from 0 to 1."""
    low, high = activity.rows_of(process)
    chosen = np.flatnonzero(activity.is_own[low:high]) + low
    begins, ends = activity.begin[chosen], np.maximum.accumulate(activity.end[chosen]) if len(chosen) else activity.end[chosen]
    begins = np.maximum(begins, np.concatenate(([-np.inf], ends[:-1]))) if len(chosen) else begins  # threads count once
    return np.asarray(np.clip(time_in(begins, np.maximum(ends, begins), edges) / np.diff(edges), 0, 1))


def bytes_moved(activity: Activity, groups: Sequence[str], edges: Array) -> Array:
    """In each interval between edges: the bytes of calls that end in it, whether the program or a library made them."""
    calls = activity.in_group(*groups, merged=True) & activity.on_files & (activity.result > 0)
    return np.asarray(np.histogram(activity.end[calls], edges, weights=activity.result[calls].astype(float))[0])


def in_flight(activity: Activity, kind: str, edges: Array) -> Array:
    """In each interval between edges: how many of the program's own calls of this kind were under way at once, on average."""
    calls = activity.is_own & (kind_of(activity) == KINDS.index(kind))
    return np.asarray(time_in(activity.begin[calls], activity.end[calls], edges) / np.diff(edges))


def is_timed(activity: Activity) -> Array:
    """The program's own calls. A transfer between a buffer and its file has no time of its own: it is in that of another call."""
    return activity.is_own & ~activity.in_group("fill", "flush", merged=True)


def latency_bins(activity: Activity, kind: str) -> Array:
    """The number of the program's own calls of this kind by time: bin k has those of 2^k to 2^(k+1) ns."""
    calls = is_timed(activity) & (kind_of(activity) == KINDS.index(kind))
    each = np.maximum(activity.seconds[calls] / activity.count[calls] * 1e9, 1)
    return np.bincount(np.floor(np.log2(each)).astype(int), activity.count[calls], minlength=40)


def size_bins(run: Run, kind: str) -> dict[int, int]:
    """The least bytes of each bin of sizes, with its number of accesses: to the kernel and to buffers of the C library. If there
    are none: those of libraries."""
    rows = [row for row in run.access_sizes() if row["kind"] == kind and row["accesses"]]
    wanted = [row for row in rows if row["moves"] in (SYSTEM, BUFFERED)] or [row for row in rows if row["moves"] == LIBRARY]
    found: dict[int, int] = {}
    for row in wanted:
        found[row["least_bytes"]] = found.get(row["least_bytes"], 0) + row["accesses"]
    return found


def phase_bars(phases: Phases) -> Chart | None:
    chosen = sorted(sorted(phases.phases, key=lambda phase: -phase.seconds)[:MOST_PHASES], key=phases.phases.index)
    if not chosen:
        return None
    rows = []
    for phase in chosen:
        io_s = min(phase.io_s, phase.seconds)
        wait_s = min(phase.wait_s, phase.seconds - io_s)
        rows.append((plain(phase.name), {"compute": max(phase.seconds - io_s - wait_s, 0.0), "io": io_s, "wait": wait_s}))
    each = f" The longest {len(chosen)} of {len(phases.phases)}." if len(chosen) < len(phases.phases) else ""
    text = f"Seconds of a rank, on average: outside of calls on files (compute), in them (io), and in collectives (wait).{each}"
    return Chart("phases", "Phases", text, svg.stacked_bars(rows, ("compute", "io", "wait")))


def heat_map(activity: Activity) -> Chart:
    """A row for each rank, or each process where there are no ranks; rows are joined where they are many."""
    chosen = rows_of(activity)
    joined = -(-len(chosen) // MOST_ROWS)
    edges = np.linspace(*span(activity), COLUMNS + 1)
    row_px = 14 if len(chosen) <= MOST_ROWS // 2 else 7
    body, figures = [], []
    for row, first in enumerate(range(0, len(chosen), joined)):
        members = chosen[first : first + joined]
        shares = np.mean([busy_shares(activity, process, edges) for process in members], axis=0)
        body += svg.cells(shares, "io", row * row_px, row_px - 1)
        of_row = activity.processes[members[0]]
        name = str(of_row.rank if activity.ranks else of_row.process)
        figures.append([name, float(f"{shares.mean():.4g}")])
        if row * row_px % 28 == 0:
            body.append(f'<text x="{svg.LEFT - 6}" y="{row * row_px + 11}" text-anchor="end">{escape(name)}</text>')
    height = row_px * -(-len(chosen) // joined)
    what = "rank" if activity.ranks else "process"
    each = f" Each row is the mean of {joined}." if joined > 1 else ""
    text = f"A row for each {what}; time goes from left to right. The darker, the larger the part of the time in I/O calls.{each}"
    body.append(svg.time_axis(height, activity.duration_s))
    return Chart("heat", f"When each {what} was in I/O", text, svg.svg(body, height + 24, figures))


def bandwidth(activity: Activity) -> Chart | None:
    edges = np.linspace(*span(activity), COLUMNS + 1)
    scale = np.diff(edges) * 2**20
    lines = {"write": bytes_moved(activity, WRITE, edges) / scale, "read": bytes_moved(activity, READ, edges) / scale}
    if not any(values.any() for values in lines.values()):
        return None
    highest = ", ".join(f"{name} up to {svg.figure_text(float(values.max()))}" for name, values in lines.items())
    text = f"Bytes count at the end of their call. {highest.capitalize()} MiB/s."
    return Chart("moved", "MiB moved each second", text, svg.curves(lines, activity.duration_s))


def creates(activity: Activity) -> Chart | None:
    edges = np.linspace(*span(activity), COLUMNS + 1)
    made = np.histogram(activity.begin[activity.is_create], edges)[0]
    if not made.any():
        return None
    text = f"{count_text(int(made.sum()))} files are made in all."
    lines = {"metadata": made / np.diff(edges)}
    return Chart("creates", "Files made each second", text, svg.curves(lines, activity.duration_s, {"metadata": "made"}))


def concurrency(activity: Activity) -> Chart | None:
    edges = np.linspace(*span(activity), COLUMNS + 1)
    lines = {kind: values for kind in KINDS if (values := in_flight(activity, kind, edges)).any()}
    if not lines:
        return None
    text = "How many of the program's own calls were under way at the same time, on average over a column."
    return Chart("concurrency", "Calls at the same time", text, svg.curves(lines, activity.duration_s))


def sizes(run: Run) -> Chart | None:
    series = {kind: found for kind in ("read", "write") if (found := size_bins(run, kind))}
    if not series:
        return None
    least = sorted({size for found in series.values() for size in found})
    labels = [f"{bytes_text(size)}" for size in least]
    values = {kind: np.array([found.get(size, 0) for size in least]) for kind, found in series.items()}
    text = "Accesses by size: each bar from its label up to the next. The scale is logarithmic."
    return Chart("sizes", "Sizes of accesses", text, svg.histogram(labels, values))


def latencies(activity: Activity) -> Chart | None:
    series = {kind: bins for kind in KINDS if (bins := latency_bins(activity, kind)).any()}
    if not series:
        return None
    length = max(map(len, series.values()))
    series = {kind: np.pad(bins, (0, length - len(bins))) for kind, bins in series.items()}
    used = np.flatnonzero(sum(series.values()))
    first, last = int(used[0]), int(used[-1]) + 1
    labels = [f"{1 << k} ns" if k < 10 else seconds_text((1 << k) / 1e9) for k in range(first, last)]
    series = {kind: bins[first:last] for kind, bins in series.items()}
    text = "The program's own calls: each bar from its label to twice that time. Merged calls count with their mean. Logarithmic."
    return Chart("latencies", "Times of calls", text, svg.histogram(labels, series))


def offset_maps(activity: Activity) -> list[Chart]:
    """Of the files with most bytes: where in the file was read and written, and when."""
    moves = activity.in_group("read", "write") & (activity.position >= 0) & (activity.result > 0) & activity.of_user_data
    moves &= activity.file != NONE
    if not moves.any():
        return []
    calls = np.flatnonzero(moves)
    total = np.bincount(activity.file[calls], activity.result[calls], minlength=len(activity.files))
    chosen = [int(file) for file in np.argsort(-total, kind="stable")[:MOST_OFFSET_FILES] if total[file] > 0]
    return [_offset_map(activity, number, file, calls[activity.file[calls] == file]) for number, file in enumerate(chosen, 1)]


def _offset_map(activity: Activity, number: int, file: int, calls: Array) -> Chart:
    height, (first, last) = 200, span(activity)
    end = int((activity.position[calls] + activity.result[calls]).max())
    kinds = kind_of(activity)[calls]
    body = [svg.key(("read", "write"))]
    top = svg.KEY_PX
    if len(calls) <= EXACT_ACCESSES:
        how = f"All {count_text(len(calls))} accesses are drawn"
        for call, kind in zip(calls.tolist(), kinds.tolist(), strict=True):
            x = svg.LEFT + (activity.begin[call] - first) / (last - first) * svg.INNER
            width = max(1.0, (activity.end[call] - activity.begin[call]) / (last - first) * svg.INNER)
            y = top + activity.position[call] / end * height
            tall = max(1.0, activity.result[call] / end * height)
            body.append(f'<rect class="{KINDS[kind]}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{tall:.1f}"/>')
    else:
        how = f"{count_text(len(calls))} accesses as density"
        for kind in (0, 1):
            of_kind = calls[kinds == kind]
            where = (activity.begin[of_kind], activity.position[of_kind])
            density = np.histogram2d(*where, (np.linspace(first, last, COLUMNS + 1), np.linspace(0, end, BANDS + 1)))[0].T
            for band, counts in enumerate(density):
                shares = np.sqrt(counts / (density.max() or 1))
                body += svg.cells(shares, KINDS[kind], top + band * height / BANDS, height / BANDS)
    label = f'<text x="{svg.LEFT - 6}" y="{{y}}" text-anchor="end">{{text}}</text>'
    body += [label.format(y=top + 10, text="0"), label.format(y=top + height, text=bytes_text(end).replace(" ", chr(160)))]
    body.append(svg.time_axis(top + height, activity.duration_s))
    text = f"{plain(activity.files[file])}: the offset from top to bottom, time from left to right. {how}."
    moved = {KINDS[kind]: int(activity.result[calls[kinds == kind]].sum()) for kind in (0, 1)}
    return Chart(f"offsets-{number}", "Where in the file, and when", text, svg.svg(body, top + height + 24, moved))
