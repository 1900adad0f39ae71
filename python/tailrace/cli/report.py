"""tailrace report: why a recorded run was slow, what that cost, and what to change."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli import output
from tailrace.cli.trace.choices import reported_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailrace.findings import Finding, Verdict
    from tailrace.trace.log_process import LogReader
    from tailrace.trace.model import Run


def command(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="Folder of a run, or of its Parquet tables. Default: the newest tailrace-run-N in this folder.",
        ),
    ] = None,
    other: Annotated[
        Path | None, typer.Argument(metavar="[OTHER]", help="A second run: shows what changed from SOURCE to OTHER.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also writes the report as one HTML file, which needs no network.")
    ] = None,
    anonymise: Annotated[
        bool,
        typer.Option(
            "--anonymise",
            help="Replaces the names of files, hosts and programs by aliases, so that you can show the report to others.",
        ),
    ] = False,
    as_json: output.AsJson = False,
) -> None:
    """Shows what the I/O of a recorded run cost, why, and what to change: each cause with the seconds that it took of the run.

    Examples: [bold]tailrace report[/] · [bold]tailrace report first --html first.html[/] · [bold]tailrace report first second[/]
    """
    from tailrace.findings import verdict_of
    from tailrace.findings.wording import NO_TIMES, headline_of_sums
    from tailrace.trace.anonymous import Anonymous
    from tailrace.trace.model import Run

    source = source or newest_run(as_json)
    if other is not None:
        _compare((source, other), page, anonymise=anonymise, as_json=as_json)
        return
    name = Path("a run") if anonymise else source
    with reported_errors(as_json), _kept_logs(source, wanted=page is not None and not anonymise) as logs:
        with output.progress_of(f"read {source.name}") as tell:
            if anonymise:
                run = Anonymous().read(source, tell)
            elif logs is not None:
                run = Run.of_parts(logs.parts(), source, tell, with_calls=True)
            else:
                run = Run.read(source, tell, with_calls=True)
        activity = run.activity
        only_counted = activity is None or (len(activity.begin) == 0 and activity.counted_calls > 0)
        if only_counted and page is None:
            output.fail(
                f"{source}: its calls are only counted, so no cause can be given in seconds; --html FILE writes the sums",
                as_json,
            )
            raise typer.Exit(2)
        verdict = None if activity is None or only_counted else verdict_of(activity)
        if page is not None:
            from tailrace.report.run_page import write_run_page

            write_run_page(None if anonymise else source, run, verdict, page, logs)
    if verdict is None:
        output.console().print(
            output.escape(f"{name}: {headline_of_sums(run)}. {NO_TIMES[0].upper()}{NO_TIMES[1:]}; {page} has the sums"),
            soft_wrap=True,
        )
    elif as_json:
        output.print_json({"source": str(name), **dataclasses.asdict(verdict)})
    else:
        _print(name, verdict, run)
    for message in run.messages["damaged"]:
        output.fail(message)
    if run.messages["damaged"]:
        raise typer.Exit(1)


def _kept_logs(source: Path, *, wanted: bool) -> contextlib.AbstractContextManager[LogReader | None]:
    """Opens the logs of the folder `source`, for the HTML page. Gives None if no page is wanted, or `source` has no logs."""
    from tailrace.trace.log_process import open_logs
    from tailrace.trace.sources import run

    return open_logs(source, keeps=True) if wanted and run.accepts(source) else contextlib.nullcontext()


def _compare(paths: tuple[Path, Path], page: Path | None, *, anonymise: bool, as_json: bool) -> None:
    from tailrace.findings.two_runs import compare
    from tailrace.report import two_runs_page
    from tailrace.trace.anonymous import Anonymous
    from tailrace.trace.model import Run

    anonymous = Anonymous()
    runs = []
    with reported_errors(as_json):
        for path in paths:
            with output.progress_of(f"read {path.name}") as tell:
                runs.append(anonymous.read(path, tell) if anonymise else Run.read(path, tell, with_calls=True))
        two = compare(runs[0], runs[1])
        names = ("a run", "another run") if anonymise else (str(paths[0]), str(paths[1]))
        if page is not None:
            two_runs_page.write_two_page(names, two, page)
    if as_json:
        output.print_json(two_runs_page.to_json(names, two))
    else:
        two_runs_page.print_two(output.console(), names, two)
    damaged = [message for run in runs for message in run.messages["damaged"]]
    for message in damaged:
        output.fail(message)
    if damaged:
        raise typer.Exit(1)


def newest_run(as_json: bool = False) -> Path:
    runs = [path for path in Path().glob("tailrace-run-*") if path.is_dir()]
    if not runs:
        output.fail("no folder tailrace-run-N here: name the folder of a run, or make one by `tailrace run -- COMMAND`", as_json)
        raise typer.Exit(2)
    return max(runs, key=lambda path: path.stat().st_mtime)


def _print(source: Path, verdict: Verdict, run: Run) -> None:
    from tailrace.findings import wording

    console = output.console()
    ranks = f"{verdict.ranks} rank{'s' if verdict.ranks > 1 else ''}" if verdict.ranks else ""
    ranks = ranks or f"{verdict.processes} process{'es' if verdict.processes > 1 else ''}"
    console.print(f"{output.escape(str(source))}: {ranks}", soft_wrap=True)
    console.print(f"[bold]{output.escape(wording.headline(verdict))}[/]", soft_wrap=True)
    for finding in verdict.findings:
        _print_finding(finding, [other.title for other in verdict.findings if other.rule in finding.overlaps])
    notes = wording.notes(verdict, run)
    if notes:
        console.print("\n" + output.escape("\n".join(notes)), soft_wrap=True)


def _print_finding(finding: Finding, overlaps: Sequence[str]) -> None:
    from tailrace.findings import wording
    from tailrace.quantities import seconds_text

    console = output.console()
    seconds = f"{seconds_text(finding.seconds):>8}"
    console.print(f"\n[bold]{seconds}  {output.escape(finding.title)}[/]  ({100 * finding.share:.0f} %)")
    lines = [finding.what, f"remedy: {finding.remedy}", *(f"    {line}" for line in finding.lines), f"how: {wording.how(finding)}"]
    if overlaps:
        lines.append(f"some of these seconds are also in: {'; '.join(overlaps)}")
    for line in lines:
        console.print(f"          {output.escape(line)}", soft_wrap=True)
