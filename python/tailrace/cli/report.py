"""tailrace report: why a recorded run was slow, what that cost, and what to change."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli import output
from tailrace.cli.trace.choices import reported_errors

if TYPE_CHECKING:
    from tailrace.findings import Finding, Verdict


def command(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="Folder of a run, or of its Parquet tables. Default: the newest tailrace-run-N in this folder.",
        ),
    ] = None,
    as_json: output.AsJson = False,
) -> None:
    """Shows what the I/O of a recorded run cost, why, and what to change: each cause with the seconds that it took of the run.

    Examples: [bold]tailrace report[/] · [bold]tailrace report first --json[/]
    """
    from tailrace.findings import verdict_of
    from tailrace.findings.activity import activity_of
    from tailrace.trace import sources

    source = source or newest_run(as_json)
    with reported_errors(as_json):
        run = sources.read(source)
        with output.progress_of(f"read {source.name}") as tell:
            activity = activity_of(output.with_progress(run.parts, run.count, tell))
        if len(activity.begin) == 0 and activity.counted_calls > 0:
            output.fail(f"{source}: its calls are only counted, so nothing can be said about the seconds of the run", as_json)
            raise typer.Exit(2)
        verdict = verdict_of(activity)
    if as_json:
        output.print_json({"source": str(source), **dataclasses.asdict(verdict)})
    else:
        _print(source, verdict)
    for message in run.damaged:
        output.fail(message)
    if run.damaged:
        raise typer.Exit(1)


def newest_run(as_json: bool = False) -> Path:
    runs = [path for path in Path().glob("tailrace-run-*") if path.is_dir()]
    if not runs:
        output.fail("no folder tailrace-run-N here: name the folder of a run, or make one by `tailrace run -- COMMAND`", as_json)
        raise typer.Exit(2)
    return max(runs, key=lambda path: path.stat().st_mtime)


def headline(verdict: Verdict) -> str:
    """One sentence: what I/O cost, and its first cause."""
    share = verdict.io_s / verdict.duration_s if verdict.duration_s else 0.0
    text = f"I/O took {100 * share:.0f} % of {seconds_text(verdict.duration_s)}"
    if not verdict.findings:
        return f"{text}; no cause of it costs 1 % of the run"
    first = verdict.findings[0]
    return f"{text}: {seconds_text(first.seconds)} because {first.what}"


def seconds_text(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.0f} s"
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def _print(source: Path, verdict: Verdict) -> None:
    console = output.console()
    ranks = f"{verdict.ranks} ranks" if verdict.ranks else f"{verdict.processes} process{'es' if verdict.processes > 1 else ''}"
    console.print(f"{output.escape(output.plain(str(source)))}: {ranks}", soft_wrap=True)
    console.print(f"[bold]{output.escape(output.plain(headline(verdict)))}[/]", soft_wrap=True)
    for finding in verdict.findings:
        _print_finding(finding)
    if len(verdict.findings) > 1:
        console.print(f"\ntogether {seconds_text(verdict.found_s)}: seconds that several causes share count once")
    if verdict.counted_calls:
        count = output.count_text(verdict.counted_calls)
        console.print(f"{count} calls were only counted, and are in none of these seconds; give more with `run --budget`")


def _print_finding(finding: Finding) -> None:
    console = output.console()

    def line(text: str) -> None:
        console.print(output.escape(output.plain(text)), soft_wrap=True)

    console.print(f"\n[bold]{seconds_text(finding.seconds):>8}  {output.escape(finding.title)}[/]  ({100 * finding.share:.0f} %)")
    line(f"          {finding.what}")
    line(f"          remedy: {finding.remedy}")
    for each in finding.lines:
        line(f"              {each}")
    where = f", ranks {', '.join(map(str, finding.ranks[:8]))}{' ...' if len(finding.ranks) > 8 else ''}" if finding.ranks else ""
    line(
        f"          how: {finding.how}; {output.count_text(finding.calls)} calls from {seconds_text(finding.begin_s)} to "
        f"{seconds_text(finding.end_s)}{where}; confidence: {finding.confidence}"
    )
    if finding.overlaps:
        line(f"          some of these seconds are also in: {', '.join(finding.overlaps)}")
