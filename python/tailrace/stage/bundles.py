"""Lists and extracts the files in bundles of the drain, by the program tailraced."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from tailrace.stage.drain import StageError, answers, checked, name_of, program, shown_name

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


def contents(bundle: Path) -> Iterator[tuple[dict[str, Any], Iterator[bytes]]]:
    """All members as members() has them, but with names as they are, each with the bytes of its file, piece by piece. Another name
    of a file has the bytes, too. Reads from the begin of a bundle to its end, and makes no file. The pieces of a member can be read
    until the next member is asked for. Raises StageError, for bytes with another checksum behind the last of them."""
    with subprocess.Popen([program(), "contents", str(bundle)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            member = checked(json.loads(line))
            if member["kind"] == "end":
                return
            member.update({key: name_of(member[key]) for key in ("name", "link", "bundle")})
            pieces = _pieces(process.stdout, member["bytes"])
            yield member, pieces
            for _ in pieces:  # what was not read
                pass
    raise _silent(bundle)


def _pieces(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (line := file.readline()):
        piece = file.read(checked(json.loads(line))["bytes"])
        size -= len(piece)
        yield piece


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
