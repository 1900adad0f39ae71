"""Lists the files that rules place: flat in their directory, in a tree, or both."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.place.mapping import Mapping
from tailrace.place.rules import TreeRule

RUN_FILE = "place.rules"  # in the log folder of a run, which no rule is for


@dataclass(frozen=True)
class PlacedFile:
    logical: str
    physical: str  # where the rules put it
    rule: int
    is_flat: bool  # it lies at its logical path
    is_placed: bool  # it lies at its physical path

    @property
    def has_two(self) -> bool:
        return self.is_flat and self.is_placed


def folders_of(rules: Sequence[TreeRule], mapping: Mapping, below: Path | None = None) -> list[str]:
    """The logical folders that exist, each once; `below`: only those in this one."""
    found: dict[str, None] = {}
    for rule in rules:
        if not rule.is_below:
            if os.path.isdir(rule.folder):
                found[rule.folder] = None
            continue
        for folder, names, files in os.walk(rule.folder):
            if RUN_FILE in files:
                names.clear()
                continue
            names[:] = [name for name in names if not mapping.is_tree(folder, name)]
            found[folder] = None
    if below is None:
        return list(found)
    top = os.path.realpath(below)
    return [folder for folder in found if os.path.commonpath((folder, top)) == top]


def flat_files(mapping: Mapping, folder: str) -> Iterator[PlacedFile]:
    """Regular files of a folder that a rule would place, and that lie at their logical path."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False):
                continue
            if found := mapping.physical(entry.path):
                yield PlacedFile(entry.path, found[0], found[1], True, os.path.lexists(found[0]))


def tree_folders(mapping: Mapping, folder: str) -> Iterator[str]:
    """The directories of a folder's trees, inner ones first."""

    def within(path: str) -> Iterator[str]:
        with os.scandir(path) as entries:
            inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for name in inner:
            yield from within(name)
        yield path

    with os.scandir(folder) as entries:
        tops = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and mapping.is_tree(folder, entry.name)]
    for top in tops:
        yield from within(top)


def tree_files(mapping: Mapping, folder: str) -> Iterator[tuple[str, str | None]]:
    """Physical paths of the files in a folder's trees, each with its logical path; None: no rule puts a file there."""
    for inner in tree_folders(mapping, folder):
        with os.scandir(inner) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    continue
                logical = mapping.logical(entry.path) if stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode) else None
                yield entry.path, logical if logical and os.path.dirname(logical) == folder else None


def all_flat(rules: Sequence[TreeRule], mapping: Mapping) -> dict[str, PlacedFile]:
    """The flat files of all folders of the rules, by logical path."""
    found: dict[str, PlacedFile] = {}
    for folder in folders_of(rules, mapping):
        try:
            found.update((file.logical, file) for file in flat_files(mapping, folder))
        except OSError:  # the folder was removed, or this user may not read it
            continue
    return found
