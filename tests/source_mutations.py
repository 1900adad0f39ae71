"""Mutations of what others hand to Tailrace: python -m tests.source_mutations SOURCE SEED COUNT [FIRST]

See tests/mutations.py for what is a fault, and tests/odd_values.py for what is changed.
"""

from __future__ import annotations

import importlib.resources
import json
import random
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

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
from tests.mutations import Source, print_faults
from tests.odd_values import mutated_bytes, mutated_text, mutated_value
from tests.test_trace_ior import CSV, TEXT_3, TEXT_4, json_of
from tests.test_trace_mdtest import TEXT as MDTEST
from tests.trace_logs import OLD, events_of, make_run, write_log

OWN_ERRORS = (LogError, StudyError, TomlError, OSError)
STUDY = ROOT / "tests" / "records" / "study"
HEADER_FIELDS = [(at, width) for at in range(8, 192, 4) for width in (4, 8)]  # its numbers are there, and before its texts


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


def void(_: Any) -> None:
    return None


SOURCES = {
    "log": Source(lambda folder: void(make_run(folder / "run")), mutate_log, read_logs, OWN_ERRORS),
    "parquet": Source(make_parquet, mutate_parquet, read_all, OWN_ERRORS),
    # Without the interpreter that the source starts for each log. There, a process that ends is an error, too.
    "darshan": Source(make_darshan, mutate_darshan, darshan._tables, (*OWN_ERRORS, *darshan.DAMAGE), True),
    "ior": Source(make_ior, mutate_ior, read_all, OWN_ERRORS),
    "mdtest": Source(make_mdtest, mutate_ior, read_all, OWN_ERRORS),
    "run": Source(make_recorded, mutate_recorded, read_model, OWN_ERRORS),
    "coverage": Source(make_recorded, mutate_log, read_coverage, OWN_ERRORS),
    "phases": Source(make_ranks, mutate_log, read_phases, OWN_ERRORS),
    "study": Source(make_study, mutate_study, read_study, OWN_ERRORS),
}

if __name__ == "__main__":
    import_optional(darshan.BACKEND)  # before it is forked
    print_faults(SOURCES, *sys.argv[1:])
