"""Reads bundles of the drain, by the program tailraced: what is in one, and files out of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tailrace.stage.drain import StageError, program, shown_name

MAGIC = b"TRBUNDLE"
END_BYTES = 64


def is_bundle(path: Path) -> bool:
    """Whether a file ends as a bundle does; it may still be damaged."""
    try:
        with open(path, "rb") as file:
            file.seek(-END_BYTES, os.SEEK_END)
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def members(bundle: Path, names: Sequence[str] = ()) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The members of these names, and all below those that are folders; without names: all. Each has name, type, link, mode, bytes,
    mtime_ns and data_at. Behind them: members, shown and seconds, in which nothing of Python is. Raises StageError."""
    found: list[dict[str, Any]] = []
    for line in _answers("list", str(bundle), *names):
        if line["kind"] == "end":
            return found, line
        found.append({**line, "name": shown_name(line["name"]), "link": shown_name(line["link"])})
    raise _silent(bundle)


def extract(bundle: Path, into: Path, names: Sequence[str] = ()) -> dict[str, Any]:
    """Makes the files of these names below `into`, and all below those that are folders; without names: all. Nothing that is there
    is replaced, and nothing is made outside of `into`. Returns members, files, bytes and seconds. Raises StageError."""
    for line in _answers("extract", str(bundle), str(into), *names):
        if line["kind"] == "end":
            return line
    raise _silent(bundle)


def _answers(*words: str) -> Iterator[dict[str, Any]]:
    done = subprocess.run([program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        if answer["kind"] == "error":
            raise StageError(answer["message"])
        yield answer


def _silent(bundle: Path) -> StageError:
    return StageError(f"tailraced ended while it read {bundle}, and did not say why: run it again")
