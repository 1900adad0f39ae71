"""Lists and extracts the files in bundles of the drain, by the program tailraced."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tailrace.stage.drain import StageError, answers, shown_name

MAGIC = b"TRBUNDLE"
END_BYTES = 64
BUNDLE_NAME = re.compile(r".+-[0-9a-f]{8}-\d+\.tar(\.zst)?")


def is_bundle(path: Path) -> bool:
    """Whether a file ends as a bundle does; it may still be damaged."""
    try:
        with open(path, "rb") as file:
            file.seek(-END_BYTES, os.SEEK_END)
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def is_named_as_tar(path: Path) -> bool:
    """Whether a file has the ending of bundles, and of other tar files."""
    return path.name.endswith((".tar", ".tar.zst"))


def has_bundles(folder: Path) -> bool:
    """Whether a folder has files that are named as bundles are: NODE-TOKEN-NUMBER.tar or .tar.zst."""
    return folder.is_dir() and any(BUNDLE_NAME.fullmatch(name) for name in os.listdir(folder))


def members(bundle: Path, names: Sequence[str] = ()) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The members with these names, and all members below those that are folders. No names: all. `bundle` may be a folder of
    bundles.

    Returns (members, facts). Each member has name, type, link, mode, bytes, mtime_ns, data_at and bundle. Facts are members, taken
    (how many were passed over, because later runs have taken them out of the bundles of the folder), shown and seconds; the seconds
    do not include Python. Raises StageError."""
    found: list[dict[str, Any]] = []
    for line in answers("list", str(bundle), *names):
        if line["kind"] == "end":
            return found, line
        found.append(
            {**line, "name": shown_name(line["name"]), "link": shown_name(line["link"]), "bundle": shown_name(line["bundle"])}
        )
    raise _silent(bundle)


def extract(bundle: Path, into: Path, names: Sequence[str] = ()) -> dict[str, Any]:
    """Makes the files of these names below `into`, and all below those that are folders; without names: all. `bundle` may be a
    folder of bundles; of a file that was delivered twice the later copy counts.

    No existing file is replaced, and no file is made outside of `into`. Returns members, taken (as members() does), files, bytes
    and seconds. Raises StageError."""
    for line in answers("extract", str(bundle), str(into), *names):
        if line["kind"] == "end":
            return line
    raise _silent(bundle)


def taken_text(taken: int) -> str:
    """What is said of files that were passed over."""
    files = "1 file was" if taken == 1 else f"{taken:,} files were"
    return f"{files} taken out by later runs, and passed over; name a bundle instead of its folder for the copies in it"


def _silent(bundle: Path) -> StageError:
    return StageError(f"tailraced ended while it read {bundle}, without an error message: run the command again")
