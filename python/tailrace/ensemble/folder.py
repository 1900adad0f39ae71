"""The folder of an ensemble: its journal, the lock on it, and which members are finished."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import secrets
import socket
import sys
import time
from array import array
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.ensemble.cgroup import prepare
from tailrace.ensemble.fields import path_of
from tailrace.ensemble.majority import Majority, majority_of
from tailrace.ensemble.member import Outcome, checksum
from tailrace.ensemble.parameters import ParameterTable
from tailrace.ensemble.scratch import input_files
from tailrace.ensemble.values import LAST_TIME, EnsembleError, FieldReading, Reading, Spec, Template, Value
from tailrace.file_name import problem_of_name
from tailrace.journal import VERSION, JournalError, JournalWriter, lines_of

JOURNAL = "members.jsonl"
FORMAT = 1
OUTCOME_FIELDS = tuple(one.name for one in dataclasses.fields(Outcome) if one.name not in ("member", "reason", "seconds"))


def hash_of(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()


def fingerprint(spec: Spec) -> dict[str, Any]:
    """What decides a member's result besides its parameters: the text of settings, and the checksums of files."""
    home = Path(spec.home)
    files = {file.target: checksum(Path(file.source)) for file in input_files(spec.inputs, home)}
    templates = {one.target: checksum(home / one.source) + _marks_text(one) for one in spec.templates}
    readings, fields = {}, {}
    for one in spec.readings:
        described = _described(one, "name")
        if one.kind in ("python", "ins"):
            described["content"] = checksum(home / one.pattern.partition(":")[0])
        readings[one.name] = json.dumps(described, sort_keys=True)
    for field_ in spec.fields:
        described = _described(field_)
        if field_.kind == "python":
            described["content"] = checksum(home / field_.pattern.partition(":")[0])
        fields[field_.name] = json.dumps(described, sort_keys=True)
    kept = {"files": list(spec.keep.files)}
    about = {"inputs": files, "templates": templates, "results": readings, "keep": kept, "environment": dict(spec.environment)}
    about |= {"fields": fields} if fields else {}
    return {"command": list(spec.command), **about}


def _described(reading: Reading | FieldReading, *without: str) -> dict[str, Any]:
    """A key that came later is left out where it has its default, so that folders of earlier versions are continued."""
    later = {"shape": (), "time": LAST_TIME}
    described = {key: value for key, value in dataclasses.asdict(reading).items() if key not in without}
    return {key: value for key, value in described.items() if key not in later or value != later[key]}


def _marks_text(template: Template) -> str:
    return "" if template.marks == Template.marks else f" with the marks {' '.join(template.marks)}"


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Lines that say what differs between two fingerprints."""
    found = []
    for key in sorted({*before, *now}):
        was, is_now = before.get(key), now.get(key)
        if was == is_now:
            continue
        if not isinstance(was, Mapping) or not isinstance(is_now, Mapping):
            found.append(f"{key}: was {json.dumps(was)}, is {json.dumps(is_now)}")
            continue
        for name in sorted({*was, *is_now}):
            if was.get(name) != is_now.get(name):
                change = "is new" if name not in was else "is gone" if name not in is_now else "has changed"
                found.append(f"{key}: {name} {change}")
    return found


class ByMember(MutableMapping[int, int]):
    """A whole number for each member, in 8 bytes. A dictionary takes 10 times as much, and an ensemble may have 100,000 members."""

    def __init__(self, kind: str) -> None:
        self._values, self._has = array(kind), bytearray()
        self._count = 0

    def __getitem__(self, member: int) -> int:
        if member not in self:
            raise KeyError(member)
        return self._values[member]

    def __setitem__(self, member: int, value: int) -> None:
        if member >= len(self._has):
            more = member + 1 - len(self._has)
            self._values.extend(array(self._values.typecode, bytes(more * self._values.itemsize)))
            self._has.extend(bytes(more))
        self._values[member] = value
        self._count += not self._has[member]
        self._has[member] = 1

    def __delitem__(self, member: int) -> None:
        self._count -= member in self
        self._has[member] = 0

    def __contains__(self, member: object) -> bool:
        return isinstance(member, int) and 0 <= member < len(self._has) and bool(self._has[member])

    def __iter__(self) -> Iterator[int]:
        """In the members' order."""
        return (member for member, has in enumerate(self._has) if has)

    def __len__(self) -> int:
        return self._count


MOST_MEMBERS = 1 << 24  # larger member numbers are refused: a damaged or foreign journal could need all memory


@dataclass
class Folder:
    """The folder of an ensemble. `finished`: for each member with an outcome, the byte at which its line in the journal begins."""

    out: Path
    heads: list[dict[str, Any]] = field(default_factory=list)  # a line for each time that an ensemble was begun or continued
    finished: ByMember = field(default_factory=lambda: ByMember("q"))
    identities: ByMember = field(default_factory=lambda: ByMember("Q"))
    failed: set[int] = field(default_factory=set)
    signature: dict[str, Any] = field(default_factory=dict)  # of the fields of the member that was noted last
    shapes: ByMember = field(default_factory=lambda: ByMember("Q"))  # hashes of the signatures of all members that have fields
    texts: set[str] = field(default_factory=set)  # the parameters and results of which a value is text

    @property
    def journal(self) -> Path:
        return self.out / JOURNAL

    @property
    def fields(self) -> Path:
        return self.out / "fields"

    def has_fields(self, member: int, spec: Spec) -> bool:
        """Whether the member's file of fields exists, or is not needed."""
        return not spec.fields or member in self.failed or path_of(self.fields, member).exists()

    def members_of_table(self) -> Iterator[int]:
        """The members that have an outcome, in order. Members beyond the table's number are left out; a head with 0 members:
        all."""
        members = self.heads[-1]["members"] if self.heads else 0
        return (one for one in self.finished if not members or one < members)

    def majority(self) -> Majority:
        """What fields most members have, of those that have ended by now."""
        return majority_of((member, self.shapes[member]) for member in self.members_of_table() if member in self.shapes)

    @property
    def kept(self) -> Path:
        return self.out / "kept"

    def read(self) -> Folder:
        """Reads the journal again. Raises EnsembleError."""
        self.heads, self.failed, self.texts = [], set(), set()
        self.finished, self.identities, self.shapes = ByMember("q"), ByMember("Q"), ByMember("Q")
        self.signature = {}
        if not self.journal.exists():
            return self
        try:
            for at, line in lines_of(self.journal):
                self._take(at, line)
        except EnsembleError:
            raise
        except (JournalError, LookupError, TypeError, ValueError, OverflowError, OSError) as error:
            raise EnsembleError(
                f"{self.journal}: is not the journal of an ensemble ({error}): give another folder with --out"
            ) from None
        return self

    def _take(self, at: int, line: Mapping[str, Any]) -> None:
        if line["kind"] == "ensemble":
            if line["format"] > FORMAT:
                raise EnsembleError(
                    f"{self.journal} is of format {line['format']}, and this version reads format {FORMAT}: use a newer Tailrace"
                )
            if problem := problem_of_name(line["run"]):
                raise EnsembleError(f"{self.journal}: run = {line['run']!r}: {problem}; a folder of scratch has this name")
            self.add_head(dict(line))
        elif line["kind"] == "member":
            self.note(line, at)

    def add_head(self, line: dict[str, Any]) -> None:
        self.heads.append(line)

    def note(self, line: Mapping[str, Any], at: int) -> None:
        member = line["member"]
        if not 0 <= member < MOST_MEMBERS:
            raise KeyError(f"member {member}")
        self.finished[member] = at
        self.identities[member] = int(line["of"], 16)
        (self.failed.add if line["reason"] else self.failed.discard)(member)
        self.shapes.pop(member, None)
        if (found := line.get("fields")) and not line["reason"]:
            self.signature = found.get("signature", self.signature)  # old journals have the signature only where it changed
            self.shapes[member] = int(hash_of(self.signature), 16)
        for values in (line.get("parameters", {}), line.get("results", {})):
            for name, value in values.items():
                if isinstance(value, str):
                    self.texts.add(name)

    @property
    def run(self) -> str:
        """The name of this ensemble on scratch. It stays the same when the ensemble is resumed."""
        return self.heads[0]["run"] if self.heads else secrets.token_hex(6)


@contextlib.contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Locks the folder, so that two processes cannot run the same members. Raises EnsembleError if it is locked."""
    out.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise EnsembleError(f"{out}: an ensemble is running in this folder: wait for it, or give another one with --out") from None
    try:
        yield
    finally:
        os.close(descriptor)


def is_locked(out: Path) -> bool:
    try:
        with alone_in(out):
            return False
    except EnsembleError:
        return True


def identity(of_all: str, parameters: Mapping[str, Value]) -> str:
    """The hash of settings, files and the member's parameters. If it changes, the member's result no longer counts."""
    return hash_of([of_all, dict(parameters)])


def head_line(spec: Spec, run: str, table: ParameterTable, print_of_spec: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance: what was run, from what, where, when and by which versions."""
    now = {"host": socket.gethostname(), "began": time.time(), "python": sys.version.split()[0], "tailrace": VERSION}
    where = {
        "home": spec.home,
        "engine": spec.engine.name,
        "memory limit": prepare(spec.limits),
    }
    about = {"name": spec.name, "run": run, "members": table.members, "parameters": list(table.names)}
    return {"kind": "ensemble", "format": FORMAT, **about, **now, **where, "fingerprint": dict(print_of_spec)}


def member_line(outcome: Outcome, of: str) -> dict[str, Any]:
    line: dict[str, Any] = {"kind": "member", "of": of, "member": outcome.member, "reason": outcome.reason}
    for name in OUTCOME_FIELDS:
        if value := getattr(outcome, name):
            line[name] = value
    line["seconds"] = {name: round(value, 6) for name, value in outcome.seconds.items()}
    return line


def append_head(writer: JournalWriter, folder: Folder, line: dict[str, Any]) -> None:
    writer.append(line)
    folder.add_head(line)


def append_outcome(writer: JournalWriter, folder: Folder, outcome: Outcome, of: str) -> None:
    line = member_line(outcome, of)
    folder.note(line, writer.append(line))
