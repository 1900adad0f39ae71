"""Names of phases, and late by I/O, against programs whose phases are known.

    make bench NAME=phases [SIZE=quick|full]

TRUE_NAMES has the name that each true phase of a program must get. The wrapped, the stripped and the Python program measure
themselves. The OLAM kernel marks its phases: the names are made without the marks, and held against them. LAMMPS measures its
output as a whole. docs/benchmarks.md describes how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table
from tailrace.launch.local import MPIRUN
from tailrace.trace import launch
from tailrace.trace.collectives import Collective, collectives_of
from tailrace.trace.intervals import Interval, intervals_between, marked_intervals
from tailrace.trace.log import read_run
from tailrace.trace.phase_names import names_between
from tailrace.trace.ranks import Rank, ranks_of

from bench import harness
from bench.harness import BenchError, Claim, console
from bench.olam import prepare_input

SOURCES = harness.ROOT / "bench" / "phases"
SCRATCH = harness.BUILD / "bench-scratch" / "phases"
LAMMPS = Path("/usr/bin/lmp")
LIMIT_S = 300
STEPS = {"quick": 6, "full": 20}
RANKS = (2, 3, 4)
LEAST_SHARE = 0.1  # of the time: a true phase of the table has at least that
LAMMPS_INPUT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
dump d all custom 1 dump.%.* id type x y z vx vy vz
restart 1 restart.%.*
run {steps}
"""
# Program -> true phase -> the name that it must have, as a regular expression.
TRUE_NAMES: Mapping[str, Mapping[str, str]] = {
    "wrapped": {
        "advance": r"to barrier < advance$",
        "exchange": r"to barrier < exchange$",
        "write_fields": r"^put < write_fields$",
        "write_restart": r"^put < write_restart$",
    },
    "stripped": {
        "advance": r"^from .* to stripped\+0x",
        "exchange": r"^from stripped\+0x.* to stripped\+0x",
        "write_fields": r"^writing field\*\.dat$",
        "write_restart": r"^writing restart\*\.dat$",
    },
    "mpi4py": {
        "advance": r"to barrier < advance$",
        "exchange": r"to barrier < exchange$",
        "write_fields": r"^put < write_fields$",
        "write_restart": r"^put < write_restart$",
    },
    "olam": {
        "8exec": "end_phase at {p_exec}$",
        "9write": "write|end_phase at {p_write}$",
        "6plot": "plot|end_phase at {p_plot}$",
        "7gather": "gather|end_phase at {p_gather}$",
    },
    "lammps": {"Output": ""},
}
# Phases of LAMMPS that are output during the run: both ends in one class, or the I/O of one.
LAMMPS_OUTPUT = re.compile(
    r"^from LAMMPS_NS::Dump::write < LAMMPS_NS::Output::write\b.* to LAMMPS_NS::Dump::write < LAMMPS_NS::Output::write\b"
    r"|^from LAMMPS_NS::WriteRestart\b.* to LAMMPS_NS::WriteRestart\b"
    r"|^LAMMPS_NS::(Dump|WriteRestart)|^writing (dump|restart)"
)


@dataclasses.dataclass(frozen=True)
class Result:
    program: str
    ranks: int
    right: float  # the part of the time whose name is right
    late: float | None  # by I/O, of all waiting, as the tracer has it
    measured_late: float | None  # as the program measured it
    shares: Mapping[str, float]  # of each true phase
    wrong: Mapping[str, float]  # names that are not right, with their part of the time


def build() -> dict[str, list[str]]:
    """The commands of the programs that are built here."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for name, options in (("wrapped", []), ("stripped", ["-s"])):
        command = ["mpicc", "-O2", *options, str(SOURCES / "wrapped.c"), "-o", str(SCRATCH / name)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise BenchError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return {
        "wrapped": [str(SCRATCH / "wrapped")],
        "stripped": [str(SCRATCH / "stripped")],
        "mpi4py": [sys.executable, str(SOURCES / "wrapped.py")],
    }


def record(program: str, command: Sequence[str], ranks: int) -> tuple[list[Rank], Path]:
    """Runs a program on ranks with the tracer. Returns its ranks and the folder where it ran."""
    work, logs = SCRATCH / "work", SCRATCH / "logs"
    for folder in (work, logs):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    if program == "lammps":
        steps = int(command[-1])
        (work / "in.melt").write_text(LAMMPS_INPUT.format(steps=steps))
        command = [str(LAMMPS), "-in", "in.melt", "-log", "log.melt"]
    variables = launch.traced_environment(logs, 1 << 28, {})
    exports = [word for key, value in variables.items() for word in ("-x", f"{key}={value}")]
    words = [MPIRUN, "-n", str(ranks), *exports, *command]
    environment = harness.mpi_environment({})
    done = subprocess.run(words, env=environment, cwd=work, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
    found, damaged = read_run(logs)
    if damaged:
        raise BenchError(damaged[0])
    return ranks_of(found), work


def measured(work: Path, ranks: int) -> tuple[list[str], float]:
    """The phases of a program that measures itself, and the part of its waiting that I/O explains."""
    of_ranks = [[line.split() for line in (work / f"truth.{rank}").read_text().splitlines()] for rank in range(ranks)]
    late = waiting = 0.0
    for lines in zip(*of_ranks, strict=True):
        arrivals, io = (np.array([float(line[column]) for line in lines]) for column in (1, 2))
        sync_s = float(np.ptp(arrivals))
        late += float(np.clip(io[arrivals.argmax()] - io[arrivals.argmin()], 0.0, sync_s))
        waiting += sync_s
    return [line[0] for line in of_ranks[0]], late / waiting


def true_phases(program: str, work: Path, ranks: Sequence[Rank], intervals: Sequence[Interval]) -> Iterator[str]:
    """The true phase of each interval of the first rank; "" for what belongs to none."""
    if program in ("wrapped", "stripped", "mpi4py"):
        yield from measured(work, len(ranks))[0]
        return
    marks = marked_intervals(ranks[0])
    for interval in intervals:
        shared = ((min(mark.end, interval.end) - max(mark.begin, interval.begin), mark.phase) for mark in marks)
        shared_s, phase = max(shared, default=(0.0, ""))
        yield phase if shared_s > 0 else ""


def kernel_lines() -> dict[str, str]:
    """Where the kernel ends each of its phases, by the name of the phase in its source."""
    source = harness.ROOT / "kernels" / "olam" / "main.f90"
    calls = ((number, re.search(r"call end_phase\(phases, (\w+)", line)) for number, line in enumerate(source.open(), 1))
    return {call[1]: rf"{source.name}:{number}" for number, call in calls if call}


def late_of(collectives: Sequence[Collective]) -> float:
    waiting = sum(collective.sync_s for collective in collectives)
    return sum(collective.late_by_io_s for collective in collectives) / waiting if waiting > 0 else 0.0


def compare(program: str, command: Sequence[str], count: int) -> Result:
    ranks, work = record(program, command, count)
    if len(ranks) != count:
        raise BenchError(f"{program}: {len(ranks)} of {count} ranks have a log")
    collectives, unmatched = collectives_of(ranks)
    if unmatched:
        raise BenchError(f"{program}: {unmatched[0]}")
    of_all = [each for each in collectives if each.is_own and len(each.ranks) == count]
    intervals = intervals_between(of_all, ranks[0], names_between(of_all, ranks))[1:-1]
    if program == "lammps":
        return compare_lammps(work, count, intervals)
    seconds: dict[str, float] = defaultdict(float)
    wrong: dict[str, float] = defaultdict(float)
    wanted = TRUE_NAMES[program]
    lines = kernel_lines() if program == "olam" else {}
    for interval, phase in zip(intervals, true_phases(program, work, ranks, intervals), strict=True):
        if phase not in wanted:
            continue
        seconds[phase] += interval.end - interval.begin
        if not re.search(wanted[phase].format_map(lines), interval.phase):
            wrong[f"{phase}: {interval.phase}"] += interval.end - interval.begin
    whole = sum(seconds.values())
    has_truth = program in ("wrapped", "stripped", "mpi4py")
    return Result(
        program=program,
        ranks=count,
        right=1 - sum(wrong.values()) / whole,
        late=late_of(of_all) if has_truth else None,
        measured_late=measured(work, count)[1] if has_truth else None,
        shares={phase: spent / whole for phase, spent in seconds.items()},
        wrong={name: spent / whole for name, spent in wrong.items()},
    )


def compare_lammps(work: Path, count: int, intervals: Sequence[Interval]) -> Result:
    """LAMMPS measures how long its output takes. The time of phases that are output by their names is held against it."""
    text = (work / "log.melt").read_text()
    loop, output = re.search(r"^Loop time of (\S+)", text, re.M), re.search(r"^Output *\|[^|]*\| *(\S+)", text, re.M)
    if loop is None or output is None:
        raise BenchError("log.melt has no times of LAMMPS")
    whole, measured_s = float(loop[1]), float(output[1])
    named_s = sum(interval.end - interval.begin for interval in intervals if LAMMPS_OUTPUT.search(interval.phase))
    missed = abs(named_s - measured_s) / whole
    shares = {"Output": measured_s / whole, "computing": 1 - measured_s / whole}
    wrong = {"Output: named": named_s / whole} if missed > 0 else {}
    return Result("lammps", count, 1 - missed, None, None, shares, wrong)


def claims_of(results: Sequence[Result]) -> list[Claim]:
    claims = []
    for wanted in harness.bounds("phases")["claims"]:
        if wanted["id"] == "names":
            value = min(result.right for result in results)
            claims.append(Claim(wanted["id"], wanted["text"], value, wanted["bound"], "ratio", {}))
        elif wanted["id"] == "late":
            pairs = [(result.late, result.measured_late) for result in results]
            value = max((abs(late - truth) for late, truth in pairs if late is not None and truth is not None), default=0.0)
            claims.append(Claim(wanted["id"], wanted["text"], value, wanted["bound"], "ratio", {}, at_most=True))
        else:
            counts = [
                sum(share >= LEAST_SHARE for share in result.shares.values()) for result in results if result.program != "lammps"
            ]
            value = min(counts, default=0)
            claims.append(Claim(wanted["id"], wanted["text"], value, wanted["bound"], "phases", {}))
    return claims


def print_results(results: Sequence[Result]) -> None:
    table = Table(title="Phases of programs whose phases are known", title_justify="left")
    for heading in ("program", "ranks", "right names", "late by I/O", "measured", "parts of the time", "wrong names"):
        table.add_column(heading)
    for result in results:
        late, truth = ("" if value is None else f"{100 * value:.1f} %" for value in (result.late, result.measured_late))
        shares = ", ".join(f"{phase} {100 * share:.0f} %" for phase, share in result.shares.items())
        worst = sorted(result.wrong.items(), key=lambda item: -item[1])[:3]
        wrong = "; ".join(f"{name} {100 * share:.1f} %" for name, share in worst)
        table.add_row(result.program, str(result.ranks), f"{100 * result.right:.1f} %", late, truth, shares, wrong)
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.phases", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=STEPS, default="quick")
    parser.add_argument("--program", choices=TRUE_NAMES, action="append", help="Measure only this program; may be repeated.")
    options = parser.parse_args()
    steps = STEPS[options.size]
    commands = {name: [*command, str(steps)] for name, command in build().items()}
    maps = prepare_input()
    commands["olam"] = [str(harness.program("olam")), "dir=out", "run=run.json", f"input={maps}", f"steps={steps}", "sweeps=5"]
    if LAMMPS.exists():
        commands["lammps"] = [str(LAMMPS), str(2 * steps)]
    else:
        console.print(f"{LAMMPS} is not installed: LAMMPS is left out")
    chosen = [name for name in commands if name in (options.program or TRUE_NAMES)]
    results = [compare(name, commands[name], count) for name in chosen for count in RANKS]
    print_results(results)
    claims = claims_of(results)
    settings = {"size": options.size, "steps": steps, "programs": chosen}
    rows = [dataclasses.asdict(result) for result in results]
    return harness.conclude("phases", settings, rows, claims, "Claims (the worst program and number of ranks)")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BenchError, launch.NotTraceable) as error:
        sys.exit(f"bench phases: {error}")
