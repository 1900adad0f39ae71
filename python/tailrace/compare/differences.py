"""Compares the outputs of all runs with those of the first plain run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from tailrace.compare.contents import Contents
from tailrace.compare.outputs import AS_BEFORE, Entry, Outputs, checksum_of

Read = Callable[[str], Contents | None]  # what the NetCDF or HDF5 file of a path says


class Likeness(Enum):
    SAME_BYTES = 1
    SAME_CONTENT = 2  # NetCDF and HDF5 files whose bytes differ
    DIFFERENT = 3


@dataclass(frozen=True)
class Difference:
    """How the outputs differ. Names are relative to the working folder."""

    same: int  # number of files and folders with the same bytes
    same_content: tuple[str, ...]  # NetCDF and HDF5 files with the same content, and other bytes
    different: tuple[str, ...]
    only_plain: tuple[str, ...]
    only_placed: tuple[str, ...]
    not_comparable: tuple[str, ...]  # two plain runs differ in them as well
    reasons: Mapping[str, str] = field(default_factory=dict)  # name of a NetCDF or HDF5 file -> what differs in it

    @property
    def is_none(self) -> bool:
        return not (self.different or self.only_plain or self.only_placed)


def difference_of(plain: list[Outputs], placed: list[Outputs], source: Path, read: Read = lambda _: None) -> Difference:
    """Compares all runs with the first plain run. `source`: the working folder of which each run had a copy."""
    against = _First(plain[0], source, read)
    own: set[str] = set()
    same_content: set[str] = set()
    for run in plain[1:]:
        for name in {**plain[0].entries, **run.entries}:
            match against.likeness(name, run):
                case Likeness.DIFFERENT:
                    own.add(name)
                case Likeness.SAME_CONTENT:
                    same_content.add(name)
    different: set[str] = set()
    only_plain: set[str] = set()
    only_placed: set[str] = set()
    for run in placed:
        for name in {**plain[0].entries, **run.entries}:
            if name in own:
                continue
            likeness = against.likeness(name, run)
            if likeness is Likeness.SAME_CONTENT:
                same_content.add(name)
            if likeness is Likeness.DIFFERENT or name in run.ambiguous:
                missing = only_placed if name not in plain[0].entries else only_plain if name not in run.entries else different
                missing.add(name)
    wrong = different | only_plain | only_placed
    same_content -= wrong | own
    return Difference(
        same=len(set(plain[0].entries) - wrong - own - same_content),
        same_content=tuple(sorted(same_content)),
        different=tuple(sorted(different)),
        only_plain=tuple(sorted(only_plain)),
        only_placed=tuple(sorted(only_placed)),
        not_comparable=tuple(sorted(own)),
        reasons={name: why for name, why in sorted(against.reasons.items()) if name in wrong | own},
    )


class _First:
    """The first plain run."""

    def __init__(self, run: Outputs, source: Path, read: Read) -> None:
        self.entries, self.source, self.read = run.entries, source, read
        self.reasons: dict[str, str] = {}
        self.as_it_was: dict[str, Entry] = {}  # files of the working folder that a run has not changed, each read once

    def likeness(self, name: str, run: Outputs) -> Likeness:
        one, other = self.entries.get(name), run.entries.get(name)
        if one is None or other is None:
            return Likeness.SAME_BYTES if one is other else Likeness.DIFFERENT
        if one == other:
            return Likeness.SAME_BYTES
        one, other = self._with_bytes(name, one), self._with_bytes(name, other)
        if one == other:
            return Likeness.SAME_BYTES
        if not one.is_like(other) or one.says is None or other.says is None:
            return Likeness.DIFFERENT
        if difference := one.says.difference(other.says):
            self.reasons.setdefault(name, difference)
            return Likeness.DIFFERENT
        return Likeness.SAME_CONTENT

    def _with_bytes(self, name: str, entry: Entry) -> Entry:
        if entry.content != AS_BEFORE:
            return entry
        if name not in self.as_it_was:
            path = os.path.join(self.source, name)
            self.as_it_was[name] = replace(entry, content=checksum_of(path), says=self.read(path))
        was = self.as_it_was[name]
        return replace(entry, content=was.content, says=was.says)
