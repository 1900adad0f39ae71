"""The plots of a study as plotly figures. The page sets the colours of text and lines, for dark and light."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tailrace.quantities import seconds_text
from tailrace.report.wording import MEASURE_NAMES, group_texts
from tailrace.results.comparison import Group, Summary
from tailrace.results.runs import NATIVE
from tailrace.statistics import Spread

NATIVE_COLOUR = "#8a8f98"
# Okabe and Ito's colours, which colour-blind people can distinguish.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a500", "#7a5195")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
MOMENTS = {"return": 1.0, "durable": 0.65, "readable": 0.35}  # with the opacity of their bars
ROW_PX = 30
LEGEND_PX = 84


def layout_colours(groups: Sequence[Group]) -> dict[str, str]:
    """The same colour for a layout in every plot."""
    names = dict.fromkeys(summary.layout.name for group in groups for summary in group.summaries if not summary.layout.is_native)
    return {NATIVE: NATIVE_COLOUR} | {name: COLOURS[position % len(COLOURS)] for position, name in enumerate(names)}


def side_by_side(groups: Sequence[Group], measure: str) -> go.Figure:
    """A bar for each layout's median and a point for each repetition."""
    colours = layout_colours(groups)
    figure = _rows(groups)
    for row, group in enumerate(groups, 1):
        for summary in _drawn(group, measure):
            spread = summary.spread(measure)
            name = summary.layout.name
            values = [run.measure(measure) for run in summary.runs]
            assert spread is not None
            bar = go.Bar(
                y=[name],
                x=[spread.median],
                orientation="h",
                marker={"color": colours[name], "opacity": 0.45},
                hovertemplate=f"{name}<br>median {seconds_text(spread.median)}<extra></extra>",
            )
            points = go.Scatter(
                y=[name] * len(values),
                x=values,
                mode="markers",
                marker={"color": colours[name], "size": 7, "opacity": 0.9, "line": {"width": 1, "color": "rgba(255,255,255,0.7)"}},
                customdata=[[run.case.repetition, seconds_text(run.measure(measure) or 0)] for run in summary.runs],
                hovertemplate=f"{name}, repetition %{{customdata[0]}}<br>%{{customdata[1]}}<extra></extra>",
            )
            figure.add_trace(bar, row=row, col=1)
            figure.add_trace(points, row=row, col=1)
    return _finish(figure, groups, f"{MEASURE_NAMES[measure]}, seconds", legend=False)


def three_times(groups: Sequence[Group]) -> go.Figure:
    """Time to return, durable and readable beside each other."""
    colours = layout_colours(groups)
    figure = _rows(groups, rows_each=2.0)
    for row, group in enumerate(groups, 1):
        for summary in _drawn(group, "return"):
            for measure in MOMENTS:
                figure.add_trace(_moment_bar(summary, measure, colours[summary.layout.name]), row=row, col=1)
    figure.update_layout(barmode="group", bargap=0.22)
    longest_s = max(spread.median for group in groups for s in group.summaries for m in MOMENTS if (spread := s.spread(m)))
    figure = _finish(figure, groups, "seconds since the output began", legend=False)
    return figure.update_xaxes(range=[0, 1.7 * longest_s], rangemode="normal")  # room for the text beside the bars


def _moment_bar(summary: Summary, measure: str, colour: str) -> go.Bar:
    spread = summary.spread(measure)
    return go.Bar(
        y=[summary.layout.name],
        x=[spread.median if spread else 1e-9],  # plotly writes no text beside a bar of length 0
        orientation="h",
        offsetgroup=measure,
        marker={"color": colour, "opacity": MOMENTS[measure]},
        text=[_moment_text(summary, measure, spread)],
        textposition="outside",
        textangle=0,
        constraintext="none",
        cliponaxis=False,
        hovertemplate="%{y}<br>%{text}<extra></extra>",
    )


def _moment_text(summary: Summary, measure: str, spread: Spread | None) -> str:
    if spread:
        return f"{measure} {seconds_text(spread.median)}"
    return f"{measure}: needs conversion" if summary.layout.is_native else f"{measure}: not measured"


def phase_shares(groups: Sequence[Group]) -> go.Figure:
    """Where the run's time goes: execution filled, sync hatched; as shares or as seconds."""
    names = list(dict.fromkeys(phase.name for group in groups for summary in group.summaries for phase in summary.phases))
    figure = _rows(groups)
    for row, group in enumerate(groups, 1):
        summaries = _drawn(group, "return")
        for position, name in enumerate(names):
            for part in ("exec_s", "sync_s"):
                figure.add_trace(_phase_bar(summaries, name, part, COLOURS[position % len(COLOURS)], row == 1), row=row, col=1)
    figure.update_layout(barmode="stack", barnorm="percent")
    return _finish(figure, groups, "share of the time in phases, %", legend=True)


def _phase_bar(summaries: Sequence[Summary], name: str, part: str, colour: str, first: bool) -> go.Bar:
    phases = [{phase.name: phase for phase in summary.phases}.get(name) for summary in summaries]
    values = [getattr(phase, part) if phase else 0.0 for phase in phases]
    totals = [sum(phase.exec_s + phase.sync_s for phase in summary.phases) or 1.0 for summary in summaries]
    word = "sync" if part == "sync_s" else "execution"
    return go.Bar(
        name=name,
        legendgroup=name,
        showlegend=first and part == "exec_s",
        y=[summary.layout.name for summary in summaries],
        x=values,
        orientation="h",
        marker={"color": colour, "pattern": {"shape": "/" if part == "sync_s" else "", "solidity": 0.45, "size": 5}},
        customdata=[[seconds_text(value), f"{value / total:.0%}"] for value, total in zip(values, totals, strict=True)],
        hovertemplate=f"%{{y}}<br>{name}, {word}: %{{customdata[0]}} (%{{customdata[1]}})<extra></extra>",
    )


def speed_up(groups: Sequence[Group]) -> go.Figure | None:
    """Whole run over ranks, against the base on the fewest ranks; None with fewer than two rank counts."""
    first = groups[0]
    lines = [group for group in groups if (group.case.target, group.case.parameters) == (first.case.target, first.case.parameters)]
    base = first.of(NATIVE) or first.summaries[0]
    reference = base.spread("wall")
    if len(lines) < 2 or reference is None:
        return None
    colours = layout_colours(groups)
    figure = go.Figure()
    for position, name in enumerate(colours):
        points = [(group.case.ranks, spread) for group in lines if (s := group.of(name)) and (spread := s.spread("wall"))]
        if not points:
            continue
        ups = [reference.median / spread.median for _, spread in points]
        figure.add_trace(
            go.Scatter(
                name=name,
                x=[ranks for ranks, _ in points],
                y=ups,
                mode="lines+markers",
                line={"color": colours[name], "width": 2, "dash": "dot" if name == NATIVE else "solid"},
                marker={"size": 9, "symbol": SYMBOLS[position % len(SYMBOLS)]},
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [reference.median / s.low - up for up, (_, s) in zip(ups, points, strict=True)],
                    "arrayminus": [up - reference.median / s.high for up, (_, s) in zip(ups, points, strict=True)],
                    "thickness": 1,
                    "width": 3,
                },
                hovertemplate=f"{name}, %{{x}} ranks<br>speed-up %{{y:.2f}}<extra></extra>",
            )
        )
    ticks = [group.case.ranks for group in lines]
    figure.update_xaxes(title_text="ranks", type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks])
    figure.update_yaxes(title_text=f"speed-up ({base.layout.name}, {base.case.ranks} ranks = 1)", rangemode="tozero")
    return _style(figure, height_px=380, legend=True)


def _drawn(group: Group, measure: str) -> list[Summary]:
    return [summary for summary in group.summaries if summary.spread(measure)]


def _rows(groups: Sequence[Group], rows_each: float = 1.0) -> go.Figure:
    heights = [len(group.summaries) for group in groups]
    plots_px = sum(heights) * ROW_PX * rows_each
    titles = group_texts(groups)
    gap_px = 38
    spacing = gap_px / (plots_px + gap_px * (len(groups) - 1)) if len(groups) > 1 else 0
    figure = make_subplots(
        rows=len(groups), cols=1, shared_xaxes=True, subplot_titles=titles, row_heights=heights, vertical_spacing=spacing
    )
    figure.update_layout(meta={"height_px": plots_px + gap_px * (len(groups) - 1)})
    return figure


def _finish(figure: go.Figure, groups: Sequence[Group], title: str, legend: bool) -> go.Figure:
    figure.update_yaxes(autorange="reversed", type="category", ticks="", showgrid=False)
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title={"text": title, "standoff": 6}, row=len(groups), col=1)
    figure.update_annotations(x=0, xanchor="left", font={"size": 13})
    return _style(figure, figure.layout.meta["height_px"] + 110, legend)


def _style(figure: go.Figure, height_px: float, legend: bool) -> go.Figure:
    return figure.update_layout(
        template="none",
        height=height_px + (LEGEND_PX if legend else 0),
        margin={"l": 10, "r": 16, "t": 30, "b": 56 + (LEGEND_PX if legend else 0)},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif", "size": 13},
        showlegend=legend,
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "itemsizing": "constant"},
        hoverlabel={"font": {"family": "inherit"}},
        xaxis={"automargin": True},
        yaxis={"automargin": True},
    ).update_yaxes(automargin=True)
