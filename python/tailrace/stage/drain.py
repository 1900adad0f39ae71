"""Starts tailraced, and reads what it reports: one JSON object a line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from tailrace import installed
from tailrace.plain_text import plain

SINKS = ("mirror", "bundle")
BUNDLE_BYTES = 256 << 20


class StageError(RuntimeError):
    """A drain that had to stop; the message says why, and how to mend it."""


def shown_name(escaped: str) -> str:
    """A name as tailraced prints it, for people: what is not text in it becomes escapes."""
    return plain(unquote_to_bytes(escaped).decode(errors="backslashreplace"))


Progress = Callable[[dict[str, Any]], None]


def program() -> str:
    """The path of tailraced."""
    found = installed.find("bin", "tailraced")
    if found is None:
        raise StageError(installed.missing("tailraced"))
    return str(found)


def copy(
    scratch: Path,
    target: Path,
    sink: str = "mirror",
    bundle_bytes: int = BUNDLE_BYTES,
    wait_s: float = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Carries all files of the folder `scratch` to `target`, and removes each from scratch once its copy was read again.

    Returns files, bytes, bundles, copied_again, seconds, and `left`: a list of path and why, for what is still on scratch. Raises
    StageError where the drain had to stop, such as with a full target; then all that is not delivered is on scratch."""
    words = [program(), "copy", str(scratch), str(target), "--sink", sink]
    words += ["--bundle-bytes", str(bundle_bytes), "--wait", str(wait_s)]
    last: dict[str, Any] = {}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last = json.loads(line)
            if last["kind"] == "progress" and progress is not None:
                progress(last)
    if last.get("kind") == "error":
        raise StageError(last["message"])
    if last.get("kind") != "end":
        raise StageError(
            f"tailraced ended with {process.returncode} and did not say why; {scratch} has what is not delivered: run it again"
        )
    for left in last["left"]:
        left["path"] = shown_name(left["path"])
    del last["kind"]
    return last
