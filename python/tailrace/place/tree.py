"""Moves the files of an existing directory into its tree, and back. Only renames: no data is copied.

Where a file belongs is a function of its name, so a conversion that was killed continues when it is begun again: what was moved is
in its place, what was not is moved now. The folder keeps the rules of its tree for undo.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.json_text import parse_json
from tailrace.place.files import flat_files, tree_files, tree_folders
from tailrace.place.mapping import Mapping
from tailrace.plain_text import quoted

JOURNAL = ".tailrace-tree.json"  # in each folder that has a tree
VERSION = 1
Advance = Callable[[int], None]


class TreeError(RuntimeError):
    """The folder cannot be converted; the text says why and what to do."""


@dataclass
class Outcome:
    moved: int = 0
    two_files: list[str] = field(default_factory=list)  # logical paths with a file in both places: neither was moved
    unknown: list[str] = field(default_factory=list)  # files in a tree that no rule puts there: left where they are


def apply(data: bytes, folder: str, advance: Advance = lambda moved: None) -> Outcome:
    """Moves the flat files of one folder to where the rules put them. `data`: the compiled rules. Raises TreeError and OSError."""
    mapping = Mapping(data)
    before = recorded_rules(folder)
    if before is not None and before != data:
        raise TreeError(f"{folder}: its tree has other rules: `tailrace tree undo {quoted(folder)}` first, then apply the new ones")
    _record(folder, data, "applying")
    outcome = Outcome()
    for logical, physical in _moves(mapping, folder):
        if os.path.lexists(physical):
            outcome.two_files.append(logical)
            continue
        try:
            os.rename(logical, physical)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(physical), exist_ok=True)
            os.rename(logical, physical)
        outcome.moved += 1
        advance(outcome.moved)
    _record(folder, data, "applied")
    return outcome


def undo(folder: str, data: bytes | None = None, advance: Advance = lambda moved: None) -> Outcome:
    """Moves the files of one folder's trees back, by the rules that made them; `data`: rules for a folder that has recorded none.
    Raises TreeError and OSError."""
    rules = recorded_rules(folder) or data
    if rules is None:
        raise TreeError(f"{folder}: no tree was made here by `tailrace tree apply`; name the rules with --config")
    mapping = Mapping(rules)
    outcome = Outcome()
    for physical, logical in tree_files(mapping, folder):
        if logical is None:
            outcome.unknown.append(physical)
        elif os.path.lexists(logical):
            outcome.two_files.append(logical)
        else:
            os.rename(physical, logical)
            outcome.moved += 1
            advance(outcome.moved)
    for inner in tree_folders(mapping, folder):
        with contextlib.suppress(OSError):  # not empty: named above
            os.rmdir(inner)
    if not outcome.unknown and not outcome.two_files:
        Path(folder, JOURNAL).unlink(missing_ok=True)
    return outcome


def recorded_rules(folder: str) -> bytes | None:
    """The compiled rules with which the tree of a folder was made; None: the folder has no record. Raises TreeError."""
    path = Path(folder, JOURNAL)
    try:
        record = parse_json(path.read_text())
        if record["version"] != VERSION:
            raise TreeError(f"{path}: has version {record['version']}: use the Tailrace that made the tree")
        return base64.b64decode(record["rules"], validate=True)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise TreeError(f"{path}: damaged ({error}); remove it, and name the rules with --config") from None


def _moves(mapping: Mapping, folder: str) -> Iterator[tuple[str, str]]:
    # The names are read before the first is moved: a directory that changes is not read whole.
    for file in list(flat_files(mapping, folder)):
        if os.path.basename(file.logical) != JOURNAL:
            yield file.logical, file.physical


def _record(folder: str, data: bytes, state: str) -> None:
    """Writes the record of the rules to the device before the first file is moved, so that `undo` has them even after a crash."""
    pending = Path(folder, f"{JOURNAL}.{os.getpid()}")
    record = {"version": VERSION, "state": state, "rules": base64.b64encode(data).decode()}
    with open(pending, "w") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())
    pending.rename(Path(folder, JOURNAL))
