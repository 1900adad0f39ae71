"""Mutations of what others hand to Tailrace, each read in a process of its own: python -m tests.source_mutations SOURCE SEED COUNT

A mutation knows the structure of its input: it changes numbers, lengths and names where they are. It repeats and moves records, and
cuts. The same seed gives the same mutation. A reader may answer with the truth or with one of its own errors. All else is a fault:
another exception, more than LIMIT_S of processor time, more than LIMIT_BYTES of memory, no end.
"""

from __future__ import annotations

import copy
import importlib.resources
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tailrace
import tomli_w
from tailrace.study.folder import RESULTS, open_study
from tailrace.study.spec import load_study
from tailrace.study.values import StudyError
from tailrace.toml_table import TomlError
from tailrace.trace import sources, started
from tailrace.trace.coverage import coverage_of, share_missing
from tailrace.trace.log import LogError, read_run
from tailrace.trace.model import Run
from tailrace.trace.optional import import_optional
from tailrace.trace.phases import phases_of
from tailrace.trace.run_facts import RECORD
from tailrace.trace.schema import joined
from tailrace.trace.sinks import parquet as parquet_sink
from tailrace.trace.sources import darshan

from bench.harness.written_log import SLOT_BYTES
from tests.environment import ROOT
from tests.test_trace_ior import CSV, TEXT_3, TEXT_4, json_of
from tests.test_trace_mdtest import TEXT as MDTEST
from tests.trace_logs import OLD, events_of, make_run, write_log

LIMIT_S, HANGS_S, LIMIT_BYTES = 2, 60, 512 << 20
READ, REFUSED, FAULT = "read", "refused", "fault"
OWN_ERRORS = (LogError, StudyError, TomlError, OSError)
ODD_NUMBERS = (
    0,
    1,
    2,
    7,
    63,
    64,
    65,
    127,
    255,
    256,
    4095,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
ODD_VALUES: tuple[Any, ...] = (
    True,
    -1,
    0,
    1.5,
    1e308,
    2**62,
    -(2**62),
    "",
    "x",
    [],
    {},
    [[]],
    {"": 1},
    "9" * 30,
    "\x1b[2J",
    "[/]",
    "٣",
)
ODD_WORDS = (
    "",
    "-",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "9" * 5000,
    "-1",
    "0",
    "1.5",
    "٣",
    "\0",
    "x" * 10_000,
    "[/]",
    "{",
    ",,,",
    '"',
)
STUDY = ROOT / "tests" / "records" / "study"
HEADER_FIELDS = [(at, width) for at in range(8, 192, 4) for width in (4, 8)]  # its numbers are there, and before its texts


def mutated_bytes(content: bytes, rng: random.Random, fields: list[tuple[int, int]], slot: int) -> bytes:
    """Changes a binary file. `fields`: (place, bytes) of its numbers. `slot`: bytes of its records."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        size = len(data)
        if size < 16:
            break
        kind = rng.randrange(8)
        at = rng.randrange(max(1, size // slot)) * slot
        if kind <= 2 and fields:
            place, width = rng.choice(fields)
            number = rng.choice((*ODD_NUMBERS, rng.getrandbits(64), size, size - 1)) % (1 << 8 * width)
            data[place : place + width] = number.to_bytes(width, "little")
        elif kind == 3:
            width = rng.choice((1, 2, 4, 8))
            place = at + rng.randrange(max(1, slot // width)) * width
            data[place : place + width] = (rng.choice(ODD_NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")
        elif kind == 4:
            data[rng.randrange(size)] ^= 1 << rng.randrange(8)
        elif kind == 5:
            other = rng.randrange(max(1, size // slot)) * slot
            data[at : at + slot] = data[other : other + slot]
        elif kind == 6:
            del data[rng.randrange(size) :]
        else:
            data[at:at] = data[at : at + slot * rng.randrange(1, 9)]
    return bytes(data)


def mutated_text(text: str, rng: random.Random) -> str:
    """Changes words and lines."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        kind = rng.randrange(5)
        words = lines[at].replace(",", " , ").split(" ")
        if kind <= 1:
            words[rng.randrange(len(words))] = rng.choice(ODD_WORDS)
            lines[at] = " ".join(words).replace(" , ", ",")
        elif kind == 2:
            lines[at:at] = [lines[at]] * rng.choice((1, 2, 1000))
        elif kind == 3:
            after = [] if rng.random() < 0.5 else lines[at + 1 :]
            lines = [*lines[:at], *after] or [""]
        else:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def mutated_value(value: Any, rng: random.Random) -> Any:
    """A value of JSON or TOML with a part that is another, missing, repeated or nested deeper."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = value
        while True:
            keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.8:
                at = at[key]
                continue
            kind = rng.randrange(4)
            if kind <= 1:
                at[key] = rng.choice(ODD_VALUES)
            elif kind == 2:
                del at[key]
            elif isinstance(at, list):
                at.append(copy.deepcopy(at[key]))
            else:
                at[f"{key}x"] = copy.deepcopy(at[key])
            break
    return value


class Source(NamedTuple):
    make: Callable[[Path], None]  # fills a folder with inputs
    mutate: Callable[[Path, random.Random], Path]  # changes one of them in a copy; returns what is read
    read: Callable[[Path], Any]
    a_dead_process_is_an_error: bool = False


def one_of(folder: Path, rng: random.Random, ending: str) -> Path:
    return rng.choice(sorted(folder.rglob(f"*{ending}")))


def mutate_log(folder: Path, rng: random.Random) -> Path:
    path = one_of(folder, rng, ".trace")
    path.write_bytes(mutated_bytes(path.read_bytes(), rng, HEADER_FIELDS, rng.choice((SLOT_BYTES, SLOT_BYTES, 16384))))
    return folder / "run"


def read_all(path: Path) -> None:
    joined(list(sources.read(path).parts))


def read_logs(path: Path) -> None:
    read_all(path)
    started.unrecorded_in(started.read_starts(path))


def make_parquet(folder: Path) -> None:
    make_run(folder / "run")
    parquet_sink.write(sources.read(folder / "run").parts, folder / "tables")


def mutate_parquet(folder: Path, rng: random.Random) -> Path:
    path = one_of(folder, rng, ".parquet")
    content = path.read_bytes()
    near_end = [(len(content) - 8, 4)] + [(at, 1) for at in range(max(4, len(content) - 600), len(content) - 8)]
    path.write_bytes(mutated_bytes(content, rng, near_end, 8))
    return folder / "tables"


def make_darshan(folder: Path) -> None:
    logs = Path(str(importlib.resources.files("darshan"))) / "tests" / "input"
    for name in ("sample.darshan", "sample-dxt-simple.darshan", "noposix.darshan"):
        shutil.copy(logs / name, folder)


def mutate_darshan(folder: Path, rng: random.Random) -> Path:
    path = one_of(folder, rng, ".darshan")
    content = path.read_bytes()
    fields = [(at, 8) for at in range(0, min(1024, len(content) - 8), 8)]
    path.write_bytes(mutated_bytes(content, rng, fields, rng.choice((8, 64))))
    return path


def make_ior(folder: Path) -> None:
    for name, text in {
        "4.out": TEXT_4,
        "3.out": TEXT_3,
        "csv.out": CSV,
        "json.out": json_of(True),
        "old.out": json_of(False),
    }.items():
        (folder / name).write_text(text)


def mutate_ior(folder: Path, rng: random.Random) -> Path:
    path = one_of(folder, rng, ".out")
    text = path.read_text()
    if text.lstrip().startswith("{") and rng.random() < 0.7:
        path.write_text(json.dumps(mutated_value(json.loads(text), rng)))
    elif rng.random() < 0.02:
        path.write_text('{"Command line": ' + "[" * 100_000)
    else:
        path.write_text(mutated_text(text, rng), errors="replace")
    return path


def make_mdtest(folder: Path) -> None:
    (folder / "mdtest.out").write_text(MDTEST)


RECORDED = {
    "command": ["mpirun", "-n", "2", "./model"],
    "began": 1.5e9,
    "ended": 1.5e9 + 3.5,
    "status": 0,
    "machine": {"host": "n1", "system": "Linux 6", "processor": "x", "cores": 2, "memory_bytes": 1 << 34},
    "mounts": [["/", "ext4"], ["/data", "lustre"]],
}


def make_recorded(folder: Path) -> None:
    (make_run(folder / "run") / RECORD).write_text(json.dumps(RECORDED))


def mutate_recorded(folder: Path, rng: random.Random) -> Path:
    """A log, or the record of the run beside the logs."""
    if rng.random() < 0.7:
        return mutate_log(folder, rng)
    record = folder / "run" / RECORD
    record.write_text(
        json.dumps(mutated_value(RECORDED, rng)) if rng.random() < 0.7 else mutated_text(record.read_text(), rng), errors="replace"
    )
    return folder / "run"


def read_model(path: Path) -> None:
    """The figures that `tailrace trace show` prints."""
    json.dumps(Run.read(path).to_json())


def read_coverage(path: Path) -> None:
    """What `tailrace coverage` prints."""
    logs, _ = read_run(path)
    found = coverage_of(logs)
    share_missing(found)
    started.unrecorded_in(logs)
    for coverage in found:
        assert coverage.rest.read_bytes >= 0 <= coverage.rest.written_bytes
        assert coverage.why_not_whole or coverage.is_whole
        json.dumps(coverage.as_json())


def make_ranks(folder: Path) -> None:
    """Two ranks with three barriers, between which one writes."""
    (folder / "run").mkdir()
    group, place, second = b"MPI ranks 0-1", b"/a.out+0x10", 10**9
    for rank in range(2):
        rows: list[dict[str, Any]] = [{"call": "MPI_Init", "begin_ns": 0, "end_ns": second}]
        for at in (2, 4, 6):
            rows.append({"call": "pwrite", "begin_ns": at * second, "end_ns": (at + rank) * second, "file": OLD, "result": 60})
            rows.append({"call": "MPI_Barrier", "begin_ns": (at + rank) * second, "end_ns": (at + 1) * second, "file": group})
        for row in rows[2::2]:
            row["detail"] = place
        about = {"rank": rank, "ranks": 2, "process": rank + 1, "begin_ns": 0, "begin_real_ns": 1, "end_ns": 8 * second}
        write_log(folder / "run" / f"n1.{rank}.0.trace", events_of(rows), [group, place, OLD], **about)


def read_phases(path: Path) -> None:
    logs, _ = read_run(path)
    json.dumps(phases_of(logs).to_json())


def make_study(folder: Path) -> None:
    for name in ("small.toml", RESULTS):
        shutil.copy(STUDY / name, folder)
    lines, _ = tailrace.journal_read(folder / RESULTS)
    (folder / "lines.json").write_text(json.dumps(lines))


def mutate_study(folder: Path, rng: random.Random) -> Path:
    """The specification as TOML or as text, the journal with right checksums, or its bytes."""
    spec, journal = folder / "small.toml", folder / RESULTS
    kind = rng.randrange(4)
    if kind == 0:
        spec.write_text(tomli_w.dumps(mutated_value(tomllib.loads(spec.read_text()), rng)))
    elif kind == 1:
        spec.write_text(mutated_text(spec.read_text(), rng), errors="replace")
    elif kind == 2:
        lines = json.loads((folder / "lines.json").read_text())[:6]
        at = rng.randrange(len(lines))
        lines[at] = mutated_value(lines[at], rng)
        journal.unlink()
        for line in lines:
            tailrace.journal_append(journal, line)
    else:
        journal.write_bytes(mutated_bytes(journal.read_bytes(), rng, [], 64))
    return folder


def read_study(path: Path) -> None:
    open_study(load_study(path / "small.toml"), path)


SOURCES = {
    "log": Source(lambda folder: void(make_run(folder / "run")), mutate_log, read_logs),
    "parquet": Source(make_parquet, mutate_parquet, read_all),
    # Without the interpreter that the source starts for each log. There, a process that ends is an error, too.
    "darshan": Source(make_darshan, mutate_darshan, darshan._tables, True),
    "ior": Source(make_ior, mutate_ior, read_all),
    "mdtest": Source(make_mdtest, mutate_ior, read_all),
    "run": Source(make_recorded, mutate_recorded, read_model),
    "coverage": Source(make_recorded, mutate_log, read_coverage),
    "phases": Source(make_ranks, mutate_log, read_phases),
    "study": Source(make_study, mutate_study, read_study),
}


def void(_: Any) -> None:
    return None


def outcome(source: Source, inputs: Path, seed: str) -> str:
    """READ, REFUSED, or FAULT and what happened."""
    receive, send = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(receive)
        _answer(source, inputs, seed, send)
    os.close(send)
    text = b""
    in_time = bool(select.select([receive], [], [], HANGS_S)[0])
    while in_time and (now := os.read(receive, 1 << 16)):
        text += now
    os.close(receive)
    if not in_time:
        os.kill(process, signal.SIGKILL)
    _, status, usage = os.wait4(process, 0)
    if not in_time:
        return f"{FAULT}: no answer in {HANGS_S} s"
    if usage.ru_utime + usage.ru_stime > LIMIT_S:
        return f"{FAULT}: {usage.ru_utime + usage.ru_stime:.1f} s of processor time"
    if text:
        return text.decode()
    return REFUSED if source.a_dead_process_is_an_error else f"{FAULT}: the process ended with status {status}"


def _answer(source: Source, inputs: Path, seed: str, send: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        try:
            folder = Path(shutil.copytree(inputs, name, dirs_exist_ok=True))
            path = source.mutate(folder, random.Random(seed))
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 2)
            own_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (own_bytes + LIMIT_BYTES, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CPU, (2 * LIMIT_S, 2 * LIMIT_S))
            source.read(path)
            answer = READ
        except (*OWN_ERRORS, tailrace.Error):
            answer = REFUSED
        except BaseException as error:
            own = source.a_dead_process_is_an_error and isinstance(error, darshan.DAMAGE)
            answer = REFUSED if own else f"{FAULT}: {''.join(traceback.format_exception(error, limit=-3))}"
        shutil.rmtree(name, ignore_errors=True)
    os.write(send, answer.encode(errors="replace"))
    os._exit(0)


def run(sources_by_name: Mapping[str, Source], name: str, seed: str, count: int) -> tuple[Counter[str], dict[str, str]]:
    """How many were read, refused or faulty, and the faults by their seeds."""
    counts: Counter[str] = Counter()
    faults: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as inputs:
        sources_by_name[name].make(Path(inputs))
        for number in range(count):
            found = outcome(sources_by_name[name], Path(inputs), f"{seed} {name} {number}")
            if found.startswith(FAULT):
                # The same again: what a busy machine causes once, such as too much time, is told and does not count.
                once = found
                found = outcome(sources_by_name[name], Path(inputs), f"{seed} {name} {number}")
                if not found.startswith(FAULT):
                    print(f"once, and not again: {seed} {name} {number}: {once}", file=sys.stderr)
            kind = found.partition(":")[0]
            counts[kind] += 1
            if kind == FAULT:
                faults[f"{seed} {name} {number}"] = found
    return counts, faults


def print_faults(sources_by_name: Mapping[str, Source], name: str, seed: str, count: str) -> None:
    """The command line of a module of mutations."""
    counts, faults = run(sources_by_name, name, seed, int(count))
    print(json.dumps({"counts": counts, "faults": faults}, indent=1))


if __name__ == "__main__":
    import_optional(darshan.BACKEND)  # before it is forked
    print_faults(SOURCES, *sys.argv[1:])
