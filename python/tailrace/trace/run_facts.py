"""What is known of a run besides its calls: command, beginning, duration, status, machine and file systems."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from tailrace.json_text import parse_json

RECORD = "run.json"
MOST_RECORD_BYTES = 16 << 20
# File systems that the kernel makes up: no files of a program are stored there.
MADE_UP = {
    "proc",
    "sysfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "mqueue",
    "debugfs",
    "tracefs",
    "securityfs",
    "pstore",
    "bpf",
    "configfs",
}
MADE_UP |= {"fusectl", "hugetlbfs", "autofs", "rpc_pipefs", "binfmt_misc", "nsfs", "selinuxfs", "efivarfs"}


class Mount(NamedTuple):
    folder: str
    kind: str  # ext4, lustre ...


@dataclass
class RunFacts:
    """None: not known; `unknown` has the reason by the name of the fact."""

    command: str | None = None
    begin_real_ns: int | None = None
    duration_s: float | None = None
    status: int | None = None  # of the command; below 0: the signal that ended it
    machine: dict[str, Any] | None = None  # the node on which the command was started
    mounts: list[Mount] | None = None
    unknown: dict[str, str] = field(default_factory=dict)

    def file_system_of(self, file: str) -> Mount | None:
        """The mount with the longest folder that the file is in."""
        inside = [mount for mount in self.mounts or () if _is_in(file, mount.folder)]
        return max(inside, key=lambda mount: len(mount.folder), default=None)


def _is_in(file: str, folder: str) -> bool:
    return file == folder or file.startswith(folder.rstrip("/") + "/")


def machine_facts() -> dict[str, Any]:
    """Facts about this node. Takes less than a millisecond, and starts no program."""
    return {
        "host": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _first_value("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _first_value(path: str, key: str) -> str | None:
    try:
        with Path(path).open() as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)
    except OSError:
        return None


def mounted() -> list[Mount]:
    """The file systems of this process that store files."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="backslashreplace").splitlines()
    except OSError:
        return []
    found = [(line.split(" - ")[0].split(), line.partition(" - ")[2].split()) for line in lines]
    mounts = [Mount(_unescaped(before[4]), after[0]) for before, after in found if len(before) > 4 and after]
    return [mount for mount in mounts if mount.kind not in MADE_UP]


def _unescaped(folder: str) -> str:
    r"""Replaces the kernel's octal escapes in a path: it writes a space as \040."""
    for code in ("040", "011", "012", "134"):
        folder = folder.replace("\\" + code, chr(int(code, 8)))
    return folder


def facts_of_folder(folder: Path) -> RunFacts:
    """Reads the facts from run.json, which `tailrace run` writes beside the logs. Missing or damaged entries become None."""
    facts = RunFacts()
    record = _record(folder / RECORD)
    missing = (
        f"{RECORD} does not have it"
        if record
        else f"there is no {RECORD}: the command has not ended, or was not started by `tailrace run`"
    )
    command, began, ended, status = (record.get(key) for key in ("command", "began", "ended", "status"))
    if isinstance(command, list):
        facts.command = " ".join(map(str, command))
    if _is_time(began):
        facts.begin_real_ns = int(began * 1e9)
        facts.duration_s = max(0.0, ended - began) if _is_time(ended) else None
    if isinstance(status, int):
        facts.status = status
    machine, mounts = record.get("machine"), record.get("mounts")
    facts.machine = machine if isinstance(machine, dict) else None
    if isinstance(mounts, list):
        facts.mounts = [Mount(*map(str, mount)) for mount in mounts if isinstance(mount, list) and len(mount) == 2]
    facts.unknown = {
        name: missing
        for name in ("command", "begin_real_ns", "duration_s", "status", "machine", "mounts")
        if getattr(facts, name) is None
    }
    return facts


def _record(path: Path) -> Mapping[str, Any]:
    try:
        if not path.is_file() or path.stat().st_size > MOST_RECORD_BYTES:
            return {}
        record = parse_json(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**33


def completed(facts: RunFacts, processes: Sequence[Mapping[str, Any]]) -> RunFacts:
    """Facts that the processes have, where nothing else has them: the first one's command, and the time of all."""
    if not processes:
        return facts
    first = min(processes, key=lambda row: row["begin_ns"] or 0)
    if facts.command is None and first["command"]:
        facts.command = first["command"]
    if facts.begin_real_ns is None:
        facts.begin_real_ns = first["begin_real_ns"]
    ends = [row["end_ns"] for row in processes]
    if facts.duration_s is None and None not in ends:
        facts.duration_s = (max(ends) - (first["begin_ns"] or 0)) / 1e9
    for name in ("command", "begin_real_ns", "duration_s"):
        if getattr(facts, name) is not None:
            facts.unknown.pop(name, None)
    return facts


def distinct(texts: Iterable[str | None]) -> list[str]:
    return sorted({text for text in texts if text})
