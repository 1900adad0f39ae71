"""tailrace check: what of a program can be traced, before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.trace.check import Report, Verdict, check
from tailrace.trace.launch import NotTraceable
from tailrace.trace.loader import NoProgram

WORDS = {
    Verdict.SEEN: "[green]every call that goes through the C library will be seen[/]",
    Verdict.GAPS: "[yellow]calls will be seen, but for the gaps below[/]",
    Verdict.UNTRACEABLE: "[bold red]cannot be traced[/]",
}
SHORT = {Verdict.SEEN: "", Verdict.GAPS: "gap", Verdict.UNTRACEABLE: "no"}


def command(
    program: Annotated[str, typer.Argument(help="A program, by its name on the PATH or by its path.")],
    every: Annotated[bool, typer.Option("--all", help="Also what is no gap, of each library by itself.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Says what of a program `tailrace run` will see, and what not, from its file and those of its libraries; nothing is run.

    The exit status is 0 when every call will be seen, 1 when there are gaps, which are named, 2 when it cannot be traced.

    Examples: [bold]tailrace check ./model[/] · [bold]tailrace check ncgen --json[/]
    """
    try:
        report = check(program)
    except (NoProgram, NotTraceable) as error:
        output.fail(str(error), as_json)
        raise typer.Exit(2) from None
    if as_json:
        output.print_json(report.as_json())
    else:
        _print(report, every)
    raise typer.Exit(int(report.verdict))


def _print(report: Report, every: bool) -> None:
    """Gaps one by one; what is no gap by its kind, unless all is wanted."""
    console = output.console()
    program = report.program
    started = " → ".join(map(str, (*program.scripts, program.elf.path)))
    console.print(f"{output.escape(started)}: {WORDS[report.verdict]}")
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
