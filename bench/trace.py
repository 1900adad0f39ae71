"""The cost of recording: for a call, for a run of the OLAM kernel, and before a program starts.

    make bench NAME=trace [SIZE=quick|full] [ARGS="--peer NAME=LIBRARY,KEY=VALUE,..."]

The same program runs without and with the tracer, and with peers' libraries, which are preloaded, too. The order rotates. KEY=VALUE
are variables that a peer needs; {logs} in them is the run's folder for logs. The cost of a call is the difference, run by run, of
the medians over rounds of calls. The cost of a kernel run is the processor time of all its ranks, user and system. The cost of a
start is the processor time of `tailrace run` and of the program until its first instruction of its own, minus that of the program
alone. bench/trace_merged.py measures what merged calls cost, and compares their totals with the calls made.
docs/benchmarks.md describes how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from tailrace.launch.local import MPIRUN
from tailrace.trace import launch
from tailrace.trace.log import read_log
from tailrace.trace.log_folder import NotTraceable

from bench import harness, trace_merged
from bench.harness import Claim, Spread, console
from bench.olam import prepare_input

CALLS = {"pwrite": 1, "open": 2, "stat": 1, "fwrite": 1}  # with the number of events that each adds
BUDGET = 1 << 30
FOLDER = Path("/dev/shm/tailrace-bench-trace")
LIMIT_S = 120
PLAIN, OURS = "plain", "tailrace"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# A program that prints the processor time of its parent, of children that the parent has waited for, and its own.
STARTED = ["sh", "-c", "cat /proc/$PPID/schedstat /proc/$PPID/stat /proc/$$/schedstat"]
Row = Mapping[str, Any]
Peers = Mapping[str, Mapping[str, str]]  # names, and the variables of each


@dataclasses.dataclass(frozen=True)
class Size:
    runs: int  # of each call
    rounds: int
    calls: int  # of a round
    kernel_runs: int
    kernel_steps: int


SIZES = {"quick": Size(7, 200, 500, 7, 40), "full": Size(25, 200, 1000, 21, 150)}


def environment_of(method: str, peers: Peers, logs: Path) -> dict[str, str]:
    if method == PLAIN:
        return {}
    if method == OURS:
        return launch.traced_environment(logs, BUDGET, {})
    return {key: value.replace("{logs}", str(logs)) for key, value in peers[method].items()}


class Folders:
    """New folders for each run: for the program's files and for the logs."""

    def __enter__(self) -> tuple[Path, Path]:
        shutil.rmtree(FOLDER, ignore_errors=True)
        work, logs = FOLDER / "work", FOLDER / "logs"
        work.mkdir(parents=True)
        logs.mkdir()
        return work, logs

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(FOLDER, ignore_errors=True)


def run_call(call: str, method: str, peers: Peers, size: Size) -> float:
    """Nanoseconds of one call. Reads the log, to check that all calls were recorded."""
    with Folders() as (work, logs):
        command = [str(harness.program("bench_trace")), call, str(size.rounds), str(size.calls), str(work)]
        variables = {**os.environ, **environment_of(method, peers, logs)}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr[-2000:]}")
        if method == OURS:
            (log,) = [read_log(path) for path in logs.iterdir()]
            least = (size.rounds + 1) * size.calls * CALLS[call]
            if len(log.events) < least:
                raise harness.BenchError(f"{log.path}: {len(log.events)} events, expected at least {least}")
        return float(json.loads(done.stdout)["ns"])


def run_kernel(method: str, peers: Peers, size: Size, maps: Path) -> float:
    """Seconds of processor time of a whole run on two ranks, launcher included."""
    with Folders() as (work, logs):
        ranks = [word for key, value in environment_of(method, peers, logs).items() for word in ("-x", f"{key}={value}")]
        steps = [f"steps={size.kernel_steps}", "sweeps=20"]
        arguments = [f"dir={work}", f"run={work / 'run.json'}", f"input={maps}", *steps]
        command = [MPIRUN, "-n", "2", *ranks, str(harness.program("olam")), *arguments]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, env=harness.mpi_environment({}), capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr[-2000:]}")
        if method == OURS and len(list(logs.iterdir())) < 2:
            raise harness.BenchError(f"{' '.join(command)}: not all ranks were recorded")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_start(method: str) -> float:
    """Seconds of processor time until a program has started: of the program alone, or of `tailrace run` and the program."""
    with Folders() as (_, logs):
        command = [str(harness.program("tailrace")), "run", "--log", str(logs), "--"] if method == OURS else []
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run([*command, *STARTED], env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join([*command, *STARTED])} ended with status {done.returncode}: {done.stderr[-2000:]}")
        if method == OURS and not list(logs.glob("*.trace")):
            raise harness.BenchError(f"{' '.join([*command, *STARTED])}: not recorded")
        parent, status, own = done.stdout.splitlines()
        of_children = sum(map(int, status.rpartition(")")[2].split()[13:15])) * TICK_S  # cutime and cstime
        of_parent = int(parent.split()[0]) / 1e9 + of_children if method == OURS else 0.0
        return of_parent + int(own.split()[0]) / 1e9


def measure(size: Size, peers: Peers) -> list[Row]:
    """Rows of all runs; number 0 is the warm-up."""
    methods = [PLAIN, OURS, *peers]
    maps = prepare_input()
    rows: list[Row] = []
    for run in range(max(size.runs, size.kernel_runs) + 1):
        for method in methods[run % len(methods) :] + methods[: run % len(methods)]:
            if run <= size.runs:
                for call in CALLS:
                    rows.append({"run": run, "what": call, "method": method, "ns": run_call(call, method, peers, size)})
            if run <= size.runs and method in (PLAIN, OURS):
                rows.append({"run": run, "what": "start", "method": method, "seconds": run_start(method)})
            if run <= size.kernel_runs:
                rows.append({"run": run, "what": "kernel", "method": method, "seconds": run_kernel(method, peers, size, maps)})
    return rows


def values_of(rows: Sequence[Row], what: str, method: str, key: str) -> list[float]:
    return [row[key] for row in rows if row["what"] == what and row["method"] == method and row["run"] > 0]


def added_us(rows: Sequence[Row], call: str, method: str) -> list[float]:
    plain, other = (values_of(rows, call, each, "ns") for each in (PLAIN, method))
    return [(b - a) / 1e3 for a, b in zip(plain, other, strict=True)]


def kernel_ratio(rows: Sequence[Row], method: str) -> list[float]:
    plain, other = (values_of(rows, "kernel", each, "seconds") for each in (PLAIN, method))
    return [b / a for a, b in zip(plain, other, strict=True)]


def start_added_s(rows: Sequence[Row]) -> list[float]:
    plain, other = (values_of(rows, "start", method, "seconds") for method in (PLAIN, OURS))
    return [b - a for a, b in zip(plain, other, strict=True)]


def claims_of(rows: Sequence[Row], merged: Sequence[Row]) -> list[Claim]:
    worst, added_merged = trace_merged.worst_added_us(merged)
    values = {
        "pwrite": (added_us(rows, "pwrite", OURS), "us", ""),
        "kernel": (kernel_ratio(rows, OURS), "ratio", ""),
        "start": (start_added_s(rows), "s", ""),
        "merged": (added_merged, "us", f", {worst}"),
        "allreduce": (trace_merged.allreduce_ratios(merged), "ratio", ""),
    }
    claims = []
    for wanted in harness.bounds("trace")["claims"]:
        name, text, bound = wanted["id"], wanted["text"], wanted["bound"]
        if name == "totals":
            claims.append(Claim(name, text, trace_merged.exact_share(merged), bound, detail={"against": "the calls made"}))
            continue
        found, unit, what = values[name]
        detail = {
            "least": min(found),
            "most": max(found),
            "interval": trace_merged.interval_of_median(found),
            "against": f"the same without the tracer{what}",
        }
        claims.append(Claim(name, text, statistics.median(found), bound, unit, detail, at_most=True))
    return claims


def print_costs(rows: Sequence[Row], methods: Sequence[str]) -> None:
    table = Table(
        title="Added to a call, us, and to the processor time of a kernel run (medians, least..most)", title_justify="left"
    )
    table.add_column("")
    for heading in ("plain", *methods):
        table.add_column(heading, justify="right")
    for call in CALLS:
        plain = statistics.median(values_of(rows, call, PLAIN, "ns")) / 1e3
        added = [Spread.of(added_us(rows, call, method)) for method in methods]
        table.add_row(call, f"{plain:.3f} us", *(f"+{a.median:.3f} ({a.least:.3f}..{a.most:.3f})" for a in added))
    ratios = [Spread.of(kernel_ratio(rows, method)) for method in methods]
    plain_s = statistics.median(values_of(rows, "kernel", PLAIN, "seconds"))
    table.add_row("OLAM kernel", f"{plain_s:.2f} s", *(f"x {r.median:.4f} ({r.least:.3f}..{r.most:.3f})" for r in ratios))
    start = Spread.of(start_added_s(rows))
    plain_s = statistics.median(values_of(rows, "start", PLAIN, "seconds"))
    table.add_row(
        "start", f"{plain_s:.3f} s", f"+{start.median:.3f} s ({start.least:.3f}..{start.most:.3f})", *("" for _ in methods[1:])
    )
    console.print(table)


def peer(text: str) -> tuple[str, dict[str, str]]:
    (name, _, library), *variables = (word.partition("=") for word in text.split(","))
    if not Path(library).is_file():
        raise argparse.ArgumentTypeError(f"'{text}': give NAME=LIBRARY with an existing library, and its variables as ,KEY=VALUE")
    return name, {"LD_PRELOAD": library, **{key: value for key, _, value in variables}}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.trace", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument(
        "--peer", type=peer, action="append", default=[], help="NAME=LIBRARY[,KEY=VALUE...]: another tracer that is preloaded"
    )
    options = parser.parse_args()
    peers = dict(options.peer)
    harness.need_space(FOLDER, BUDGET)
    merged = trace_merged.measure(options.size, Folders)
    rows = measure(SIZES[options.size], peers)
    print_costs(rows, [OURS, *peers])
    claims = claims_of(rows, merged)
    harness.print_claims(claims, "Claims (with the tracer, minus or divided by without it)")
    settings = {
        "size": options.size,
        **dataclasses.asdict(SIZES[options.size]),
        "peers": peers,
        **trace_merged.size_settings(options.size),
    }
    console.print(str(harness.write_record("trace", settings, [*rows, *merged], claims).relative_to(harness.ROOT)))
    is_disproved = any(claim.is_missed or (claim.id == "totals" and not claim.holds) for claim in claims)
    return 1 if is_disproved and options.size == "full" else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.BenchError, NotTraceable) as error:
        sys.exit(f"bench trace: {error}")
