"""The report as one HTML file. It contains everything, so it looks the same years later and without a network."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.quantities import bytes_text, seconds_text
from tailrace.report import plots, wording
from tailrace.report.html_page import write_html
from tailrace.report.svg import Chart
from tailrace.report.table import phases_text
from tailrace.results.comparison import Group, Summary, Verdict, judge, ratio_between, summarize
from tailrace.results.runs import NATIVE, RunResult
from tailrace.results.study import StudyResults


@dataclass(frozen=True)
class Plot(Chart):
    keys: Sequence[tuple[str, str]] = ()  # names and their colours


def write_page(study: StudyResults, path: Path) -> None:
    write_html("study.html.j2", page_values(study), path)


def page_values(study: StudyResults) -> dict[str, Any]:
    groups = summarize(study.measured)
    verdict = judge(groups, study.settings.compare)
    return {
        "settings": study.settings,
        "runs_planned": study.runs_planned,
        "created": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "headline": wording.headline(verdict),
        "level": wording.level_text(verdict),
        "verdicts": _other_verdicts(groups, verdict),
        "selection": wording.selection(verdict),
        "plots": make_plots(groups, study.settings.compare),
        "tables": [
            (title, [table_row(group, summary) for summary in group.summaries])
            for title, group in zip(wording.group_texts(groups), groups, strict=True)
        ],
        "stopped": study.stopped,
        "failed": [result for result in study.results if not result.ok],
        "failures": wording.gather_failures(study.results),
        "effective": effective_settings(study.measured),
        "machine": study.machine,
        "left": study.runs_left,
        "measures": [(wording.MEASURE_NAMES[name], text) for name, text in wording.MEANINGS.items()],
        "bytes_text": bytes_text,
    }


def make_plots(groups: Sequence[Group], compare: str) -> list[Plot]:
    drawn = [group for group in groups if any(summary.spread(compare) for summary in group.summaries)]
    if not drawn:
        return []
    phases = plots.phase_colours(drawn)
    made = [
        Plot(
            "layouts",
            "Layouts side by side",
            f"{wording.MEASURE_NAMES[compare].capitalize()}: the bar is the median, each point one repetition. Shorter is better. "
            "Behind the time: what the layout wrote.",
            plots.side_by_side(drawn, compare),
        ),
        Plot(
            "times",
            "Returned, durable, readable",
            "Moments of the same output, counted from its beginning: the simulation continues, the data is on the device, "
            "xarray has opened it. A moment that was not measured has no bar.",
            plots.three_times(drawn),
        ),
    ]
    if phases:
        made.append(
            Plot(
                "phases",
                "Where the run's time goes",
                "Median of each phase. Filled: until the first rank arrived. Hatched: sync time, from then to the last.",
                plots.phase_seconds(drawn),
                list(phases.items()),
            )
        )
    if curve := plots.speed_up(drawn):
        made.append(
            Plot(
                "speed-up",
                "Speed-up over ranks",
                "The whole run. Where each rank adds its own work, 1 is perfect. The OLAM kernel does so unless its mesh is set. "
                "More ranks than cores cannot reach 1.",
                curve,
            )
        )
    return made


def table_row(group: Group, summary: Summary) -> dict[str, Any]:
    native = group.of(NATIVE)
    ratio = ratio_between(native, summary, "return") if native is not None and native is not summary else None
    spread = summary.spread("return")

    def shown(measure: str) -> str:
        found = summary.spread(measure)
        return seconds_text(found.median) if found else "–"

    return {
        "layout": summary.layout.name,
        "toml": summary.layout.toml,
        "return": shown("return"),
        "spread": f"{seconds_text(spread.low)} – {seconds_text(spread.high)}" if spread else "–",
        "ratio": wording.ratio_text(ratio) if ratio else ("1" if summary is native else "–"),
        "interval": f"{ratio.low:.2f} – {ratio.high:.2f}" if ratio and ratio.low > 0 else "",
        "direction": ("better" if ratio.low > 1 else "worse" if ratio.high < 1 else "level") if ratio else "",
        "durable": shown("durable"),
        "readable": shown("readable"),
        "note": next((run.note for run in summary.runs if run.note), ""),
        "wall": shown("wall"),
        "cpu": seconds_text(summary.cpu_s) if summary.runs else "–",
        "phases": phases_text(summary),
        "bytes": bytes_text(summary.bytes) if summary.runs else "–",
        "files": summary.files if summary.runs else "–",
        "runs": len(summary.runs),
        "failed": summary.failed,
    }


def effective_settings(results: Sequence[RunResult]) -> list[tuple[str, str, dict[str, Any]]]:
    """(layout, stream, requested and effective values) as the library reported them; from the first run of each layout."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for result in results:
        for stream, report in result.settings.items():
            if result.ok and isinstance(report, dict):
                wanted = {"requested": report.get("requested", {}), "effective": report.get("effective", report.get("layout", {}))}
                seen.setdefault((result.case.layout.name, stream), wanted)
    return [(layout, stream, values) for (layout, stream), values in seen.items()]


def _other_verdicts(groups: Sequence[Group], verdict: Verdict | None) -> list[tuple[str, str]]:
    """The winners by the other measures."""
    if verdict is None:
        return []
    others = [measure for measure in wording.MEASURE_NAMES if measure != verdict.measure]
    found = [(measure, judge(groups, measure)) for measure in others]
    return [(f"By {wording.MEASURE_NAMES[measure]}", wording.headline(other)) for measure, other in found if other is not None]
