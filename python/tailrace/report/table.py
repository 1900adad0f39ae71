"""The table of a study on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tailrace.plain_text import plain
from tailrace.quantities import bytes_text, seconds_text
from tailrace.report.wording import gather_failures, group_texts, program_lines, ratio_text
from tailrace.results.comparison import Group, Summary, ratio_between
from tailrace.results.runs import NATIVE, RunResult

COLUMNS = (
    "layout",
    "return",
    "min..max",
    "to native",
    "durable",
    "readable",
    "whole run",
    "CPU",
    "phases",
    "size",
    "files",
    "runs",
)
SHOWN_PHASES = 3
SHOWN_LINES = 5


def print_table(console: Console, application: str, groups: Sequence[Group]) -> None:
    for name, group in zip(group_texts(groups), groups, strict=True):
        table = Table(title=escape(f"{application}, {name}"), title_justify="left", box=None, padding=(0, 2, 0, 0))
        for column in COLUMNS:
            table.add_column(column, justify="left" if column in ("layout", "phases") else "right", header_style="bold")
        for summary in group.summaries:
            table.add_row(*_row(group, summary))
        console.print(table)
        console.print()


def _row(group: Group, summary: Summary) -> list[str]:
    name = escape(summary.layout.name)
    runs = f"{len(summary.runs)}" + (f" [red]+{summary.failed} failed[/]" if summary.failed else "")
    spread = summary.spread("return")
    if spread is None:
        return [f"[red]{name}[/]", *["–"] * 10, runs]
    native = group.of(NATIVE)
    ratio = ratio_between(native, summary, "return") if native is not None else None
    shown = ratio_text(ratio) if ratio else "–"
    if ratio and not ratio.differs and summary is not native:
        shown = f"≈ {shown}"
    return [
        name,
        seconds_text(spread.median),
        f"{seconds_text(spread.low)}..{seconds_text(spread.high)}",
        shown,
        *(seconds_text(found.median) if (found := summary.spread(measure)) else "–" for measure in ("durable", "readable", "wall")),
        seconds_text(summary.cpu_s),
        escape(phases_text(summary)),
        bytes_text(summary.bytes),
        str(summary.files),
        runs,
    ]


def phases_text(summary: Summary) -> str:
    """The longest phases."""
    longest = sorted(summary.phases, key=lambda phase: -(phase.exec_s + phase.sync_s))[:SHOWN_PHASES]
    return ", ".join(f"{phase.name} {seconds_text(phase.exec_s + phase.sync_s)}" for phase in longest)


def print_failures(console: Console, results: Sequence[RunResult]) -> None:
    for failures in gather_failures(results):
        result = failures.first
        times = f" ({failures.count} times)" if failures.count > 1 else ""
        console.print(
            f"[bold red]{result.status}[/]{times}  {escape(plain(result.case.key))}  [red]{escape(plain(result.note))}[/]",
            soft_wrap=True,
        )
        for line in program_lines(result.stderr_tail)[:SHOWN_LINES]:
            console.print(f"    [dim]{escape(line)}[/]", soft_wrap=True)
