"""What a run leaves in its copy of the working folder, by the names that programs see. A file in a tree has its logical name."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailrace.place.mapping import Mapping as PlaceMapping

AS_BEFORE = "as before"  # stands for the checksum of a file that a run has not touched


@dataclass(frozen=True)
class Entry:
    """One name. Two entries are the same when these are equal."""

    kind: str  # file, link, folder, or special
    mode: int
    size_bytes: int = 0
    content: str = ""  # the checksum of a file, the text of a link


@dataclass(frozen=True)
class Directories:
    """Where the files lie that a run has made or changed."""

    entries: Mapping[str, int]  # of each, by its path in the working folder: all kinds, also those that were there before

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
    twice: tuple[str, ...]  # logical names with two files


Stamps = dict[str, tuple[int, int, int]]


def stamps_of(folder: Path) -> Stamps:
    """What changes when a file is written, by physical path: inode, size and time of change."""
    return {path: _stamp(status) for path, status in _walk(folder)}


def outputs_of(folder: Path, before: Stamps, mapping: PlaceMapping) -> Outputs:
    """Reads each file that was changed since `before`."""
    entries: dict[str, Entry] = {}
    twice = []
    made: dict[str, None] = {}  # directories of files that the run has made
    counts: dict[str, int] = {}
    files = 0
    for path, status in _walk(folder):
        inner = os.path.relpath(os.path.dirname(path), folder)
        counts[inner] = counts.get(inner, 0) + 1
        logical = path
        if stat.S_ISDIR(status.st_mode):
            if _is_in_tree(mapping, folder, path):
                continue
        elif stat.S_ISREG(status.st_mode):
            logical = mapping.logical(path) or path
        was = before.get(path) == _stamp(status)
        if stat.S_ISREG(status.st_mode) and not was:
            made[inner] = None
            files += 1
        key = os.path.relpath(logical, folder)
        if key in entries:
            twice.append(key)
        entries[key] = _entry(path, status, is_as_before=was)
    return Outputs(entries, Directories({inner: counts[inner] for inner in sorted(made)}), files, tuple(twice))


def _is_in_tree(mapping: PlaceMapping, folder: Path, path: str) -> bool:
    """Whether a directory belongs to a tree: it, or one above it, has such a name."""
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


def _entry(path: str, status: os.stat_result, *, is_as_before: bool) -> Entry:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", 0, 0, os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        return Entry("special", status.st_mode)
    return Entry("file", mode, status.st_size, AS_BEFORE if is_as_before else _checksum(path))


def _checksum(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


@dataclass(frozen=True)
class Difference:
    """Names, relative to the working folder."""

    same: int
    different: tuple[str, ...]
    only_plain: tuple[str, ...]
    only_placed: tuple[str, ...]
    not_comparable: tuple[str, ...]  # two plain runs differ in them as well

    @property
    def is_none(self) -> bool:
        return not (self.different or self.only_plain or self.only_placed)


def difference_of(plain: list[Outputs], placed: list[Outputs], source: Path) -> Difference:
    """All runs against the first plain one. `source`: the folder that all were copies of."""
    first = plain[0].entries

    def is_same(name: str, run: Outputs) -> bool:
        one, other = first.get(name), run.entries.get(name)
        if one is None or other is None or one == other:
            return one == other
        pair = [
            replace(entry, content=_checksum(os.path.join(source, name))) if entry.content == AS_BEFORE else entry
            for entry in (one, other)
        ]
        return pair[0] == pair[1]

    own: set[str] = set()
    for run in plain[1:]:
        own |= {name for name in {**first, **run.entries} if not is_same(name, run)}
    different: set[str] = set()
    only_plain: set[str] = set()
    only_placed: set[str] = set()
    for run in placed:
        for name in {**first, **run.entries}:
            if name in own or (is_same(name, run) and name not in run.twice):
                continue
            (only_placed if name not in first else only_plain if name not in run.entries else different).add(name)
    wrong = different | only_plain | only_placed
    found = (tuple(sorted(names)) for names in (different, only_plain, only_placed, own))
    return Difference(len(set(first) - wrong - own), *found)
