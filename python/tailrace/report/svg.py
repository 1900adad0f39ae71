"""Charts as SVG: figures in, text out. Colours have names by meaning (templates/run.css), and are the same in all charts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from tailrace.quantities import count_text, seconds_text

Array = np.ndarray[Any, np.dtype[Any]]
WIDTH, LEFT, RIGHT = 960, 70, 10
INNER = WIDTH - LEFT - RIGHT
KEY_PX, LABEL_CHARACTERS, MOST_CHARACTERS = 22, 30, 130


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    text: str  # what it shows; also the text for readers who cannot see the chart
    svg: str


def svg(body: Sequence[str], height: float, figures: Any = None) -> str:
    """`figures` are the numbers that the chart shows, for programs."""
    data = "" if figures is None else f' data-figures="{escape(json.dumps(figures, separators=(",", ":")))}"'
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="presentation"{data}>{"".join(body)}</svg>'


def rounded(values: Array) -> list[float]:
    """To four figures: enough for a chart, and short."""
    return [float(f"{value:.4g}") for value in values.tolist()]


def figure_text(value: float) -> str:
    return count_text(round(value)) if value >= 100 else f"{value:.3g}"


def key(meanings: Sequence[str], x: float = LEFT, labels: Mapping[str, str] | None = None) -> str:
    """The names of the colours, in a line of KEY_PX."""
    found = []
    for meaning in meanings:
        label = (labels or {}).get(meaning, meaning)
        found.append(f'<rect class="{meaning}" x="{x}" y="3" width="11" height="11"/>')
        found.append(f'<text x="{x + 16}" y="13">{escape(label)}</text>')
        x += 34 + 7 * len(label)
    return "".join(found)


def time_axis(y: float, duration_s: float) -> str:
    marks = []
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        anchor = "start" if part == 0 else "end" if part == 1 else "middle"
        text = seconds_text(part * duration_s) if part else "0"
        marks.append(f'<text x="{LEFT + part * INNER:.0f}" y="{y + 18:.0f}" text-anchor="{anchor}">{text}</text>')
    return f'<line class="axis" x1="{LEFT}" y1="{y:.0f}" x2="{WIDTH - RIGHT}" y2="{y:.0f}"/>' + "".join(marks)


def curves(lines: Mapping[str, Array], duration_s: float, labels: Mapping[str, str] | None = None) -> str:
    """A line of steps for each meaning: one value for each interval of the time from 0 to `duration_s`."""
    top, height = KEY_PX + 4, 160
    most = max(float(values.max()) for values in lines.values()) or 1.0
    body = [key(list(lines), labels=labels)]
    for meaning, values in lines.items():
        cell, tops = INNER / len(values), height - values / most * (height - top)
        points = [f"{LEFT + (k + side) * cell:.1f},{each:.1f}" for k, each in enumerate(tops.tolist()) for side in (0, 1)]
        body.append(f'<polyline class="{meaning}" points="{" ".join(points)}"/>')
    body += [_left(top + 6, figure_text(most)), _left(height, "0"), time_axis(height, duration_s)]
    return svg(body, height + 24, {meaning: rounded(values) for meaning, values in lines.items()})


def stacked_bars(rows: Sequence[tuple[str, Mapping[str, float]]], meanings: Sequence[str]) -> str:
    """A bar of seconds for each row, made of its meanings."""
    # Long names stand above their bars, whole: cut at the same length, several would look the same.
    above = 18 if any(len(name) > LABEL_CHARACTERS for name, _ in rows) else 0
    left, bar, right, step = (LEFT, 14, 90, above + 20) if above else (240, 22, 90, 28)
    most = max((sum(parts.values()) for _, parts in rows), default=0) or 1.0
    body = [key(meanings, left)]
    for number, (name, parts) in enumerate(rows):
        y, x, every = KEY_PX + number * step + above, float(left), sum(parts.values())
        short = name if len(name) <= MOST_CHARACTERS else f"{name[: MOST_CHARACTERS - 1]}…"
        place = f'x="{left}" y="{y - 4}"' if above else f'x="{left - 8}" y="{y + 15}" text-anchor="end"'
        body.append(f"<text {place}>{escape(short)}<title>{escape(name)}</title></text>")
        for meaning in meanings:
            width = parts.get(meaning, 0.0) / most * (WIDTH - left - right)
            if width > 0:
                title = f"<title>{escape(name)}: {meaning} {seconds_text(parts[meaning])}</title>"
                body.append(
                    f'<rect class="{meaning}" x="{x:.1f}" y="{y}" width="{max(width, 0.5):.1f}" height="{bar}">{title}</rect>'
                )
                x += width
        body.append(f'<text x="{x + 8:.0f}" y="{y + bar / 2 + 4:.0f}">{seconds_text(every).replace(" ", chr(160))}</text>')
    figures = [[name, {meaning: float(f"{value:.4g}") for meaning, value in parts.items()}] for name, parts in rows]
    return svg(body, KEY_PX + len(rows) * step + 4, figures)


def histogram(labels: Sequence[str], series: Mapping[str, Array]) -> str:
    """Bars side by side for each label: one of each meaning. Heights are logarithms, so that one call is seen beside a million."""
    top, height, wide = KEY_PX + 6, 170, INNER / max(len(labels), 1)
    most = max(float(np.log10(1 + values).max()) for values in series.values()) or 1.0
    body, width = [key(list(series))], wide * 0.86 / len(series)
    for place, (meaning, values) in enumerate(series.items()):
        for number, count in enumerate(values.tolist()):
            if count > 0:
                tall = float(np.log10(1 + count)) / most * (height - top)
                x = LEFT + number * wide + wide * 0.07 + place * width
                title = f"<title>{labels[number]}: {count_text(int(count))} {meaning}</title>"
                size = f'width="{width:.1f}" height="{tall:.1f}"'
                body.append(f'<rect class="{meaning}" x="{x:.1f}" y="{height - tall:.1f}" {size}>{title}</rect>')
    each = max(1, -(-len(labels) * 76 // INNER))
    body += [
        f'<text x="{LEFT + (number + 0.5) * wide:.0f}" y="{height + 18}" text-anchor="middle">{text.replace(" ", chr(160))}</text>'
        for number, text in enumerate(labels)
        if number % each == 0
    ]
    body += [_left(top + 6, count_text(round(10**most - 1))), _left(height, "0")]
    body.append(f'<line class="axis" x1="{LEFT}" y1="{height}" x2="{WIDTH - RIGHT}" y2="{height}"/>')
    figures = {meaning: dict(zip(labels, map(int, values.tolist()), strict=True)) for meaning, values in series.items()}
    return svg(body, height + 26, figures)


PLOT_WIDTH, PLOT_HEIGHT, PLOT_LEFT = 340, 220, 76
LOGARITHM_FROM = 100.0  # the ratio of the largest to the smallest value from which an axis is logarithmic


def scatter(x: Array, y: Array, x_name: str, y_name: str) -> str:
    """A small plot with a dot for each pair of finite values."""
    top, bottom, right = 14, 40, 8
    places, ends = [], []
    for values, first, last in ((x, PLOT_LEFT, PLOT_WIDTH - right), (y, PLOT_HEIGHT - bottom, top)):
        low, high = float(values.min()), float(values.max())
        is_log = low > 0 and high / low >= LOGARITHM_FROM
        scaled = np.log10(values) if is_log else values
        span = float(scaled.max() - scaled.min())
        share = (scaled - scaled.min()) / span if span > 0 else np.full(len(values), 0.5)
        places.append(first + share * (last - first))
        ends.append((f"{low:.3g}", f"{high:.3g}", " (log)" if is_log else ""))
    dots = "".join(f"M{px:.0f} {py:.0f}h0" for px, py in zip(places[0].tolist(), places[1].tolist(), strict=True))
    base = PLOT_HEIGHT - bottom
    (x_low, x_high, x_log), (y_low, y_high, y_log) = ends
    body = [
        f'<path class="dots" d="{dots}"/>',
        f'<path class="axis" d="M{PLOT_LEFT - 6} {top}V{base + 6}H{PLOT_WIDTH - right}"/>',
        f'<text x="{PLOT_LEFT}" y="{base + 20}">{x_low}</text>',
        f'<text x="{PLOT_WIDTH - right}" y="{base + 20}" text-anchor="end">{x_high}</text>',
        f'<text x="{(PLOT_LEFT + PLOT_WIDTH) / 2:.0f}" y="{base + 36}" text-anchor="middle">{_short(x_name + x_log)}</text>',
        f'<text x="{PLOT_LEFT - 10}" y="{top + 8}" text-anchor="end">{y_high}</text>',
        f'<text x="{PLOT_LEFT - 10}" y="{base}" text-anchor="end">{y_low}</text>',
        f'<text class="title" x="{PLOT_LEFT}" y="10">{_short(y_name + y_log)}</text>',
    ]
    label = escape(f"{y_name} over {x_name}: {len(x)} members")
    return f'<svg viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}" role="img" aria-label="{label}">{"".join(body)}</svg>'


def _short(name: str) -> str:
    return escape(name if len(name) <= LABEL_CHARACTERS else f"{name[: LABEL_CHARACTERS - 1]}…")


def cells(shares: Array, meaning: str, y: float, height: float) -> list[str]:
    """A row of rectangles, the darker the larger the share (0 to 1); neighbours that look the same are one."""
    levels = np.round(shares * 20).astype(int)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(levels)) + 1, [len(levels)]))
    cell, found = INNER / len(shares), []
    for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if levels[first] > 0:
            x, width, alpha = LEFT + first * cell, (end - first) * cell, max(0.12, levels[first] / 20)
            found.append(
                f'<rect class="{meaning}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" opacity="{alpha:.2f}"/>'
            )
    return found


def _left(y: float, text: str) -> str:
    return f'<text x="{LEFT - 6}" y="{y:.0f}" text-anchor="end">{text.replace(" ", chr(160))}</text>'
