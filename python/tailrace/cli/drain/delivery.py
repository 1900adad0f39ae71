"""What `tailrace drain copy` and `resume` share: run the drain, show its progress, name the files that are left."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from tailrace.cli import output
from tailrace.cli.run_signals import say_in_handler
from tailrace.plain_text import quoted
from tailrace.quantities import number_of
from tailrace.stage import drain, name_lists
from tailrace.stage.delivery import copied_before
from tailrace.stage.drain import Stop
from tailrace.stage.node_staging import torn_on_scratch
from tailrace.stage.over_target import deliver_over_target, locked
from tailrace.stage.scratch_folder import Folders, run_of


def deliver(
    scratch: Path,
    target: Path,
    sink: str,
    bundle_bytes: int,
    compression: str,
    wait_s: float,
    log: Path | None,
    *,
    as_json: bool,
) -> None:
    """Ends the command with status 0, or 1 where files are left or torn."""
    progress = None if as_json else _print_progress
    run = run_of(scratch)
    folders = Folders(str(scratch), run["base"]) if run else None
    torn = _torn(scratch, log)
    new = _set_aside(scratch, target, sink, run)
    if run and sink == "bundle":
        with locked(str(scratch)):
            deliver_over_target(str(scratch), run["base"], torn, wait_s)
    answer = drain.copy(
        scratch, target, sink, bundle_bytes, wait_s, progress, name_lists.renamed(torn, new), compression, _stop_by_signals()
    )
    answer["set_aside"] = new
    if folders is not None and sink == "mirror":
        folders.restore_times()
    if as_json:
        output.print_json(answer)
    else:
        _print(target, answer)
    raise typer.Exit(1 if answer["left"] or answer["torn"] or new else 0)


def _stop_by_signals() -> Stop:
    """SIGINT and SIGTERM end the drain in order; a second one ends this process at once."""
    stop = Stop()

    def take(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        stop.request()
        name = signal.Signals(number).name
        say_in_handler(f"interrupted by {name}: the drain stops. A second signal ends this command at once")

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, take)
    return stop


def _set_aside(scratch: Path, target: Path, sink: str, run: dict[str, Any]) -> dict[str, str]:
    """Of a run on several nodes: files whose names other nodes deliver, too, and the names that they get."""
    if not run.get("is_one_of_several"):
        return {}
    return name_lists.set_aside_by_lists(str(scratch), str(target), sink, Path(run["log"]), os.uname().nodename)


def _torn(scratch: Path, log: Path | None) -> list[str]:
    if log is None:
        return []
    from tailrace.trace.log import LogError
    from tailrace.trace.torn import torn_below

    base = run_of(scratch).get("base")
    try:
        return torn_on_scratch(str(scratch), base, log) if base else torn_below(scratch, log)
    except (LogError, OSError) as error:
        raise drain.StageError(
            f"{error}: so it is not known which files are torn. `tailrace drain copy {quoted(scratch)} TARGET` delivers all files"
        ) from None


def print_left(left: list[dict[str, Any]]) -> None:
    for one in left:
        output.console().print(output.plain(f"  left on scratch: {one['path']}: {one['why']}"), markup=False, soft_wrap=True)


def _text(answer: dict[str, Any]) -> str:
    rate = answer["bytes"] / max(answer["seconds"], 1e-9)
    size = f"{output.bytes_text(answer['bytes'])}, {output.bytes_text(int(rate))}/s"
    return f"{number_of(answer['files'], 'file')}, {size}"


def _print_progress(answer: dict[str, Any]) -> None:
    done = answer["files"] / max(answer["entries"], 1)
    left_s = answer["seconds"] / done - answer["seconds"] if done > 0 else 0
    output.error_console().print(f"{100 * min(done, 1):.0f} %, {_text(answer)}, {max(left_s, 0):.0f} s left")


def _print(target: Path, answer: dict[str, Any]) -> None:
    bundles = f" in {number_of(answer['bundles'], 'bundle')}" if answer["bundles"] else ""
    output.console().print(f"{output.escape(str(target))}: {_text(answer)}{bundles}, in {answer['seconds']:.2f} s", soft_wrap=True)
    if copied := copied_before(answer):
        output.console().print(f"  {copied.removeprefix('; ')}", soft_wrap=True)
    for path in answer["torn"]:
        output.console().print(
            output.plain(f"  torn, because its process was killed while it had the file open: {path}"), markup=False, soft_wrap=True
        )
    for path, name in answer["set_aside"].items():
        output.console().print(
            output.plain(f"  made on another node, too: {path}: that of this node is {name}"), markup=False, soft_wrap=True
        )
    print_left(answer["left"])
