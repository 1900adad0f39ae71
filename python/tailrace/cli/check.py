"""tailrace check: finds out what of a program can be traced, before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.trace.check import Finding, Report, Verdict, check
from tailrace.trace.log_folder import NotTraceable
from tailrace.trace.program_file import NoProgram

SHORT = {Verdict.SEEN: "", Verdict.GAPS: "gap", Verdict.UNTRACEABLE: "no"}


def command(
    command: Annotated[
        list[str], typer.Argument(help="A program on the PATH, or its path. Its arguments may follow; put -- before them.")
    ],
    details: Annotated[
        bool, typer.Option("--details", help="Also prints a table: each gap, and the other findings by kind.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Prints the table of --details with a line for every finding.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Finds out what `tailrace run` will record of a program, from its file and its libraries. Runs nothing.

    Only the program is examined, not its arguments.

    The exit status is 0 when every call will be recorded, 1 when there are gaps, 2 when the program cannot be traced.

    Examples: [bold]tailrace check ./model[/] · [bold]tailrace check ncgen --details[/] ·
    [bold]tailrace check -- ./model -v in.nml[/]
    """
    try:
        report = check(command[0])
    except (NoProgram, NotTraceable) as error:
        output.fail(str(error), as_json)
        raise typer.Exit(2) from None
    if as_json:
        output.print_json(report.as_json())
    else:
        _print_verdict(report)
        if details or every:
            _print(report, every)
    raise typer.Exit(int(report.verdict))


def _print_verdict(report: Report) -> None:
    """Prints two lines: what will be recorded; then the reasons of gaps, or the command that checks the record after the run."""
    program = report.program
    name = (program.scripts or (program.elf.path,))[0].name
    by = f" (a script that {program.elf.path.name} runs)" if program.scripts else ""
    gaps = [finding for finding in report.findings if finding.verdict == report.verdict and finding.verdict != Verdict.SEEN]
    first, follows = {
        Verdict.SEEN: (
            "every call through the C library will be recorded",
            "after the run, `tailrace coverage` shows whether every call was recorded",
        ),
        Verdict.GAPS: ("calls will be recorded, with gaps", _reasons(gaps, "gap")),
        Verdict.UNTRACEABLE: ("nothing will be recorded", _reasons(gaps, "reason")),
    }[report.verdict]
    console = output.console()
    for line in (f"{name}{by}: {first}", follows):
        console.print(output.plain(line), markup=False, soft_wrap=True)


def _reasons(findings: list[Finding], word: str) -> str:
    first, *others = [f"{finding.where.name}: {finding.full_text}" for finding in findings] or [""]
    return f"{first}; {len(others)} more {word}{'s' if len(others) > 1 else ''} with --details" if others else first


def _print(report: Report, every: bool) -> None:
    """Prints each gap. Other findings are summed up by kind, unless `every` is set."""
    console = output.console()
    program = report.program
    started = " → ".join(map(str, (*program.scripts, program.elf.path)))
    console.print(f"{output.escape(started)}:")
    console.print(f"  {len(program.libraries)} libraries; MPI: {output.escape(report.mpi or 'none')}")
    known = [finding for finding in report.findings if finding.verdict == Verdict.SEEN]
    rows = [finding for finding in report.findings if finding.verdict != Verdict.SEEN or every]
    shown = output.table("what", "", "where", "")
    for finding in sorted(rows, key=lambda finding: -finding.verdict):
        shown.add_row(finding.kind, SHORT[finding.verdict], *map(output.escape, (finding.where.name, finding.full_text)))
    for kind in () if every else dict.fromkeys(finding.kind for finding in known):
        first, *others = (finding for finding in known if finding.kind == kind)
        where = first.where.name + (f" and {len(others)} more" if others else "")
        shown.add_row(kind, "", *map(output.escape, (where, first.text if others else first.full_text)))
    if shown.row_count:
        console.print(shown)
