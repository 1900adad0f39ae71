"""The files that a run leaves in its copy of the working folder, by the names that programs see. A file in a tree has its logical
name."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailrace.compare.contents import ContentReader, Contents
from tailrace.place.mapping import Mapping as PlaceMapping
from tailrace.stage import bundles

READERS = 8  # threads that read files
DIGEST = "blake2b"
EXTRACTED = 100  # files of bundles at once, because a command line is limited
PERMISSIONS = 0o777  # of a file in a bundle
AS_BEFORE = "as before"  # instead of the checksum of a file that a run has not changed


@dataclass(frozen=True)
class Entry:
    """What one name refers to. Two entries are the same if all fields but `says` are equal."""

    kind: str  # file, link, folder, or special
    mode: int
    size_bytes: int = 0
    content: str = ""  # the checksum of a file, the text of a link
    says: Contents | None = field(default=None, compare=False)  # the content of a NetCDF or HDF5 file whose bytes differ

    def is_like(self, other: Entry) -> bool:
        """Whether all but the bytes of a file is equal."""
        return self.kind == other.kind == "file" and self.mode == other.mode


@dataclass(frozen=True)
class Directories:
    """The directories of the files that a run has made or changed."""

    entries: Mapping[str, int]  # path in the working folder -> its number of entries, of all kinds and also from before the run

    @property
    def count(self) -> int:
        return len(self.entries)

    @property
    def most_entries(self) -> int:
        return max(self.entries.values(), default=0)

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "most_entries": self.most_entries, "entries": dict(self.entries)}


@dataclass(frozen=True)
class Outputs:
    entries: Mapping[str, Entry]  # by logical name, relative to the working folder
    directories: Directories
    made: int  # files that were made or changed
    ambiguous: tuple[str, ...]  # logical names for which two files exist, at different physical paths


Stamps = dict[str, tuple[int, int, int]]


class Reading:
    """Which files are read as NetCDF or HDF5: those whose bytes are not those of the first plain run. `first`: its outputs; None:
    this is the first run. `reader` None: only the bytes of files are compared."""

    def __init__(self, reader: ContentReader | None = None, first: Outputs | None = None) -> None:
        self._reader, self._first = reader, first

    def is_read(self, name: str, checksum: str) -> bool:
        found = self._first.entries.get(name) if self._first is not None else None
        return self._reader is not None and (found is None or found.content != checksum)

    def contents(self, name: str, path: str, checksum: str) -> Contents | None:
        return self._reader.read(path) if self._reader is not None and self.is_read(name, checksum) else None


ONLY_BYTES = Reading()


def stamps_of(folder: Path) -> Stamps:
    """For each physical path below the folder: inode number, size and time of change, which differ after a file was written."""
    return {path: _stamp(status) for path, status in _walk(folder)}


def outputs_of(
    folder: Path, before: Stamps, mapping: PlaceMapping, reading: Reading = ONLY_BYTES, ignored: Collection[str] = ()
) -> Outputs:
    """Reads each file that was changed since `before`. `ignored`: paths of files that are no outputs themselves."""
    entries: dict[str, Entry] = {}
    ambiguous = []
    made: dict[str, None] = {}  # directories of files that the run has made
    counts: dict[str, int] = {}
    files = 0
    found = list(_walk(folder))
    changed = {path for path, status in found if before.get(path) != _stamp(status)}
    checksums = _checksums((path, status) for path, status in found if path in changed and path not in ignored)
    for path, status in found:
        inner = os.path.relpath(os.path.dirname(path), folder)
        counts[inner] = counts.get(inner, 0) + 1
        logical = path
        if stat.S_ISDIR(status.st_mode):
            if _is_in_tree(mapping, folder, path):
                continue
        elif stat.S_ISREG(status.st_mode):
            logical = mapping.logical(path) or path
        if stat.S_ISREG(status.st_mode) and path in changed:
            made[inner] = None
            files += 1
        if path in ignored:
            continue
        key = os.path.relpath(logical, folder)
        if key in entries:
            ambiguous.append(key)
        entries[key] = _entry(key, path, status, reading, checksums.get(path, "") if path in changed else AS_BEFORE)
    return Outputs(entries, Directories({inner: counts[inner] for inner in sorted(made)}), files, tuple(ambiguous))


def with_bundled(outputs: Outputs, folder: Path, below: str, extracted: Path, reading: Reading) -> Outputs:
    """The outputs, and the files in the bundles of a folder, which replace outputs of the same name. `below`: the folder to which
    their names are relative. Bundles contain no folders that are not there. Files that are to be read as NetCDF or HDF5 are
    extracted to `extracted`. Raises StageError."""
    entries = dict(outputs.entries)
    to_read: dict[str, str] = {}  # name in its bundle -> output
    for member, pieces in bundles.contents(folder):
        key = os.path.normpath(os.path.join(below, member["name"]))
        if member["type"] == "symbolic_link":
            entries[key] = Entry("link", 0, 0, member["link"])
        elif member["type"] != "folder":
            checksum = _checksum_of_pieces(pieces)
            entries[key] = Entry("file", member["mode"] & PERMISSIONS, member["bytes"], checksum)
            if reading.is_read(key, checksum):
                to_read[member["name"]] = key
    names = list(to_read)
    for begin in range(0, len(names), EXTRACTED):
        bundles.extract(folder, extracted, names[begin : begin + EXTRACTED])
    for name, key in to_read.items():
        entry = entries[key]
        entries[key] = replace(entry, says=reading.contents(key, os.path.join(extracted, name), entry.content))
    return replace(outputs, entries=entries)


def _is_in_tree(mapping: PlaceMapping, folder: Path, path: str) -> bool:
    """Whether a directory belongs to a tree: its name, or that of a directory above it, is one that the rules make."""
    top = os.fspath(folder)
    while path != top:
        parent, name = os.path.split(path)
        if mapping.is_tree(parent, name):
            return True
        path = parent
    return False


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [os.fspath(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as found:
            for entry in found:
                status = entry.stat(follow_symlinks=False)
                yield entry.path, status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return (status.st_ino, status.st_size, status.st_ctime_ns)


def _entry(name: str, path: str, status: os.stat_result, reading: Reading, checksum: str) -> Entry:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", 0, 0, os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        return Entry("special", status.st_mode)
    if checksum == AS_BEFORE:
        return Entry("file", mode, status.st_size, AS_BEFORE)
    return Entry("file", mode, status.st_size, checksum, reading.contents(name, path, checksum))


def _checksums(found: Iterable[tuple[str, os.stat_result]]) -> dict[str, str]:
    """Of the regular files among these. Several at a time, because each small file of a server takes a millisecond."""
    files = [path for path, status in found if stat.S_ISREG(status.st_mode)]
    with ThreadPoolExecutor(READERS) as pool:
        return dict(zip(files, pool.map(checksum_of, files), strict=True))


def checksum_of(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, DIGEST).hexdigest()


def _checksum_of_pieces(pieces: Iterable[bytes]) -> str:
    digest = hashlib.new(DIGEST)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
