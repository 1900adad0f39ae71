"""tailrace drain scavenge: finds files that killed jobs have left, and removes them with --remove."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.cli import output
from tailrace.plain_text import quoted
from tailrace.quantities import seconds_text
from tailrace.stage import drain

OF = {
    "extraction": "unfinished files of an extraction",
    "drain": "unfinished copies of a drain",
    "outbox": "the drain's own folder on scratch",
    "comparison": "a run's copy of the working folder",
}


def command(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Folders to search, with all folders below them.")],
    remove: Annotated[bool, typer.Option("--remove", help="Remove what may go. Without it, nothing is changed.")] = False,
    any_node: Annotated[
        bool, typer.Option("--any-node", help="Also remove files of jobs on other nodes. Use it only when those jobs have ended.")
    ] = False,
    as_json: output.AsJson = False,
) -> None:
    """Finds files that killed drains, extractions and comparisons have left. Lists what would be removed; --remove removes it.

    Files that a running process has locked stay. Files on scratch that are not delivered are named, and never removed. The exit
    status is 1 when files were found and not removed.

    Examples: [bold]tailrace drain scavenge $TMPDIR results[/] · [bold]tailrace drain scavenge $TMPDIR results --remove[/]
    """
    found: list[dict[str, Any]] = []
    unreadable = 0
    for folder in folders:
        more, skipped = drain.leftovers(folder, remove=remove, any_node=any_node)
        found += [each for each in more if each["state"] != "in use"]
        unreadable += skipped
    if as_json:
        for each in found:
            del each["folder"]
        output.print_json({"found": found, "unreadable_folders": unreadable})
    else:
        for each in found:
            output.console().print(output.plain(_text(each)), markup=False, soft_wrap=True)
        _print_end(found, unreadable)
    raise typer.Exit(0 if all(each["removed"] for each in found) else 1)


def _text(each: dict[str, Any]) -> str:
    age = seconds_text(max(time.time() - each["made_s"], 0)) if each["made_s"] else "an unknown time"
    size = f"{output.count_text(each['files'])} files, {output.bytes_text(each['bytes'])}"
    return f"{_verdict(each)}: {each['path']}: {OF[each['of']]}, {size}, made {age} ago"


def _verdict(each: dict[str, Any]) -> str:
    if each["removed"]:
        return "removed"
    match each["state"]:
        case "abandoned":
            return "would be removed"
        case "undelivered":
            return f"stays, because files are not delivered (`tailrace drain resume {quoted(each['folder'])}`)"
        case "elsewhere":
            return f"stays, because node {each['node']} made it (run the command there, or give --any-node)"
        case _:
            return "stays, because no lock shows whether its process still runs"


def _print_end(found: list[dict[str, Any]], unreadable: int) -> None:
    console = output.error_console()
    if not found:
        console.print("no files of killed jobs were found")
    if any(each["state"] == "abandoned" and not each["removed"] for each in found):
        console.print("nothing was changed; --remove removes what may go")
    if unreadable:
        console.print(f"{unreadable} folders could not be read")
