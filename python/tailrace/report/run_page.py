"""The page of a run: one HTML file, which needs no network. Charts are SVG; the timeline is a canvas with a script."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from tailrace.findings import Verdict, wording
from tailrace.plain_text import plain
from tailrace.quantities import seconds_text
from tailrace.report.html_page import text_of, write_html
from tailrace.report.run_charts import charts_of
from tailrace.report.run_tables import tables_of, without_mpi
from tailrace.report.timeline import MEANINGS, timeline_of
from tailrace.trace.log_process import LogReader
from tailrace.trace.model import Run

LAUNCHING = 0.05  # of the duration, from which on the time of the launcher is shown apart
# A unit stays beside its number, and so do three digits behind others.
UNIT = re.compile(r"(?<=\d) (%|(?:s|ms|us|µs|ns|MiB/s|[KMGT]iB|B)\b|\d{3}\b)")


def write_run_page(source: Path | None, run: Run, verdict: Verdict | None, path: Path, logs: LogReader | None = None) -> None:
    """`run` has its calls; without a verdict, they have no times. `logs`: those that `run` was read from, where they were kept.

    Without a source the page has only what `run` has: aliases cover nothing else.
    Writes beside `path`, then renames. Raises OSError, LogError."""
    phases, coverage = (None, []) if logs is None else logs.phases_and_coverage()
    has_calls = run.activity is not None and len(run.activity.begin) > 0
    findings = verdict.findings if verdict else ()
    values = {
        "headline": wording.headline(verdict) if verdict else wording.headline_of_sums(run),
        "facts": _facts(source, run, verdict),
        "findings": [
            {
                "finding": finding,
                "seconds": seconds_text(finding.seconds),
                "how": wording.how(finding),
                "overlaps": [other for other in findings if other.rule in finding.overlaps],
            }
            for finding in findings
        ],
        "notes": wording.notes(verdict, run) if verdict else [wording.NO_TIMES],
        "charts": charts_of(run, phases),
        "timeline": timeline_of(run.activity) if run.activity is not None and has_calls else None,
        "meanings": MEANINGS,
        "tables": tables_of(run, phases, coverage),
        "script": text_of("timeline.js"),
    }
    write_html("run.html.j2", values, path, lambda text: UNIT.sub("\N{NO-BREAK SPACE}\\1", plain(text)))


def _facts(source: Path | None, run: Run, verdict: Verdict | None) -> list[tuple[str, str]]:
    facts, share = run.facts, without_mpi(run).share()
    found = [
        ("log", str(source or "a run")),
        ("command", facts.command or f"not known: {facts.unknown.get('command', 'the source has none')}"),
    ]
    if facts.begin_real_ns is not None:
        began = datetime.datetime.fromtimestamp(facts.begin_real_ns / 1e9, datetime.UTC)
        found.append(("started", f"{began:%Y-%m-%d %H:%M:%S} UTC"))
    duration_s = facts.duration_s if facts.duration_s is not None else verdict.duration_s if verdict else None
    if duration_s is not None:
        less = verdict is not None and verdict.duration_s < (1 - LAUNCHING) * duration_s
        of_logs = f"; of these the recorded processes {seconds_text(verdict.duration_s)}" if verdict and less else ""
        found.append(("duration", f"{seconds_text(duration_s)}{of_logs}"))
    if facts.status is not None:
        found.append(("status", str(facts.status)))
    ranks = f"{len(run.ranks)} rank{'s' if len(run.ranks) != 1 else ''}, " if run.ranks else ""
    count = f"{len(run.processes)} process{'es' if len(run.processes) != 1 else ''}"
    on_hosts = f", on {', '.join(run.hosts[:8])}" if run.hosts else ""
    found.append(("processes", f"{ranks}{count}{on_hosts}"))
    kinds = ", ".join(f"{kind} {100 * part:.1f} %" for kind, part in share.kinds.items() if part is not None)
    if share.of_run is not None:
        found.append(("in I/O calls", f"{100 * share.of_run:.1f} % of the processes' time: {kinds}"))
    return found
