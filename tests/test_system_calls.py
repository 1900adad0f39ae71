"""The plan against the kernel: under strace each preset makes the files that the plan names, and each rank writes what it says.

Every planned (path, address, bytes) is covered by the writes of that rank and touched by no other; no file is there besides parts,
journal and index, and nothing else is created on the way but names that are renamed, and the lock and heartbeat of the run.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tailrace import contract

from tests import formula
from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS

RANKS = 4
# The presets, and combinations of several files with several writers each.
LAYOUTS = {preset: {"layout": preset} for preset in PRESETS} | {
    "3-all": {"files": "3", "writers": "all", "steps": "1"},
    "node-all": {"files": "per-node", "writers": "all", "steps": "1"},
    "node-per-node": {"files": "per-node", "writers": "per-node", "steps": "1"},
    "2-per-node": {"files": "2", "writers": "per-node", "ranks_per_node": "1", "steps": "1"},
}
SIZES = formula.Sizes(lev=3, lat=12, lon=10)
# Rows of 64 KiB and more: with `shared` their owners write them.
LONG_ROWS = formula.Sizes(lev=2, lat=4, lon=16384)
GRIDS = {
    "rows": {3: [1, RANKS, 1], 2: [RANKS, 1]},
    "columns": {3: [1, 1, RANKS], 2: [1, RANKS]},
    "blocks2d": {3: [1, 2, 2], 2: [2, 2]},
}
Options = Mapping[str, str]
INDEX, JOURNAL = "history.nc", "history.parts/journal.jsonl"
CALL = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+)")
OPENED = re.compile(r'^openat\([^,]+, "([^"]*)", ([A-Z_|]+)')
WRITES = {"pwrite64", "pwritev", "pwritev2", "write", "writev"}
# What could change a file without a call that is looked at here.
UNSEEN = {"copy_file_range", "sendfile", "splice", "io_uring_setup", "io_submit"}


@dataclass(frozen=True)
class Write:
    path: str
    address: int
    bytes: int

    @property
    def end(self) -> int:
        return self.address + self.bytes


@dataclass
class RankTrace:
    """What a rank did below the stream's directory, with the names that files have in the end."""

    writes: list[Write] = field(default_factory=list)
    created: set[str] = field(default_factory=set)
    appended: set[str] = field(default_factory=set)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)


def calls_of(file: Path) -> Iterator[str]:
    for line in file.read_text(errors="replace").splitlines():
        assert "<unfinished" not in line, line
        assert line.split("(")[0] not in UNSEEN, line
        if CALL.match(line) and " = -1 " not in line:
            yield line


def below(path: str, folder: Path) -> str | None:
    prefix = f"{folder}/"
    return path.removeprefix(prefix) if path.startswith(prefix) else None


def note(line: str, folder: Path, trace: RankTrace) -> None:
    name, arguments, result = CALL.match(line).groups()  # type: ignore[union-attr]
    if name == "openat" and (opened := OPENED.match(line)):
        path = below(os.path.normpath(opened[1]), folder)
        if path is not None and "O_APPEND" in opened[2]:
            trace.appended.add(path)
        elif path is not None and "O_CREAT" in opened[2]:
            trace.created.add(path)
    elif name in ("creat", "open", "mmap") and f"{folder}/" in arguments:
        assert "PROT_WRITE" not in arguments, line
        assert name == "mmap", line
    elif name in ("rename", "renameat", "renameat2"):
        old, new = (below(os.path.normpath(text), folder) for text in re.findall(r'"([^"]*)"', arguments))
        assert (old is None) == (new is None), line
        if old is not None and new is not None:
            trace.renamed.append((old, new))
    elif name == "unlink" and (path := below(os.path.normpath(arguments.strip('"')), folder)) is not None:
        trace.removed.add(path)
    elif name in WRITES and (descriptor := re.match(r"\d+<([^>]*)>", arguments)):
        path = below(descriptor[1], folder)
        if path is None or path in trace.appended:
            return
        assert name.startswith("p"), f"a part is written at addresses: {line}"
        trace.writes.append(Write(path, int(arguments.split(", ")[-1]), int(result)))


def final_name(path: str, renamed: Sequence[tuple[str, str]]) -> str:
    for old, new in renamed:
        if path == old or path.startswith(f"{old}/"):
            path = new + path.removeprefix(old)
    return path


def traced_run(mpirun: Mpirun, scratch: Path, options: Options, arguments: Sequence[str], seen_from: Path) -> list[RankTrace]:
    """One strace a rank: who wrote is known from the file's name."""
    command = mpirun.program("write_case")[0]
    strace = f"exec strace -ff -y -s 0 -e trace=%file,%desc,%network -o {scratch}/trace.$OMPI_COMM_WORLD_RANK"
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(RANKS), "sh", "-c", f'{strace} "$0" "$@"', command]
    finished = run_within([*words, str(seen_from), "history", toml_of(options), "set=plan", *arguments])
    assert finished.returncode == 0, finished.output
    traces = []
    for rank in range(RANKS):
        files = sorted(scratch.glob(f"trace.{rank}.*"))
        assert files, "strace has written nothing"
        trace = RankTrace()
        for file in files:
            for line in calls_of(file):
                note(line, seen_from, trace)
        traces.append(trace)
    return traces


def toml_of(options: Options) -> str:
    return "\n".join(f"{key} = '{value}'" for key, value in options.items())


def plan_of(options: Options, decomposition: str, sizes: formula.Sizes, rank: int, steps: int) -> dict:
    variables = [
        {"name": v.name, "type": v.dtype, "shape": sizes.of(v.dims), "grid": GRIDS[decomposition][len(v.dims)] if v.dims else []}
        for v in formula.PLAN
    ]
    return contract.plan(
        variables,
        ranks=RANKS,
        nodes=RANKS // int(options["ranks_per_node"]),
        steps=steps,
        name="history",
        rank=rank,
        layout=options,
    )


def uncovered(planned: Write, writes: Sequence[Write]) -> int:
    """Bytes of a planned write that none of the writes has."""
    at, missing = planned.address, 0
    for write in sorted((w for w in writes if w.path == planned.path), key=lambda w: w.address):
        if write.end <= at or write.address >= planned.end:
            continue
        missing += max(0, write.address - at)
        at = max(at, write.end)
    return missing + max(0, planned.end - at)


def check_run(
    mpirun: Mpirun, tmp_path: Path, options: Options, decomposition: str, sizes: formula.Sizes, steps: int
) -> tuple[list[RankTrace], list[dict]]:
    scratch, folder = tmp_path / "trace", tmp_path / "out"
    scratch.mkdir()
    options = {"ranks_per_node": "2", **options}
    traces = traced_run(mpirun, scratch, options, [f"decomposition={decomposition}", sizes.argument, f"steps={steps}"], folder)
    plans = [plan_of(options, decomposition, sizes, rank, steps) for rank in range(RANKS)]
    check_files(folder, traces, plans[0], steps)
    check_writes(traces, plans)
    return traces, plans


def check_files(folder: Path, traces: Sequence[RankTrace], plan: Mapping, steps: int) -> None:
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    parts = present - {INDEX, JOURNAL}
    dataset_is_part = INDEX in {part["path"] for part in plan["parts"]}
    assert present >= {INDEX, JOURNAL}
    assert len(parts) + dataset_is_part == plan["files"]
    assert {part["path"] for part in plan["parts"]} <= present
    renamed = [names for trace in traces for names in trace.renamed]
    created = {final_name(path, renamed) for trace in traces for path in trace.created | trace.appended}
    removed = {path for trace in traces for path in trace.removed}
    assert removed == {"history.parts/lock", "history.parts/writer.json"}
    assert created - removed == present
    directories = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir()}
    assert len(directories) == plan["directories"], directories
    for trace in traces[1:]:
        assert not trace.renamed, "rank 0 alone publishes"
        assert not trace.appended, "rank 0 alone writes the journal"


def check_writes(traces: Sequence[RankTrace], plans: Sequence[Mapping]) -> None:
    renamed = [names for trace in traces for names in trace.renamed]
    written = [[Write(final_name(w.path, renamed), w.address, w.bytes) for w in trace.writes] for trace in traces]
    for rank, plan in enumerate(plans):
        planned = [Write(w["path"], w["address"], w["bytes"]) for w in plan["rank_plan"]["writes"]]
        for write in planned:
            assert write.bytes > 0
            assert uncovered(write, written[rank]) == 0, f"rank {rank} has not written all of {write}: {written[rank]}"
            for other in range(RANKS):
                if other != rank:
                    assert uncovered(write, written[other]) == write.bytes, (
                        f"rank {other} has written of {write}, which is rank {rank}'s"
                    )
    writers = {rank for rank, plan in enumerate(plans) if plan["rank_plan"]["writes"]}
    # Rank 0 writes the index, too.
    assert {rank for rank, writes in enumerate(written) if writes} == writers | {0}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("checksum", ["on", "off"])
@pytest.mark.parametrize("steps_per_file", ["1", "all"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_writes_are_those_of_the_plan(
    mpirun: Mpirun, tmp_path: Path, needs: Callable[..., None], rng: random.Random, layout: str, steps_per_file: str, checksum: str
) -> None:
    needs("strace")
    options = {**LAYOUTS[layout], "steps": steps_per_file, "checksum": checksum, "exchange_bytes": "64 KiB"}
    check_run(mpirun, tmp_path, options, rng.choice(list(GRIDS)), SIZES, 2)


# Who writes the large array: its owners where all write, the first ranks of parts or nodes otherwise.
LARGE_WRITERS = {"single": {0}, "split:2": {0, 2}, "node": {0, 2}, "node-per-node": {0, 2}, "collective": {0, 2}}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_aligned_arrays(mpirun: Mpirun, tmp_path: Path, needs: Callable[..., None], layout: str) -> None:
    """Arrays above the threshold of alignment; long rows, which their owners write where all ranks share a file."""
    needs("strace")
    _, plans = check_run(mpirun, tmp_path, {**LAYOUTS[layout], "alignment": "64 KiB"}, "rows", LONG_ROWS, 1)
    writes = [write for plan in plans for write in plan["rank_plan"]["writes"] if write["variable"] == "a"]
    assert sum(write["bytes"] for write in writes) == 4 * LONG_ROWS.lev * LONG_ROWS.lat * LONG_ROWS.lon
    assert writes[0]["address"] % 65536 == 0
    owners = {rank for rank, plan in enumerate(plans) if any(w["variable"] == "a" for w in plan["rank_plan"]["writes"])}
    assert owners == LARGE_WRITERS.get(layout, set(range(RANKS)))
    if plans[0]["layout"]["writers"] == "all":
        assert not any(
            message["bytes"] > LONG_ROWS.lev * LONG_ROWS.lat * LONG_ROWS.lon for message in plans[1]["rank_plan"]["sends"]
        )


@pytest.mark.parametrize("preset", ["fpp", "hds"])
def test_directories_of_several_files(mpirun: Mpirun, tmp_path: Path, needs: Callable[..., None], preset: str) -> None:
    """A tree with the smallest bound, over several steps: as many directories as planned, and none above the bound."""
    needs("strace")
    tree = "flat" if preset == "fpp" else "8"
    _, plans = check_run(mpirun, tmp_path, {"layout": preset, "tree": tree}, "rows", SIZES, 6)
    entries = [len(list(path.iterdir())) for path in (tmp_path / "out").rglob("*") if path.is_dir()]
    assert max(entries) == plans[0]["entries_per_directory_max"]
    assert preset == "fpp" or max(entries) <= 8


def test_a_write_elsewhere_is_noticed() -> None:
    """The comparison itself: a byte missing, a byte too much, another path."""
    planned = Write("a.nc", 100, 50)
    assert uncovered(planned, [Write("a.nc", 90, 30), Write("a.nc", 120, 40)]) == 0
    assert uncovered(planned, [Write("a.nc", 100, 20), Write("a.nc", 121, 29)]) == 1
    assert uncovered(planned, [Write("a.nc", 100, 49)]) == 1
    assert uncovered(planned, [Write("b.nc", 100, 50)]) == 50
