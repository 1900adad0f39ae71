"""tailrace drain status: shows which files of a folder are delivered, still on scratch, or failed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer

from tailrace.cli import output
from tailrace.cli.drain.choices import Scratch
from tailrace.cli.drain.delivery import print_left
from tailrace.place.stage_rules import NOT_COMPRESSED
from tailrace.plain_text import quoted
from tailrace.quantities import seconds_text
from tailrace.stage import drain
from tailrace.stage.scratch_folder import run_of


def command(scratch: Scratch, as_json: output.AsJson = False) -> None:
    """Shows the state of a folder's drain: files delivered, on scratch and failed, and the age of the oldest. Changes nothing.

    The exit status is 1 when files are on scratch and no drain is running.

    Examples: [bold]tailrace drain status $TMPDIR/out[/]
    """
    show(scratch, drain.status(scratch), as_json=as_json)


def show(scratch: Path, status: dict[str, Any], *, as_json: bool) -> None:
    """Prints the state of the drain, and ends the command."""
    if as_json:
        output.print_json({"scratch": str(scratch), **status})
    else:
        console = output.console()
        for text in _texts(scratch, status):
            console.print(output.plain(text), markup=False, soft_wrap=True)
        print_left(status["left"])
    raise typer.Exit(0 if status["outcome"] == "running" or is_delivered(status) else 1)


def is_delivered(status: dict[str, Any]) -> bool:
    return status["staged_files"] == 0 and status["to_remove"] == 0


def _texts(scratch: Path, status: dict[str, Any]) -> list[str]:
    now = time.time()
    texts = [f"{scratch}: {_outcome(scratch, status, now)}"]
    if status["target"]:
        delivered = f"{output.count_text(status['delivered_files'])} files, {output.bytes_text(status['delivered_bytes'])}"
        texts.append(f"  delivered: {delivered}, to {status['target']} ({_form(status)})")
    staged = f"{output.count_text(status['staged_files'])} files, {output.bytes_text(status['staged_bytes'])}"
    oldest = f", the oldest written {seconds_text(max(now - status['oldest_s'], 0))} ago" if status["staged_files"] else ""
    texts.append(f"  on scratch: {staged}{oldest}")
    if status["early_files"]:
        copied = f"{output.count_text(status['early_files'])} files, {output.bytes_text(status['early_bytes'])}"
        texts.append(f"  of them copied while the program ran, without their names yet: {copied}")
    if status["early_stopped_because"]:
        texts.append(f"  copying while the program runs has stopped: {status['early_stopped_because']}")
    if status["to_remove"]:
        texts.append(f"  delivered, and not yet removed from scratch: {output.count_text(status['to_remove'])} files")
    return texts


def _form(status: dict[str, Any]) -> str:
    return str(status["sink"]) + ("" if status["compression"] == NOT_COMPRESSED else f", {status['compression']}")


def _outcome(scratch: Path, status: dict[str, Any], now: float) -> str:
    remedy = f"`tailrace drain resume {quoted(scratch)}` continues"
    run = run_of(scratch)
    of_run = bool(run) and run.get("process") == status["process"]  # no drain has begun since
    match status["outcome"]:
        case "running" if of_run:
            return f"the run of process {status['process']} writes to it, and delivers its files when it ends"
        case "killed" if of_run:
            return f"the run of process {status['process']} was killed before its files were delivered; {remedy}"
        case "none":
            return f"not drained yet: `tailrace drain copy {quoted(scratch)} TARGET` begins"
        case "running":
            return f"process {status['process']} has been draining it for {seconds_text(max(now - status['started_s'], 0))}"
        case "killed":
            return f"the last drain was killed before its end; {remedy}"
        case "stopped":
            return f"the last drain had to stop: {status['stopped_because']}; {remedy}"
        case _:
            ended = f"the last drain ended {seconds_text(max(now - status['ended_s'], 0))} ago"
            return f"{ended}, and everything is delivered" if is_delivered(status) else f"{ended}; {remedy} with what is there"
