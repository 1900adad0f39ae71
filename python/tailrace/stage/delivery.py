"""What a run has left on scratch goes to its target, with progress, and what is left is named."""

from __future__ import annotations

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
) -> bool:
    """Carries everything to the target, and removes the folder when all is there. Whether all is delivered, whole and under its
    own name; what is not is named."""
    remedy = f"`tailrace drain resume {scratch.path}` continues"
    scratch.release()
    try:
        staged = drain.status(Path(scratch.path))
        folders = Folders(scratch.path, base)
        progress = _Progress(staged["staged_bytes"], say)
        answer = drain.copy(Path(scratch.path), Path(target), sink, bundle_bytes, wait_s, progress, torn)
    except StageError as error:
        say(f"files are not delivered: {error}; they stay in {scratch.path}, and {remedy}")
        return False
    except KeyboardInterrupt:
        say(f"interrupted before all files were delivered; the others stay in {scratch.path}, and {remedy}")
        return False
    if sink == "mirror":
        folders.restore_times()
    rate = bytes_text(answer["bytes"] / max(answer["seconds"], 1e-9))
    bundles = f" in {number_of(answer['bundles'], 'bundle')}" if answer["bundles"] else ""
    say(
        f"delivered to {target}: {number_of(answer['files'], 'file')}{bundles}, {bytes_text(answer['bytes'])} "
        f"in {seconds_text(answer['seconds'])}, {rate}/s"
    )
    _name(say, "torn, because its process was killed while it had it open", answer["torn"])
    if not answer["left"]:
        scratch.remove()
        return not answer["torn"]
    _name(say, "not delivered", [f"{one['path']}: {one['why']}" for one in answer["left"]])
    say(f"what is not delivered stays in {scratch.path}; {remedy}")
    return False


def _name(say: Say, what: str, names: Sequence[str]) -> None:
    for name in names[:MOST_NAMED]:
        say(f"{what}: {name}")
    if len(names) > MOST_NAMED:
        say(f"{what}: and {len(names) - MOST_NAMED:,} more")
