"""Starts tailraced, and reads what it reports: one JSON object a line."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from tailrace import installed
from tailrace.place.stage_rules import NOT_COMPRESSED
from tailrace.plain_text import plain, quoted

BUNDLE_BYTES = 256 << 20


class StageError(RuntimeError):
    """Raised if a drain had to stop. The message says why, and what to do."""


def shown_name(escaped: str) -> str:
    """The readable form of a name that tailraced printed with %-escapes. Bytes that are no text become backslash escapes."""
    return plain(unquote_to_bytes(escaped).decode(errors="backslashreplace"))


def name_of(escaped: str) -> str:
    """The name itself, for calls of the system."""
    return os.fsdecode(unquote_to_bytes(escaped))


Progress = Callable[[dict[str, Any]], None]


class Stop:
    """A request to end a drain early. `request` may be called at any moment, also by a handler of signals."""

    def __init__(self) -> None:
        self.is_requested = False
        self._process: subprocess.Popen[str] | None = None

    def request(self) -> None:
        self.is_requested = True
        if self._process is not None:
            self._process.terminate()

    def watch(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        if self.is_requested:  # before the process was known
            process.terminate()


def program() -> str:
    """The path of tailraced."""
    found = installed.find("bin", "tailraced")
    if found is None:
        raise StageError(installed.missing("tailraced"))
    return str(found)


def answers(*words: str) -> Iterator[dict[str, Any]]:
    """Runs tailraced with these words, and yields the JSON objects that it prints. Raises StageError."""
    done = subprocess.run([program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        yield checked(json.loads(line))


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer. Raises StageError if it is an error."""
    if answer["kind"] == "error":
        raise StageError(answer["message"])
    return answer


def status(scratch: Path, wait_s: float | None = None) -> dict[str, Any]:
    """The state of a folder's drain, when it has ended or after `wait_s` seconds. None: the state now.

    Has outcome (none, running, ended, stopped, killed), is_in_time, process, target, sink, bundle_bytes, compression, started_s,
    ended_s, delivered_files, delivered_bytes, staged_files, staged_bytes, oldest_s, to_remove, stopped_because, and `left` as
    copy() has it. early_files and early_bytes are of those on scratch that were copied while the program runs;
    early_stopped_because says why that stopped. Raises StageError."""
    for found in answers("status", str(scratch), *([] if wait_s is None else ["--wait", str(wait_s)])):
        del found["kind"]
        found["target"] = name_of(found["target"])
        _show_names(found["left"])
        return found
    raise StageError(f"tailraced ended while it examined {scratch}, without an error message: run the command again")


def leftovers(folder: Path, *, remove: bool = False, any_node: bool = False) -> tuple[list[dict[str, Any]], int]:
    """The files and folders that killed jobs have left below a folder, and how many folders could not be read. Each has path
    (readable), folder (above it, as it is), of, state, node, made_s, files, bytes and removed. Raises StageError."""
    found: list[dict[str, Any]] = []
    options = [*(["--remove"] if remove else []), *(["--any-node"] if any_node else [])]
    for line in answers("scavenge", str(folder), *options):
        if line["kind"] == "end":
            return found, int(line["unreadable_folders"])
        del line["kind"]
        found.append({**line, "path": shown_name(line["path"]), "folder": os.path.dirname(name_of(line["path"]))})
    raise StageError(f"tailraced ended while it searched {folder}, without an error message: run the command again")


def _show_names(left: list[dict[str, Any]]) -> None:
    for one in left:
        one["path"] = shown_name(one["path"])


def copy(
    scratch: Path,
    target: Path,
    sink: str = "mirror",
    bundle_bytes: int = BUNDLE_BYTES,
    wait_s: float = 0,
    progress: Progress | None = None,
    torn: Sequence[str] = (),
    compression: str = NOT_COMPRESSED,
    stop: Stop | None = None,
) -> dict[str, Any]:
    """Carries all files of the folder `scratch` to `target`, and removes each from scratch once its copy was read again. Those of
    the paths `torn` get NAME.torn there. `compression`: of bundles, none, zstd or zstd:N.

    Returns files, bytes, bundles, copied_again, seconds, `torn`: names at the target that end with .torn, and
    `left`: a list of path and why, for what is still on scratch. early_files and early_bytes are of those that were copied
    while the program ran; early_stopped_because says why that stopped. Raises StageError where the drain had to stop, such as with
    a full target or by `stop`; then all that is not delivered is on scratch."""
    words = [program(), "copy", str(scratch), str(target), "--sink", sink]
    words += ["--bundle-bytes", str(bundle_bytes), "--compression", compression, "--wait", str(wait_s)]
    last: dict[str, Any] = {}
    with tempfile.NamedTemporaryFile() as names:
        names.write(b"".join(os.fsencode(path) + b"\0" for path in torn))
        names.flush()
        words += ["--torn", names.name]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if stop is not None:
                stop.watch(process)
            for line in process.stdout:
                last = json.loads(line)
                if last["kind"] == "progress" and progress is not None:
                    progress(last)
    if last.get("kind") == "error":
        remedy = f"; `tailrace drain resume {quoted(scratch)}` continues" if last["status"] == "STOPPED" else ""
        raise StageError(last["message"] + remedy)
    if last.get("kind") != "end":
        raise StageError(
            f"tailraced ended with status {process.returncode}, without an error message; undelivered files are in {scratch}: "
            "run the command again"
        )
    _show_names(last["left"])
    last["torn"] = [shown_name(path) for path in last["torn"]]
    del last["kind"]
    return last
