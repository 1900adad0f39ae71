"""The charts of a study as SVG, from the bars that pages of runs have, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from tailrace.quantities import bytes_text, seconds_text
from tailrace.report.bars import Bar, Part, bars_svg, colours_of
from tailrace.report.wording import group_texts
from tailrace.results.comparison import Group, Summary

MOMENTS = {"return": 1.0, "durable": 0.65, "readable": 0.35}  # with the opacity of their bars
PHASE_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a500", "#7a5195")
LEAST_RANK_COUNTS = 3  # of a chart over ranks
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 960, 320, 70, 14, 40, 200


def layout_colours(groups: Sequence[Group]) -> dict[str, str]:
    return colours_of(list(dict.fromkeys(summary.layout.name for group in groups for summary in group.summaries)))


def side_by_side(groups: Sequence[Group], measure: str) -> str:
    """A bar for each layout's median, with what it wrote, and a point for each repetition."""
    colours = layout_colours(groups)

    def bar(summary: Summary) -> Bar:
        spread = summary.spread(measure)
        assert spread is not None
        values = [(run.case.repetition, value) for run in summary.runs if (value := run.measure(measure)) is not None]
        files = f"{summary.files} file{'' if summary.files == 1 else 's'}"
        text = f"{seconds_text(spread.median)}, {bytes_text(summary.bytes)}, {files}"
        title = f"{summary.layout.name}: median {seconds_text(spread.median)}"
        return Bar(
            summary.layout.name,
            [Part(spread.median, colours[summary.layout.name], title, opacity=0.5)],
            text,
            [value for _, value in values],
            [f"{summary.layout.name}, repetition {number}: {seconds_text(value)}" for number, value in values],
        )

    return bars_svg(_rows(groups, measure, lambda summary: [bar(summary)]))


def three_times(groups: Sequence[Group]) -> str:
    """Time to return, durable and readable below each other. A time that was not measured has no bar."""
    colours = layout_colours(groups)

    def bars(summary: Summary) -> list[Bar]:
        found = []
        for measure, opacity in MOMENTS.items():
            if spread := summary.spread(measure):
                name = f"{summary.layout.name}: {measure}"
                part = Part(spread.median, colours[summary.layout.name], f"{name} {seconds_text(spread.median)}", opacity=opacity)
                found.append(Bar(name, [part], seconds_text(spread.median)))
        return found

    return bars_svg(_rows(groups, "return", bars))


def phase_seconds(groups: Sequence[Group]) -> str:
    """Where the run's time goes: execution filled, sync hatched."""
    colours = phase_colours(groups)

    def bar(summary: Summary) -> Bar:
        parts = []
        for phase in summary.phases:
            for word, seconds in (("execution", phase.exec_s), ("sync", phase.sync_s)):
                title = f"{summary.layout.name}, {phase.name}, {word}: {seconds_text(seconds)}"
                parts.append(Part(seconds, colours[phase.name], title, is_hatched=word == "sync"))
        return Bar(summary.layout.name, parts, seconds_text(sum(part.value for part in parts)))

    return bars_svg(_rows(groups, "return", lambda summary: [bar(summary)]))


def phase_colours(groups: Sequence[Group]) -> dict[str, str]:
    names = dict.fromkeys(phase.name for group in groups for summary in group.summaries for phase in summary.phases)
    return {name: PHASE_COLOURS[at % len(PHASE_COLOURS)] for at, name in enumerate(names)}


def speed_up(groups: Sequence[Group]) -> str | None:
    """Whole run over ranks, against the base on the fewest ranks; None with fewer than three rank counts."""
    first = groups[0]
    lines = [group for group in groups if (group.case.target, group.case.parameters) == (first.case.target, first.case.parameters)]
    base = first.of("native") or first.summaries[0]
    reference = base.spread("wall")
    if len({group.case.ranks for group in lines}) < LEAST_RANK_COUNTS or reference is None:
        return None
    found: dict[str, list[tuple[int, float]]] = {}
    for group in lines:
        for summary in group.summaries:
            if spread := summary.spread("wall"):
                found.setdefault(summary.layout.name, []).append((group.case.ranks, reference.median / max(spread.median, 1e-9)))
    return _lines(
        found, [group.case.ranks for group in lines], layout_colours(groups), f"{base.layout.name}, {base.case.ranks} ranks = 1"
    )


def _lines(found: dict[str, list[tuple[int, float]]], ranks: Sequence[int], colours: dict[str, str], unit: str) -> str:
    """Rank counts have equal distances."""
    most = max(value for points in found.values() for _, value in points) * 1.05
    places = {count: LEFT + at * (WIDTH - LEFT - RIGHT) / (len(ranks) - 1) for at, count in enumerate(ranks)}

    def height(value: float) -> float:
        return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)

    body = [f'<line class="axis" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH - RIGHT}" y2="{HEIGHT - BOTTOM}"/>']
    body += [f'<text x="{x:.0f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count}</text>' for count, x in places.items()]
    body.append(f'<text x="{LEFT}" y="{HEIGHT - 4}">ranks; speed-up: {escape(unit)}</text>')
    for value in (0.0, most / 2, most):
        body.append(f'<text x="{LEFT - 8}" y="{height(value) + 4:.0f}" text-anchor="end">{value:.2g}</text>')
    for at, (name, points) in enumerate(found.items()):
        line = " ".join(f"{places[count]:.1f},{height(value):.1f}" for count, value in points)
        body.append(f'<polyline points="{line}" style="stroke:{colours[name]}"/>')
        for count, value in points:
            title = f"{name}, {count} ranks: speed-up {value:.2f}"
            circle = f'<circle cx="{places[count]:.1f}" cy="{height(value):.1f}" r="4" fill="{colours[name]}">'
            body.append(f"{circle}<title>{escape(title)}</title></circle>")
        y = TOP + 8 + 20 * at
        body.append(f'<rect x="{WIDTH - RIGHT + 16}" y="{y - 8}" width="12" height="8" fill="{colours[name]}"/>')
        body.append(f'<text class="value" x="{WIDTH - RIGHT + 34}" y="{y}">{escape(name)}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="presentation">{"".join(body)}</svg>'


def _rows(groups: Sequence[Group], measure: str, bars_of: Callable[[Summary], list[Bar]]) -> list[tuple[str, list[Bar]]]:
    """The bars of each group's layouts that have this measure."""
    titles = group_texts(groups)
    return [
        (title, [bar for summary in group.summaries if summary.spread(measure) for bar in bars_of(summary)])
        for title, group in zip(titles, groups, strict=True)
    ]
