"""tailrace trace phases: the phases of an MPI program, and how long ranks wait in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli import output
from tailrace.cli.trace.choices import reported_errors

if TYPE_CHECKING:
    from tailrace.trace.phases import Phase, Phases


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of a recorded run of an MPI program.")],
    top: Annotated[int, typer.Option("--top", min=1, help="Number of phases to show: the longest ones.")] = 20,
    as_json: output.AsJson = False,
) -> None:
    """Shows the phases of an MPI program: their time, their I/O, and how long ranks wait for the last one.

    A phase is what the program marks (tailrace_phase_begin, MPI_Pcontrol). Without marks, it is what ranks do up to the end of a
    collective of all ranks; its name has the functions that did its I/O, else those of its two collectives. "late by I/O" is the
    part of the waiting that the last rank's I/O explains.

    Examples: [bold]tailrace trace phases tailrace-run-1[/] · [bold]tailrace trace phases first --json[/]
    """
    from tailrace.trace.log import read_run
    from tailrace.trace.phases import phases_of

    with reported_errors(as_json):
        logs, damaged = read_run(folder)
        found = phases_of(logs)
    if as_json:
        output.print_json(found.to_json() | {"damaged": damaged})
    else:
        _print(found, top)
        for message in damaged:
            output.fail(message)
    if damaged or found.unmatched:
        raise typer.Exit(1)


def _print(found: Phases, top: int) -> None:
    console = output.console()
    if not found.phases:
        console.print("no rank of an MPI program is in these logs; record one with `tailrace run -- mpirun ...`")
        return
    numbers = ("times", "seconds", "slowest rank", "I/O s", "read", "written", "waiting s", "late by I/O")
    shown = output.table("phase", *numbers, "arrived last", numbers=numbers)
    longest = sorted(sorted(found.phases, key=lambda phase: -phase.seconds)[:top], key=found.phases.index)
    for phase in longest:
        shown.add_row(*map(output.escape, _cells(phase)))
    console.print(shown)
    console.print(
        f"{found.ranks} ranks; seconds are means over ranks; waiting is from the arrival of the first rank to that of the last"
    )
    if len(found.phases) > top:
        console.print(f"{len(found.phases)} phases; --top shows more")
    for message in found.unmatched:
        console.print(f"not compared: {output.escape(message)}", highlight=False)


def _cells(phase: Phase) -> tuple[str, ...]:
    late = f"{100 * phase.late_by_io_s / phase.sync_s:.0f} %" if phase.sync_s > 0 else ""
    last = ", ".join(f"rank {rank} ({count})" for rank, count in sorted(phase.last_ranks.items(), key=lambda item: -item[1])[:2])
    return (
        phase.name,
        output.count_text(phase.times),
        f"{phase.seconds:.3f}",
        f"{phase.most_s:.3f} ({phase.slowest_rank})",
        f"{phase.io_s:.3f}",
        output.bytes_text(phase.read_bytes),
        output.bytes_text(phase.written_bytes),
        f"{phase.sync_s:.3f}" if phase.collectives else "",
        late,
        last,
    )
