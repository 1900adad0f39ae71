"""Runs one program with the tracer under strace, and compares the logs with strace's lines."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.launch.launchers import LAUNCHER_NAMES
from tailrace.trace import launch
from tailrace.trace.check import Verdict, check
from tailrace.trace.coverage import ASYNCHRONOUS
from tailrace.trace.log import Log, LogError, read_run
from tailrace.trace.symbols import c_library_files

from bench import harness
from bench.harness import oracle
from bench.harness.oracle import Seen, real

# Calls of a log by their effect on a file; the others are not compared.
KIND_OF_CALL = {
    **dict.fromkeys(("open", "fopen", "mkstemp", "opendir"), "open"),
    **dict.fromkeys(("close", "fclose", "closedir"), "close"),
    **dict.fromkeys(("unlink", "rename", "mkdir", "rmdir", "link", "symlink", "truncate", "ftruncate", "fallocate"), "name"),
    **dict.fromkeys(("stat", "fstat", "access"), "look"),
    **dict.fromkeys(("fsync", "fdatasync", "sync_file_range"), "sync"),
    "lseek": "seek",
}
MOVES = {"read": "read", "fill": "read", "write": "write", "flush": "write"}  # by group
# The C library decides itself how often it reads, writes, seeks and examines the file of a stream or directory.
BY_ITSELF = frozenset(["read", "write", "seek", "look"])
# The detail of three kinds of events: a write by dprintf; fdopen and fdopendir, which open no file; eaccess.
BY_PRINTING = ON_DESCRIPTOR = AFTER_STAT = 1
OF_NAMES = ("/", "look")  # the C library checks whether its root has changed before it reads a user's entry
BY_LIBRARY = ("", "library")  # bytes that the C library read by itself, from any file
FIELDS = ["call", "file", "descriptor", "result", "bytes", "detail"]
PATTERN = re.compile(r"[*?[]")  # of glob
BUDGET = 1 << 30
Totals = Counter[tuple[str, str]]


@dataclass
class Counts:
    """Calls, or bytes."""

    seen: int = 0
    named: int = 0  # not in the logs, but reported by `tailrace check` before the run
    missing: dict[str, int] = field(default_factory=dict)  # kind and file -> neither; below 0: the log has more than strace

    @property
    def total(self) -> int:
        return self.seen + self.named + sum(map(abs, self.missing.values()))

    @property
    def of_all(self) -> float:
        return self.seen / self.total if self.total else 1.0

    @property
    def of_all_or_named(self) -> float:
        return (self.seen + self.named) / self.total if self.total else 1.0


@dataclass(frozen=True)
class Result:
    status: int
    verdict: Verdict
    findings: tuple[str, ...]  # gaps that `tailrace check` reported before the run
    calls: Counts
    moved: Counts
    loader_calls: int
    same: bool  # without the tracer strace saw the same bytes by file


def run(
    words: Sequence[str], folder: Path, *, program: str = "", timeout_s: float = 60, variables: Mapping[str, str] = os.environ
) -> Result:
    """Runs the words twice in a new folder `folder`/work under strace: without the tracer, then with it. The log is compared with
    strace's lines of the same run. `program` is checked before. Raises subprocess.TimeoutExpired, NoProgram."""
    report = check(program or words[0])
    shutil.rmtree(folder, ignore_errors=True)
    plain, _ = _run(words, folder, "plain", None, timeout_s, variables)
    logs = folder / "logs"
    logs.mkdir(parents=True)
    found, status = _run(words, folder, "traced", logs, timeout_s, variables)
    try:
        recorded, damaged = read_run(logs)
        assert not damaged, damaged
    except LogError:
        recorded = []
    calls, moved = of_logs(recorded)
    seen_calls, seen_moved = oracle.totals(_programs(found.calls, logs))
    streams = streams_of(recorded)
    seen_calls, calls = (_without(each, streams) for each in (seen_calls, calls))
    same = _within(plain.calls, folder) == _within(found.calls, folder)
    gaps = tuple(f"{finding.where.name}: {finding.full_text}" for finding in report.findings if finding.verdict >= Verdict.GAPS)
    messages = any(finding.kind == "message" for finding in report.findings)
    library = (real(name).rstrip("/") + ("/" if name.endswith("/") else "") for name in c_library_files())
    named = (*library, *([real(str(folder / "traced.out"))] if messages else []))
    seen_calls, calls = (_without_walks(each, walked_of(recorded)) for each in (seen_calls, calls))
    shares = [_share(wanted, got, named, bool(gaps)) for wanted, got in ((seen_calls, calls), (seen_moved, moved))]
    return Result(status, report.verdict, gaps, shares[0], shares[1], len(found.loader), same)


def _within(calls: Iterable[Seen], folder: Path) -> Totals:
    """Bytes by file, for files that the program makes."""
    work = f"{real(str(folder))}/work/"
    return oracle.totals(call for call in calls if call.path.startswith(work))[1]


def _run(
    words: Sequence[str], folder: Path, name: str, logs: Path | None, timeout_s: float, variables: Mapping[str, str]
) -> tuple[oracle.Oracle, int]:
    work, record = folder / "work", folder / f"{name}.strace"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    traced = launch.traced_environment(logs, BUDGET, {}) if logs is not None else {}
    command = oracle.command_of(record, words, [f"{key}={value}" for key, value in traced.items()])
    status = harness.run_into(command, work, folder / f"{name}.out", timeout_s, variables)
    return oracle.read_strace(record, LAUNCHER_NAMES), status


def _programs(calls: Iterable[Seen], logs: Path) -> Iterable[Seen]:
    """The calls without the tracer's own."""
    own = f"{real(str(logs))}/"
    return (call for call in calls if not call.path.startswith(own))


def of_logs(logs: Iterable[Log]) -> tuple[Totals, Totals]:
    """(file, kind) -> calls, and bytes, as in oracle.totals."""
    calls: Totals = Counter()
    moved: Totals = Counter()
    for log in logs:
        names = {file: real(name) for file, name in log.names.items()}
        of_paths: set[int] = set()  # as in the oracle
        for number, file, descriptor, result, asked, detail in log.events[FIELDS].tolist():
            call = log.calls[number]
            if call.name == "open" and detail & os.O_PATH and result >= 0:
                of_paths.add(descriptor)
                continue
            if call.name == "close" and descriptor in of_paths:
                of_paths.remove(descriptor)
                continue
            path = names.get(file, "")
            if not path and call.name == "fill":
                moved[BY_LIBRARY] += result
            kind = KIND_OF_CALL.get(call.name) or MOVES.get(call.group)
            if not path and kind != "name":
                continue  # no file, or the call failed before it had one
            again = call.name in ("fopen", "opendir") and detail == ON_DESCRIPTOR
            if kind and not again and oracle.is_compared(path, kind):
                after_stat = call.name == "access" and detail == AFTER_STAT and result >= 0
                calls[oracle.key_of(path, kind)] += 2 if after_stat else 1
            if kind := MOVES.get(call.group):
                size = asked if call.name in ASYNCHRONOUS else result
                if size > 0:
                    moved[path, kind] += size
    return calls, moved


def streams_of(logs: Iterable[Log]) -> frozenset[str]:
    """Files that the C library also reads, writes or seeks by itself."""
    groups, names = (
        frozenset(["stdio_read", "stdio_write", "fill", "flush"]),
        frozenset(["fopen", "fseek", "fflush", "fclose", "opendir"]),
    )
    found = set()
    for log in logs:
        numbers = {number for number, call in log.calls.items() if call.group in groups or call.name in names}
        for number, file, detail in set(log.events[["call", "file", "detail"]].tolist()):
            if number in numbers or (log.calls[number].name == "write" and detail == BY_PRINTING):
                found.add(real(log.names.get(file, "")))
    return frozenset(found)


def walked_of(logs: Iterable[Log]) -> tuple[str, ...]:
    """Folders that the C library walks for glob, ftw and fts, which are recorded as one call each."""
    found = set()
    for log in logs:
        numbers = {number for number, call in log.calls.items() if call.name == "walk"}
        for number, file in set(log.events[["call", "file"]].tolist()):
            if number in numbers:
                fixed = PATTERN.split(log.names.get(file, ""))[0]
                found.add(real(fixed if fixed == log.names.get(file) else os.path.dirname(fixed)))
    return tuple(found - {""})


def _without(calls: Totals, streams: frozenset[str]) -> Totals:
    return Counter({key: count for key, count in calls.items() if not (key[0] in streams and key[1] in BY_ITSELF)})


def _without_walks(calls: Totals, folders: tuple[str, ...]) -> Totals:
    """The calls without those that the C library makes below these folders."""
    return Counter({key: n for key, n in calls.items() if not (key[1] in ("open", "close", "look") and key[0].startswith(folders))})


def _share(wanted: Totals, got: Totals, names: tuple[str, ...], gaps: bool) -> Counts:
    share = Counts()
    by_library = got.pop(BY_LIBRARY, 0)
    for key in wanted.keys() | got.keys():
        share.seen += min(wanted[key], got[key])
        missing = wanted[key] - got[key]
        if missing > 0 and (gaps or key[0].startswith(names) or key == OF_NAMES):
            share.named += missing
        elif missing != 0:
            share.missing[f"{key[1]} {key[0]}"] = missing
    known = min(by_library, share.named)
    share.seen, share.named = share.seen + known, share.named - known
    return share
