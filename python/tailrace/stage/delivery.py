"""Delivers the files that a run has left on scratch to their target. Prints the progress, and names the files that are left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tailrace.quantities import bytes_text, number_of, seconds_text
from tailrace.stage import drain
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import Folders, ScratchFolder

MOST_NAMED = 5
PAUSE_S = 2.0  # between lines of progress
Say = Callable[[str], None]


class _Progress:
    """Lines such as: 40 % of 3.0 GiB delivered, 120 MiB/s, 15 s left."""

    def __init__(self, total_bytes: int, say: Say) -> None:
        self.total_bytes, self.say = total_bytes, say
        self.next_s = time.monotonic() + PAUSE_S

    def __call__(self, now: dict[str, Any]) -> None:
        if time.monotonic() < self.next_s or not self.total_bytes:
            return
        self.next_s = time.monotonic() + PAUSE_S
        rate = now["bytes"] / max(now["seconds"], 1e-9)
        left_s = max(self.total_bytes - now["bytes"], 0) / rate if rate > 0 else 0.0
        done = 100 * min(now["bytes"] / self.total_bytes, 1)
        self.say(
            f"{done:.0f} % of {bytes_text(self.total_bytes)} delivered, {bytes_text(rate)}/s"
            + (f", {seconds_text(left_s)} left" if rate > 0 else "")
        )


def deliver(
    scratch: ScratchFolder,
    base: str,
    target: str,
    sink: str,
    bundle_bytes: int,
    say: Say,
    torn: Sequence[str],
    wait_s: float,
) -> list[str]:
    """Moves all files to the target, and removes the scratch folder when all are delivered. Prints and returns a text for each file
    that is not delivered, or is torn."""
    remedy = f"`tailrace drain resume {scratch.path}` continues"
    scratch.release()
    try:
        staged = drain.status(Path(scratch.path))
        folders = Folders(scratch.path, base)
        progress = _Progress(staged["staged_bytes"], say)
        answer = drain.copy(Path(scratch.path), Path(target), sink, bundle_bytes, wait_s, progress, torn)
    except StageError as error:
        say(f"files are not delivered: {error}; they stay in {scratch.path}, and {remedy}")
        return [f"files are not delivered: {error}"]
    except KeyboardInterrupt:
        say(f"interrupted before all files were delivered; the others stay in {scratch.path}, and {remedy}")
        return ["interrupted before all files were delivered"]
    if sink == "mirror":
        folders.restore_times()
    rate = bytes_text(answer["bytes"] / max(answer["seconds"], 1e-9))
    bundles = f" in {number_of(answer['bundles'], 'bundle')}" if answer["bundles"] else ""
    say(
        f"delivered to {target}: {number_of(answer['files'], 'file')}{bundles}, {bytes_text(answer['bytes'])} "
        f"in {seconds_text(answer['seconds'])}, {rate}/s{copied_before(answer)}"
    )
    if answer["early_stopped_because"]:
        say(f"copying while the program ran had stopped: {answer['early_stopped_because']}")
    left = [f"{one['path']}: {one['why']}" for one in answer["left"]]
    problems = [
        *_named("torn, because its process was killed while it had the file open", answer["torn"]),
        *_named("not delivered", left),
    ]
    for problem in problems:
        say(problem)
    if left:
        say(f"what is not delivered stays in {scratch.path}; {remedy}")
    else:
        scratch.remove()
    return problems


def copied_before(answer: dict[str, Any]) -> str:
    """A text: how many of the delivered files had been copied while the program ran; "" if none."""
    if not answer["early_files"]:
        return ""
    copied = f"{number_of(answer['early_files'], 'file')}, {bytes_text(answer['early_bytes'])}"
    return f"; of them {copied} had been copied while the program ran"


def remove_copies(scratch: ScratchFolder, target: str) -> None:
    """Removes the copies at the target if the program has removed all its files. `tailrace drain scavenge` finds copies that
    cannot be removed now."""
    scratch.release()
    with contextlib.suppress(StageError):
        drain.copy(Path(scratch.path), Path(target))


def _named(what: str, names: Sequence[str]) -> list[str]:
    found = [f"{what}: {name}" for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        found.append(f"{what}: and {len(names) - MOST_NAMED:,} more")
    return found
