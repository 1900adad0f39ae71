"""Two runs side by side, on the terminal and as a page: `tailrace report A B`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from tailrace.findings import two_runs
from tailrace.findings.two_runs import Change, TwoRuns
from tailrace.plain_text import plain
from tailrace.quantities import bytes_text, count_text, seconds_text
from tailrace.report.bars import Bar, Part, bars_svg
from tailrace.report.html_page import write_html
from tailrace.report.run_tables import Table

MOST_ROWS = 20
COLOURS = ("#8a8f98", "#0072b2")  # of A and of B
ONE_RUN = "Each is only one run: repeat both before you trust a small difference."


def to_json(names: tuple[str, str], two: TwoRuns) -> dict[str, Any]:
    return {"first": names[0], "second": names[1], "verdict": two_runs.headline(two), **dataclasses.asdict(two)}


def tables_of(two: TwoRuns) -> list[Table]:
    """The tables of the comparison that have rows."""
    found = [
        Table("What differs besides", "", ["", "A", "B"], [[name, plain(a), plain(b)] for name, a, b in two.differences], 3),
        Table(
            "Findings", "Seconds of the runs' wall clock.", ["finding", "", "A", "B", "change"],
            [[each.title, _state(each.state), seconds_text(each.first_s), seconds_text(each.second_s), _signed(each.seconds)]
             for each in two.findings], 2,
        ),
        _sums("Operations", "Time without that of calls that they made, summed over processes.", two.operations),
        _sums("Files", "Files whose names differ only in numbers are together.", two.files),
    ]  # fmt: skip
    return [table for table in found if table.rows]


def _sums(title: str, text: str, changes: Any) -> Table:
    columns = ["", "", "calls A", "calls B", "read A", "read B", "written A", "written B", "s A", "s B", "change"]
    return Table(title, text, columns, [_row(change) for change in changes[:MOST_ROWS]], 2)


def _row(change: Change) -> list[str]:
    pairs = [(change.first[name], change.second[name]) for name in ("calls", "read_bytes", "written_bytes", "self_ns")]
    texts: tuple[Callable[[Any], str], ...] = (count_text, bytes_text, bytes_text, lambda value: f"{value / 1e9:.4f}")
    cells = ["" if value is None else text(value) for pair, text in zip(pairs, texts, strict=True) for value in pair]
    return [plain(change.name), _state(change.state), *cells, "" if change.seconds is None else _signed(change.seconds)]


def _state(state: str) -> str:
    return "" if state == two_runs.BOTH else state


def _signed(seconds: float) -> str:
    return f"{'+' if seconds >= 0 else '-'}{seconds_text(abs(seconds))}"


def print_two(console: Console, names: tuple[str, str], two: TwoRuns) -> None:
    console.print(f"A: {escape(plain(names[0]))}\nB: {escape(plain(names[1]))}", soft_wrap=True)
    console.print(f"[bold]{escape(two_runs.headline(two))}[/]", soft_wrap=True)
    for table in tables_of(two):
        console.print(f"\n[bold]{table.title}[/]")
        for row in ([table.columns] if any(table.columns) else []) + table.rows:
            console.print(escape("  ".join(cell for cell in row if cell)), soft_wrap=True)
    for note in (*two.not_compared, ONE_RUN):
        console.print(escape(plain(note)), soft_wrap=True)


def write_two_page(names: tuple[str, str], two: TwoRuns, path: Path) -> None:
    """Writes the page to a temporary file, and renames it to `path`. Raises OSError."""
    rows = [
        Bar(f"{each.title} ({name})", [Part(value, COLOURS[at], seconds_text(value))], seconds_text(value))
        for each in two.findings
        for at, (name, value) in enumerate((("A", each.first_s), ("B", each.second_s)))
    ]
    values = {
        "headline": two_runs.headline(two),
        "names": names,
        "notes": [*two.not_compared, ONE_RUN],
        "chart": bars_svg([("", rows)]) if rows else "",
        "tables": tables_of(two),
    }
    write_html("two_runs.html.j2", values, path)
