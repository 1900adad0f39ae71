"""The page of a run: one HTML file, which needs no network and no script."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from tailrace.findings import Verdict, wording
from tailrace.plain_text import plain
from tailrace.quantities import bytes_text, count_text, seconds_text
from tailrace.report.run_charts import charts_of
from tailrace.trace.model import Run
from tailrace.trace.system_files import is_user_data

MOST_ROWS = 20
UNIT = re.compile(r"(?<=\d) (%|(?:s|ms|us|[KMG]iB|B)\b|\d{3}\b)")  # stays beside its number


@dataclass(frozen=True)
class Table:
    title: str
    text: str
    columns: list[str]
    rows: list[list[str]]
    words: int = 1  # columns at the left with text; the others are numbers


def write_run_page(source: Path, run: Run, verdict: Verdict, path: Path) -> None:
    """`run` has its calls. Writes the page beside `path`, then renames it. Raises OSError."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tailrace.report", "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["plain"] = lambda text: UNIT.sub("\N{NO-BREAK SPACE}\\1", plain(text))
    templates = resources.files("tailrace.report") / "templates"
    page = environment.get_template("run.html.j2").render(
        headline=wording.headline(verdict),
        facts=_facts(source, run, verdict),
        findings=[
            {"finding": finding, "seconds": seconds_text(finding.seconds), "how": wording.how(finding)}
            for finding in verdict.findings
        ],
        notes=[text for text in (wording.together(verdict), wording.left_out(verdict)) if text],
        charts=charts_of(run.activity) if run.activity is not None else [],
        tables=[table for table in (_layers(run), _groups(run), _ranks(run), _slowest(run), _failures(run)) if table.rows],
        style=(templates / "study.css").read_text() + (templates / "run.css").read_text(),
    )
    beside = path.with_name(f"{path.name}.tmp")
    beside.write_text(page, encoding="utf-8")
    beside.replace(path)


def _facts(source: Path, run: Run, verdict: Verdict) -> list[tuple[str, str]]:
    facts, share = run.facts, run.share()
    found = [
        ("log", str(source)),
        ("command", facts.command or f"not known: {facts.unknown.get('command', 'the source has none')}"),
    ]
    if facts.begin_real_ns is not None:
        began = datetime.datetime.fromtimestamp(facts.begin_real_ns / 1e9, datetime.UTC)
        found.append(("started", f"{began:%Y-%m-%d %H:%M:%S} UTC"))
    found.append(("duration", seconds_text(facts.duration_s if facts.duration_s is not None else verdict.duration_s)))
    if facts.status is not None:
        found.append(("status", str(facts.status)))
    ranks = f"{len(run.ranks)} rank{'s' if len(run.ranks) != 1 else ''}, " if run.ranks else ""
    count = f"{len(run.processes)} process{'es' if len(run.processes) != 1 else ''}"
    found.append(("processes", f"{ranks}{count}, on {', '.join(run.hosts[:8])}"))
    kinds = ", ".join(f"{kind} {100 * part:.1f} %" for kind, part in share.kinds.items() if part is not None)
    if share.of_run is not None:
        found.append(("in I/O calls", f"{100 * share.of_run:.1f} % of the processes' time: {kinds}"))
    return found


def _size(count: int | None) -> str:
    return "" if count is None else bytes_text(count)


def _sums(row: dict[str, Any]) -> list[str]:
    self_ns = row["self_ns"]
    seconds = "" if self_ns is None else f"{self_ns / 1e9:.4f}"
    return [count_text(row["calls"]), _size(row["read_bytes"]), _size(row["written_bytes"]), seconds]


SUMS = ["calls", "read", "written", "self s"]


def _by_time(totals: dict[Any, dict[str, Any]]) -> list[tuple[Any, dict[str, Any]]]:
    return sorted(totals.items(), key=lambda item: -(item[1]["self_ns"] or 0))


def _layers(run: Run) -> Table:
    rows = [[layer, *_sums(row)] for layer, row in run.by_layer().items()]
    return Table("Layers", "Self time is the time of calls without that of calls that they made: its sum counts nothing twice.",
                 ["layer", *SUMS], rows)  # fmt: skip


def _groups(run: Run) -> Table:
    chosen = [(group, row) for group, row in run.groups() if is_user_data(group.files[0])]
    chosen.sort(key=lambda pair: -(pair[1]["self_ns"] or 0))
    rows = [
        [plain(group.name), group.sharing, f"{group.verb} by {group.users_text}", str(len(group.files)), *_sums(row)]
        for group, row in chosen[:MOST_ROWS]
    ]
    text = "Files whose names differ only in numbers: * is the rank of the only process that uses a file, N another number."
    return Table("Files", text, ["file", "used", "by", "files", *SUMS], rows, 3)


def _ranks(run: Run) -> Table:
    rows = [[plain(name), *_sums(row)] for name, row in _by_time(run.by_rank())[:MOST_ROWS]]
    return Table("Ranks and processes", "Those with most time in calls.", ["process", *SUMS], rows)


def _slowest(run: Run) -> Table:
    chosen = [row for row in run.slowest() or [] if row["file"] and is_user_data(row["file"])]
    rows = [
        [row["call"], plain(row["file"]), _rank(row), f"{row['begin_s']:.4f}", f"{row['seconds']:.4f}", _size(row["bytes"])]
        for row in chosen[:MOST_ROWS]
    ]
    return Table("Slowest calls", "", ["call", "file", "rank", "began s", "seconds", "bytes"], rows, 2)


def _rank(row: Mapping[str, Any]) -> str:
    return "" if row["rank"] is None else str(row["rank"])


def _failures(run: Run) -> Table:
    chosen = [row for row in run.failures() or [] if row["file"] and is_user_data(row["file"])]
    rows = [[row["call"], row["error"] or "", plain(row["file"]), _rank(row), str(row["calls"])] for row in chosen[:MOST_ROWS]]
    return Table("Failed calls", "", ["call", "error", "file", "rank", "times"], rows, 3)
