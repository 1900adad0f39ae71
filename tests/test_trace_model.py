"""The model of a run: nothing is counted twice, and what is not known has a reason."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tailrace.cli import main
from tailrace.trace import Run, sinks, sources
from tailrace.trace.accesses import ORDERS, bins_of, orders_of
from tailrace.trace.file_groups import Member, Users, file_groups
from tailrace.trace.nesting import nested, union_ns
from tailrace.trace.run_facts import machine_facts, mounted
from tailrace.trace.schema import MERGED
from tailrace.trace.table_parts import TableParts

from tests.trace_logs import CALLS, NEW, OLD, events_of, make_run, write_log

pytestmark = pytest.mark.fast

# Names and groups of calls that the other tests' logs do not have.
MORE_CALLS = {
    "H5Dwrite": (224, "hdf5_write"),
    "MPI_File_write_at": (184, "mpi_write"),
    "MPI_Init_thread": (146, "mpi"),
    "fsync": (30, "sync"),
    "lseek": (6, "seek"),
    "flush": (95, "flush"),
    "write": (20, "write"),
    "dup": (3, "open"),
}
ALL_CALLS = "".join(f"{name} {number} {group}\n" for name, (number, group) in {**CALLS, **MORE_CALLS}.items()).encode()


def write_run(folder: Path, rows: list[dict[str, Any]], **header: Any) -> Path:
    """A run of one process. Times of the rows count from its beginning."""
    folder.mkdir(exist_ok=True)
    events = events_of([{**row, "call": "open"} for row in rows])
    for event, row in zip(events, rows, strict=True):
        event["call"] = {**CALLS, **MORE_CALLS}[row["call"]][0]
        event["begin_ns"], event["end_ns"] = row["begin_ns"] + 1000, row["end_ns"] + 1000
    names = sorted({row["file"] for row in rows if "file" in row})
    path = folder / f"n1.{header.get('process', 1)}.0.trace"
    write_log(path, events, names, **{"calls": ALL_CALLS, "end_ns": 3000, "end_real_ns": 7000, **header})
    return folder


def row(call: str, begin: int, end: int, file: bytes = OLD, **values: Any) -> dict[str, Any]:
    return {"call": call, "file": file, "begin_ns": begin, "end_ns": end, **values}


def slow_self_times(calls: list[tuple[int, int]]) -> list[int]:
    """Each nanosecond belongs to the innermost call that lasts then."""
    found = [0] * len(calls)
    for now in range(max(end for _, end in calls)):
        lasting = [number for number, (begin, end) in enumerate(calls) if begin <= now < end]
        if lasting:
            found[lasting[-1]] += 1
    return found


def test_self_times_are_those_of_the_innermost_call(rng: random.Random) -> None:
    for _ in range(100):
        calls: list[tuple[int, int]] = []

        def make(begin: int, end: int, depth: int, into: list[tuple[int, int]] = calls) -> None:
            while begin < end and rng.random() < 0.8:
                first, last = sorted((rng.randint(begin, end), rng.randint(begin, end)))
                into.append((first, last))
                if depth < 4:
                    make(first, last, depth + 1)
                begin = last

        make(0, 60, 0)
        if not calls:
            continue
        calls.sort(key=lambda call: (call[0], -call[1]))
        begin, end = (np.array(column) for column in zip(*calls, strict=True))
        found = nested(begin, end)
        assert found.self_ns.tolist() == slow_self_times(calls)
        assert found.self_ns.sum() == union_ns(begin, end)


def test_self_times_of_calls_that_overlap_are_their_union(rng: random.Random) -> None:
    """As those of a Darshan log, whose threads are not known."""
    for _ in range(100):
        begin = np.sort(np.array([rng.randrange(100) for _ in range(20)]))
        end = begin + [rng.randrange(30) for _ in range(20)]
        order = np.lexsort((-end, begin))
        assert nested(begin[order], end[order]).self_ns.sum() == union_ns(begin, end)


def test_layers_have_the_time_of_their_own(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run",
        [
            row("H5Dwrite", 0, 1000, bytes=80),
            row("MPI_File_write_at", 100, 900, bytes=80, result=80, flags=2, offset=0),
            row("pwrite", 200, 700, bytes=80, result=80, flags=3, offset=0),
            row("fsync", 700, 750, flags=3),
            row("MPI_Init_thread", 1000, 1500),
            row("read", 1100, 1300, NEW, bytes=10, result=7, flags=1),
        ],
    )
    run = Run.read(folder)
    assert {name: layer["self_ns"] for name, layer in run.by_layer().items()} == {
        "HDF5": 200,
        "MPI-IO": 250,
        "MPI": 300,
        "POSIX": 750,
    }
    assert {name: layer["written_bytes"] for name, layer in run.by_layer().items()} == {
        "HDF5": 80,
        "MPI-IO": 80,
        "MPI": 0,
        "POSIX": 80,
    }
    assert run.by_file()["/data/old"]["written_bytes"] == 80
    share = run.share()
    assert share.of_run == pytest.approx(1200 / 2000)
    assert {kind: round(2000 * part) for kind, part in share.kinds.items() if part} == {"write": 950, "read": 200, "sync": 50}
    without = run.select(lambda _: True, with_mpi=False)
    assert list(without.by_layer()) == ["HDF5", "MPI-IO", "POSIX"]
    assert without.by_layer()["POSIX"]["read_bytes"] == 0


def test_share_says_whether_it_has_files_of_mpi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = row("read", 0, 100, bytes=10, result=7)
    calls = [own, row("MPI_Init_thread", 1000, 1500), row("read", 1100, 1300, NEW, bytes=10, result=7, flags=1)]
    folder = write_run(tmp_path / "run", calls)

    def share_line(*words: str) -> str:
        assert main(["trace", "show", *words]) == 0
        return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("I/O "))

    assert share_line(str(folder)).endswith("; with MPI's own files (only the program's: --without-mpi)")
    assert "MPI" not in share_line(str(folder), "--without-mpi")
    assert "MPI" not in share_line(str(write_run(tmp_path / "alone", [own])))


def test_bytes_of_streams_count_once(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [row("fwrite", 0, 10, bytes=30, result=30), row("flush", 10, 10, bytes=30, result=30)])
    run = Run.read(folder)
    assert run.by_layer()["stdio"]["written_bytes"] == 30
    file = run.by_file()["/data/old"]
    assert (file["written_bytes"], file["system_written_bytes"]) == (30, 30)
    assert {name: found["written_bytes"] for name, found in run.system_and_buffered().items()} == {"buffered": 30, "transfer": 30}


def test_accesses_have_sizes_and_order(tmp_path: Path) -> None:
    writes = [(0, 10), (10, 10), (100, 10), (200, 10), (300, 10), (5, 10)]
    moves = [
        row("pwrite", 10 * at, 10 * at + 5, offset=offset, bytes=size, result=size) for at, (offset, size) in enumerate(writes)
    ]
    seek = row("lseek", 100, 101, NEW, descriptor=4, result=50)
    reads = [row("read", 110 + at, 110 + at, NEW, descriptor=4, bytes=8, result=8) for at in range(3)]
    back = row("lseek", 120, 121, NEW, descriptor=4, result=0)
    last = row("read", 130, 131, NEW, descriptor=4, bytes=8, result=8)
    run = Run.read(write_run(tmp_path / "run", [*moves, seek, *reads, back, last]))
    orders = {(found["kind"], found["order"]): found["accesses"] for found in run.access_order()}
    assert orders == {
        ("write", "first"): 1,
        ("write", "consecutive"): 1,
        ("write", "forward"): 2,
        ("write", "strided"): 1,
        ("write", "backward"): 1,
        ("read", "first"): 1,
        ("read", "consecutive"): 2,
        ("read", "backward"): 1,
    }
    sizes = {(found["kind"], found["least_bytes"], found["most_bytes"]): found["accesses"] for found in run.access_sizes()}
    assert sizes == {("write", 8, 15): 6, ("read", 8, 15): 4}


def test_merged_calls_within_a_library_are_counted_once(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [row("MPI_File_write_at", 0, 1000, bytes=50, result=50)])
    (part,) = sources.read(folder).parts
    like = {
        "log": 0,
        "file": "/data/old",
        "call": "pwrite",
        "group": "write",
        "bytes": 50,
        "moved": 50,
        "begin_ns": 100,
        "most_ns": 50,
    }
    merged = [{**like, "calls": 5, "busy_ns": 400, "flags": 1}, {**like, "calls": 5, "busy_ns": 300, "flags": 0}]
    run = Run.of_parts(TableParts(iter([{**part, "merged": pa.Table.from_pylist(merged, schema=MERGED)}]), 1))
    assert (run.by_call()["pwrite"]["calls"], run.by_call()["pwrite"]["written_bytes"]) == (10, 100)
    assert (run.by_layer()["MPI-IO"]["self_ns"], run.by_layer()["POSIX"]["self_ns"]) == (1000, 300)


def test_sizes_fall_into_powers_of_two() -> None:
    sizes = [1, 2, 3, 4, 7, 8, 2**53 - 1, 2**53, 2**62 - 1, 2**62, 2**63 - 1]
    assert bins_of(np.array(sizes)).tolist() == [size.bit_length() - 1 for size in sizes]


def test_orders_of_streams_in_turn() -> None:
    found = orders_of(np.array([1, 2, 1, 2]), np.array([0, 500, 10, 0]), np.array([10, 10, 10, 10]))
    assert [ORDERS[kind] for kind in found] == ["first", "first", "consecutive", "backward"]


def users(*ranks: int | None) -> Users:
    return Users(frozenset(Member(-1 if rank is None else rank, rank) for rank in ranks), "written")


def test_files_whose_names_differ_in_numbers_are_a_group() -> None:
    dumps = {f"/a1/dump.{rank}.{step}": users(rank) for rank in range(3) for step in (0, 10)}
    fortran = {f"/a1/out{rank + 1:03}.nc": users(rank) for rank in range(3)}
    shared = {f"/a1/all.{step}": users(0, 1, 2) for step in (1, 2)}
    alone = {"/a1/log.7": users(0)}
    found = {group.name: group for group in file_groups({**dumps, **fortran, **shared, **alone})}
    assert list(found) == ["/a1/dump.*.N", "/a1/out*.nc", "/a1/all.N", "/a1/log.7"]
    assert [group.sharing for group in found.values()] == ["one for each rank", "one for each rank", "shared", "one process"]
    assert found["/a1/dump.*.N"].users_text == "ranks 0-2"
    assert len(found["/a1/dump.*.N"].files) == 6


def test_a_run_of_several_processes(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (folder / "run.json").write_text(json.dumps({"command": ["a.out", "x\x1b[31m"], "began": 1.0, "ended": 3.5, "status": -9}))
    run = Run.read(folder)
    assert (run.facts.command, run.facts.duration_s, run.facts.status) == ("a.out x\x1b[31m", 2.5, -9)
    assert (run.hosts, run.ranks) == (["n1", "n2"], [0, 1])
    assert {name: run.by_file()[f"/data/{name}"]["calls"] for name in ("old", "new")} == {"old": 3, "new": 2}, (
        "rank 0 has renamed its own"
    )
    assert {name: sums["written_bytes"] for name, sums in run.by_host().items()} == {"n1": 60, "n2": 60}
    assert {name: sums["written_bytes"] for name, sums in run.by_rank().items()} == {"rank 0": 60, "rank 1": 60}
    assert run.by_directory()["/data"]["written_bytes"] == 120
    assert [(failed["call"], failed["error"], failed["calls"]) for failed in run.failures() or []] == [
        ("open", "ENOENT", 1),
        ("read", "errno 4000", 1),
    ]
    assert {call["seconds"] for call in run.slowest() or []} == {1e-7}
    assert run.facts.machine is None
    assert "run.json" in run.facts.unknown["machine"]


def test_a_run_is_the_same_from_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "run")
    monkeypatch.setattr("tailrace.trace.sinks.parquet.ROWS", 2)  # a process in several row groups
    sinks.write(sources.read(folder).parts, "parquet", tmp_path / "out")
    first, again = (Run.read(path).to_json() for path in (folder, tmp_path / "out"))
    assert {key: value for key, value in first.items() if key != "unknown"} == {
        key: value for key, value in again.items() if key != "unknown"
    }


def test_show_begins_with_a_head_and_obeys_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path / "run")
    (folder / "run.json").write_text(json.dumps({"command": ["a.out", "x\x1b[31m"], "began": 1.0, "ended": 3.5, "status": 0}))
    assert main(["trace", "show", str(folder)]) == 0
    head = capsys.readouterr().out.splitlines()
    assert head[0] == "command   a.out x\\x1b[31m"
    assert head[1].endswith("took 2.500 s, status 0")
    assert head[2] == "hosts     2: n1, n2; 2 ranks, 3 processes"
    assert head[3].startswith("I/O")
    assert main(["trace", "show", str(folder), "--rank", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["calls"]["pwrite"]["calls"] == 1
    assert main(["trace", "show", str(folder), "--directory", "/elsewhere", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == {}
    assert main(["trace", "show", str(folder), "--sort", "colour"]) == 2
    assert "colour: no such order; choose one of time, bytes" in capsys.readouterr().err


def test_files_belong_to_the_file_system_that_is_mounted_deepest(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    record = {"machine": {"host": "n1", "cores": 2}, "mounts": [["/", "ext4"], ["/data", "lustre"], ["/dat", "xfs"]]}
    (folder / "run.json").write_text(json.dumps(record))
    run = Run.read(folder)
    systems = run.by_file_system()
    assert systems is not None
    assert {name: sums["calls"] for name, sums in systems.items()} == {"/data (lustre)": 6}
    assert run.facts.machine == {"host": "n1", "cores": 2}
    assert mounted()[0].folder.startswith("/")
    assert machine_facts()["cores"] > 0


@pytest.mark.parametrize(("sort", "first"), [("name", "/data/a"), ("bytes", "/data/b"), ("time", "/data/c"), ("calls", "/data/d")])
def test_show_sorts(tmp_path: Path, capsys: pytest.CaptureFixture[str], sort: str, first: str) -> None:
    rows = [
        row("pwrite", 0, 5, b"/data/a", result=1),
        row("pwrite", 10, 15, b"/data/b", result=1000),
        row("pwrite", 20, 100, b"/data/c", result=10),
        *(row("pwrite", 100 + at, 101 + at, b"/data/d", result=2) for at in range(4)),
        row("read", 200, 1000, b"/etc/passwd", result=5000),
    ]
    folder = write_run(tmp_path / "run", rows)
    assert main(["trace", "show", str(folder), "--sort", sort]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("file "))
    assert lines[at + 1].split()[0] == first
    assert main(["trace", "show", str(folder), "--without-system", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "read" not in shown["calls"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"command": 3, "began": "x", "status": null}', '{"began": 1e300}', "{" * 100_000, '{"mounts": [["/"]]}']
)
def test_a_damaged_record_of_a_run_is_not_believed(tmp_path: Path, text: str) -> None:
    folder = make_run(tmp_path / "run")
    (folder / "run.json").write_text(text)
    run = Run.read(folder)
    assert run.facts.status is None
    assert run.facts.command == "a.out input"
    assert "status" in run.facts.unknown
