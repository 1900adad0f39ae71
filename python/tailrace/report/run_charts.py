"""The charts of a run as SVG: when which rank was in I/O calls, and how much was moved and made each second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from tailrace.quantities import count_text, seconds_text
from tailrace.trace.activity import Activity, Array

WIDTH, LEFT, RIGHT = 960, 70, 10
COLUMNS, MOST_ROWS = 240, 64
READ, WRITE = ("read", "stdio_read"), ("write", "stdio_write")


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    text: str  # what it shows; also for readers who do not see it
    svg: str


def charts_of(activity: Activity) -> list[Chart]:
    found = [heat_map(activity), *_curves(activity)]
    return [chart for chart in found if chart is not None]


def busy_shares(activity: Activity, process: int, edges: Array) -> Array:
    """Of each interval between edges: the part in which the process was in I/O calls. 1 is all of it."""
    low, high = np.searchsorted(activity.process, [process, process + 1])
    chosen = np.flatnonzero(activity.is_own[low:high]) + low
    begins, ends = activity.begin[chosen], np.maximum.accumulate(activity.end[chosen]) if len(chosen) else activity.end[chosen]
    begins = np.maximum(begins, np.concatenate(([-np.inf], ends[:-1]))) if len(chosen) else begins  # threads count once
    lengths = np.maximum(ends - begins, 0)
    before = np.concatenate(([0.0], np.cumsum(lengths)))
    place = np.searchsorted(begins, edges, "right")
    last = np.maximum(place - 1, 0)
    over = np.where(place > 0, np.maximum(ends[last] - edges, 0), 0.0) if len(chosen) else np.zeros(len(edges))
    return np.asarray(np.clip(np.diff(before[place] - over) / np.diff(edges), 0, 1))


def bytes_moved(activity: Activity, groups: Sequence[str], edges: Array) -> Array:
    """In each interval between edges: the bytes of calls that end in it, whether the program or a library made them."""
    calls = activity.in_group(*groups, merged=True) & activity.on_files & (activity.result > 0)
    return np.asarray(np.histogram(activity.end[calls], edges, weights=activity.result[calls].astype(float))[0])


def heat_map(activity: Activity) -> Chart:
    """A row for each rank, or each process where there are no ranks; rows are joined where they are many."""
    chosen = activity.ranks or [*np.argsort(-np.bincount(activity.process, minlength=len(activity.processes)), kind="stable")]
    joined = -(-len(chosen) // MOST_ROWS)
    edges = np.linspace(*_span(activity), COLUMNS + 1)
    row_px = 14 if len(chosen) <= MOST_ROWS // 2 else 7
    cells, labels = [], []
    for row, first in enumerate(range(0, len(chosen), joined)):
        members = chosen[first : first + joined]
        shares = np.mean([busy_shares(activity, int(process), edges) for process in members], axis=0)
        cells += _runs(shares, row * row_px, row_px)
        name = str(activity.processes[members[0]].rank if activity.ranks else activity.processes[members[0]].process)
        if row * row_px % 28 == 0:
            labels.append(f'<text x="{LEFT - 6}" y="{row * row_px + 11}" text-anchor="end">{escape(name)}</text>')
    height = row_px * -(-len(chosen) // joined)
    what = "rank" if activity.ranks else "process"
    each = f" Each row is the mean of {joined}." if joined > 1 else ""
    text = f"A row for each {what}; time goes from left to right. The darker, the larger the part of the time in I/O calls.{each}"
    body = [*labels, *cells, _time_axis(activity, height)]
    return Chart("heat", f"When each {what} was in I/O", text, _svg(body, height + 24))


def _runs(shares: Array, y: int, height: int) -> list[str]:
    """Rectangles of equal colour, one for each run of cells that look the same."""
    levels = np.round(shares * 20).astype(int)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(levels)) + 1, [len(levels)]))
    cell = (WIDTH - LEFT - RIGHT) / COLUMNS
    found = []
    for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if levels[first] > 0:
            x, width = LEFT + first * cell, (end - first) * cell
            alpha = max(0.12, levels[first] / 20)
            found.append(f'<rect class="io" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height - 1}" opacity="{alpha:.2f}"/>')
    return found


def _curves(activity: Activity) -> list[Chart | None]:
    edges = np.linspace(*_span(activity), COLUMNS + 1)
    width_s = float(edges[1] - edges[0]) or 1.0
    moved = {name: bytes_moved(activity, groups, edges) / width_s / 2**20 for name, groups in (("written", WRITE), ("read", READ))}
    creates = np.histogram(activity.begin[activity.is_create], edges)[0] / width_s
    bandwidth = _curve("moved", "MiB moved each second", "Bytes count at the end of their call.", moved, activity)
    made = _curve("creates", "Files made each second", "", {"made": creates}, activity) if creates.any() else None
    return [bandwidth if any(values.any() for values in moved.values()) else None, made]


def _curve(name: str, title: str, text: str, lines: dict[str, Array], activity: Activity) -> Chart:
    height, most = 140, max(float(values.max()) for values in lines.values()) or 1.0
    cell = (WIDTH - LEFT - RIGHT) / COLUMNS
    body = []
    for number, (line, values) in enumerate(lines.items()):
        tops = height - values / most * (height - 12)
        points = [f"{LEFT + (k + side) * cell:.1f},{top:.1f}" for k, top in enumerate(tops.tolist()) for side in (0, 1)]
        body.append(f'<polyline class="line{number}" points="{" ".join(points)}"/>')
        body.append(f'<text class="key{number}" x="{LEFT + 8 + 90 * number}" y="11">{escape(line)}</text>')
    body.append(f'<text x="{LEFT - 6}" y="16" text-anchor="end">{_figure(most)}</text>')
    body.append(f'<text x="{LEFT - 6}" y="{height}" text-anchor="end">0</text>')
    highest = ", ".join(f"{line} up to {_figure(float(values.max()))}" for line, values in lines.items())
    return Chart(name, title, f"{text} {highest.capitalize()}.".strip(), _svg([*body, _time_axis(activity, height)], height + 24))


def _figure(value: float) -> str:
    return count_text(round(value)) if value >= 100 else f"{value:.3g}"


def _span(activity: Activity) -> tuple[float, float]:
    begin = min(process.begin for process in activity.processes)
    return begin, max(begin + activity.duration_s, begin + 1e-9)


def _time_axis(activity: Activity, y: int) -> str:
    marks = []
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = LEFT + part * (WIDTH - LEFT - RIGHT)
        anchor = "start" if part == 0 else "end" if part == 1 else "middle"
        marks.append(f'<text x="{x:.0f}" y="{y + 18}" text-anchor="{anchor}">{seconds_text(part * activity.duration_s)}</text>')
    return f'<line class="axis" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>' + "".join(marks)


def _svg(body: Sequence[str], height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="presentation">{"".join(body)}</svg>'
