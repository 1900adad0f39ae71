"""Rows of bars as SVG, for pages of runs and of studies. Text has the page's colours; bars have those that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, LEFT, RIGHT = 960, 230, 200
ROW_PX, TITLE_PX, MOST_LETTERS = 26, 30, 36
NATIVE_COLOUR = "#8a8f98"
# Okabe and Ito's colours, which colour-blind people can distinguish. Each preset has the same colour on every page.
PRESETS = {
    "single": "#0072b2",
    "fpp": "#e69f00",
    "hds": "#009e73",
    "shared": "#cc79a7",
    "collective": "#d55e00",
    "node": "#56b4e9",
}
OTHERS = ("#b8a500", "#7a5195", "#2f7f8f", "#a05a2c", "#5c5fb5", "#7f8c2f")


@dataclass(frozen=True)
class Part:
    value: float
    colour: str
    title: str = ""  # shown when the mouse is over the part
    is_hatched: bool = False
    opacity: float = 1.0


@dataclass(frozen=True)
class Bar:
    label: str
    parts: Sequence[Part]  # from left to right
    text: str = ""  # written at the right end of the bar
    points: Sequence[float] = field(default=())
    point_titles: Sequence[str] = field(default=())


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """The colour of each layout: native is grey, a preset has its own colour, others take colours of OTHERS in order."""
    others = [name for name in names if name != "native" and name not in PRESETS]
    given = {name: OTHERS[at % len(OTHERS)] for at, name in enumerate(others)}
    return {name: NATIVE_COLOUR if name == "native" else PRESETS.get(name) or given[name] for name in names}


def bars_svg(groups: Sequence[tuple[str, Sequence[Bar]]], most: float | None = None) -> str:
    """Each group has a title, or "". All bars have the same scale, whose end is `most` or the longest bar."""
    bars = [bar for _, each in groups for bar in each]
    longest = most or max((max(sum(part.value for part in bar.parts), *bar.points, 0.0) for bar in bars), default=0.0) or 1.0
    scale = (WIDTH - LEFT - RIGHT) / longest
    body, y = [HATCHING], 0
    for title, each in groups:
        if title:
            body.append(f'<text class="title" x="0" y="{y + 20}">{escape(title)}</text>')
            y += TITLE_PX
        for bar in each:
            body += _bar(bar, y, scale)
            y += ROW_PX
    return f'<svg viewBox="0 0 {WIDTH} {max(y, 1)}" role="presentation">{"".join(body)}</svg>'


HATCHING = (
    '<defs><pattern id="hatching" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line x1="0" y1="0" x2="0" y2="6" stroke="var(--card)" stroke-width="3"/></pattern></defs>'
)


def _bar(bar: Bar, y: int, scale: float) -> list[str]:
    label = bar.label if len(bar.label) <= MOST_LETTERS else f"{bar.label[: MOST_LETTERS - 1]}…"
    found = [f'<text x="{LEFT - 8}" y="{y + 17}" text-anchor="end"><title>{escape(bar.label)}</title>{escape(label)}</text>']
    x = float(LEFT)
    for part in bar.parts:
        width = part.value * scale
        place = f'x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="{ROW_PX - 8}"'
        found.append(f'<rect {place} fill="{part.colour}" opacity="{part.opacity:g}"><title>{escape(part.title)}</title></rect>')
        if part.is_hatched:
            found.append(f'<rect {place} fill="url(#hatching)" pointer-events="none"/>')
        x += width
    end = x
    for at, value in enumerate(bar.points):
        title = bar.point_titles[at] if at < len(bar.point_titles) else ""
        center = LEFT + value * scale
        end = max(end, center + 5)
        found.append(f'<circle class="point" cx="{center:.1f}" cy="{y + ROW_PX / 2:g}" r="4" fill="{bar.parts[0].colour}">')
        found[-1] += f"<title>{escape(title)}</title></circle>"
    if bar.text:
        found.append(f'<text class="value" x="{end + 6:.1f}" y="{y + 17}">{escape(bar.text)}</text>')
    return found
