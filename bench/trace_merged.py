"""What merged calls cost, and whether their totals are exact within a small budget. Part of bench/trace.py."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.launch.local import MPIRUN
from tailrace.trace import launch
from tailrace.trace.log import Log, read_run

from bench import harness

BUDGET = 8 << 20
BEYOND_BUDGET = 1 << 20  # of a log's file: the header, and counters and names that are kept whatever the budget is
WRITE_BYTES, THREADS, RANKS = 8, 4, 2
WRITERS = {"one": 1, "files": 1, "seek": 1, "threads": THREADS, "collective": RANKS}  # by the kind of run; merged.c explains them
ALLREDUCE = "allreduce"
PLAIN, OURS = "plain", "tailrace"
LIMIT_S = 600
Row = Mapping[str, Any]
Folders = Callable[[], AbstractContextManager[tuple[Path, Path]]]


@dataclass(frozen=True)
class Size:
    pairs: int  # of runs without and with the tracer
    rounds: int
    writes: int  # of a round and a thread
    total: int  # of all writers, in the run whose totals are compared


SIZES = {"quick": Size(5, 40, 5_000, 1_000_000), "full": Size(9, 60, 10_000, 50_000_000)}


def run(kind: str, rounds: int, writes: int, traced: bool, folders: Folders) -> tuple[float, list[Log]]:
    """Nanoseconds of a call, and the logs of the processes."""
    with folders() as (work, logs):
        command = [str(harness.program("bench_trace_merged")), kind, str(rounds), str(writes), str(work)]
        ours = launch.traced_environment(logs, BUDGET, {}) if traced else {}
        variables = {**harness.mpi_environment({}), "OMPI_MCA_mpi_yield_when_idle": "0"}
        if kind in ("collective", ALLREDUCE):
            of_ranks = [word for key, value in ours.items() for word in ("-x", f"{key}={value}")]
            command = [MPIRUN, "-n", str(RANKS), *of_ranks, *command]
        else:
            variables |= ours
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr[-2000:]}")
        found = read_run(logs)[0] if traced else []
        for log in found:
            if log.path.stat().st_size > BUDGET + BEYOND_BUDGET:
                raise harness.BenchError(f"{log.path}: {log.path.stat().st_size} bytes, the budget is {BUDGET}")
        return float(json.loads(done.stdout)["ns"]), found


def totals_of(logs: Sequence[Log]) -> dict[str, Counter[str]]:
    """Calls and bytes by the name of the call, of events, merged records and counters."""
    calls: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    for log in logs:
        for events, column in ((log.events, None), (log.merged, "calls")):
            for call in set(events["call"].tolist()):
                rows = events[events["call"] == call]
                name = log.calls[int(call)].name
                calls[name] += int(rows[column].sum()) if column else len(rows)
                moved[name] += int(rows["moved"].sum()) if column else int(rows["result"][rows["result"] > 0].sum())
        for counter in log.counters:
            name = log.calls[int(counter["counted_call"])].name if int(counter["counted_call"]) else "(other files)"
            calls[name] += int(counter["calls"])
            moved[name] += int(counter["bytes_written"])
    return {"calls": calls, "moved": moved}


def is_exact(kind: str, size: Size, folders: Folders) -> bool:
    """Whether the log of very many calls has each of them."""
    writers = WRITERS[kind]
    rounds = size.total // writers // size.writes
    expected = rounds * size.writes * writers
    _, logs = run(kind, rounds, size.writes, True, folders)
    found = totals_of(logs)
    call = "write" if kind == "seek" else "pwrite"
    counts = {call: expected}
    if kind == "seek":
        counts["lseek"] = expected
    if kind == "collective":
        counts["MPI_Allreduce"] = expected // 10
    exact = all(found["calls"][name] == count for name, count in counts.items()) and found["moved"][call] == expected * WRITE_BYTES
    merged = sum(int(log.merged["calls"].sum()) for log in logs)
    harness.console.print(f"{kind}: {counts}, found {dict(found['calls'])}, of which {merged} merged")
    return exact


def measure(name: str, folders: Folders) -> list[Row]:
    size = SIZES[name]
    rows: list[Row] = []
    for pair in range(size.pairs):
        for kind in (*WRITERS, ALLREDUCE):
            for method in (PLAIN, OURS) if pair % 2 else (OURS, PLAIN):
                # Fewer Allreduces, because each may wait. The first 65,000 are events; the median round is a merged one.
                writes = size.writes // 5 if kind == ALLREDUCE else size.writes
                ns, _ = run(kind, 5 * size.rounds if kind == ALLREDUCE else size.rounds, writes, method == OURS, folders)
                rows.append({"pair": pair, "kind": kind, "method": method, "ns": ns})
    rows += [{"kind": kind, "method": OURS, "exact": is_exact(kind, size, folders)} for kind in WRITERS]
    return rows


def pairs_of(rows: Sequence[Row], kind: str) -> list[tuple[float, float]]:
    """Without and with the tracer."""
    of = {(row["pair"], row["method"]): row["ns"] for row in rows if row["kind"] == kind and "ns" in row}
    return [(of[pair, PLAIN], of[pair, OURS]) for pair in sorted({pair for pair, _ in of})]


def added_us(rows: Sequence[Row], kind: str) -> list[float]:
    return [(ours - plain) / 1e3 for plain, ours in pairs_of(rows, kind)]


def worst_added_us(rows: Sequence[Row]) -> tuple[str, list[float]]:
    kind = max(WRITERS, key=lambda each: statistics.median(added_us(rows, each)))
    return kind, added_us(rows, kind)


def allreduce_ratios(rows: Sequence[Row]) -> list[float]:
    return [ours / plain for plain, ours in pairs_of(rows, ALLREDUCE)]


def exact_share(rows: Sequence[Row]) -> float:
    return statistics.mean(row["exact"] for row in rows if "exact" in row)


def interval_of_median(values: Sequence[float]) -> tuple[float, float]:
    """The bootstrap interval of 95 %."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def size_settings(name: str) -> dict[str, int]:
    return {f"merged_{key}": value for key, value in vars(SIZES[name]).items()}
