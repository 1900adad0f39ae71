"""What staging brings to a program that makes many small files: until it has ended, and until its files are on the device.

    make bench NAME=stage [SIZE=quick|full]

Four processes make files of 16 KiB on the local disk: plainly without and with fsync, staged by `tailrace run` on the same disk
and in memory, and as people do it by hand: written to memory, then copied with cp, or with tar, with fsync and comparison.

A program that computes between its outputs is staged with and without copies while it runs (`while_running`), in pairs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from tailrace.place.compiled import compiled, write_rules
from tailrace.place.placing import PLACE_KEY
from tailrace.place.stage_rules import StageNode, StageRecord, stage_of
from tailrace.trace import launch

from bench import harness
from bench.harness import Claim, Spread, console
from bench.tree import CALL_TEXTS, CALLS, print_calls

PROCESSES, FILE_BYTES = 4, 16 << 10
FILES, ROUNDS = {"quick": 400, "full": 20_000}, {"quick": 3, "full": 5}
# Files, steps, and milliseconds of computing behind each. RATIONALE: a file is copied while the program runs when it was quiet for
# two seconds, so the computing of a full run takes longer. The bench is to take ten minutes, so the pairs are 12 runs of 10 s.
COMPUTED = {"quick": (200, 3, 1500), "full": (4000, 4, 2500)}
PAIRS = {"quick": 2, "full": 5}
AFTER, WHILE = "computes, drained after it", "computes, drained while it runs"
WARM_UP = 10  # one of so many files is made before the first round
COPY = "cp -r {scratch}/out {target}/out && find {target}/out -print0 | xargs -0 sync && diff -r {scratch}/out {target}/out"
TAR = "tar -cf {target}/out.tar -C {scratch} out && sync {target}/out.tar && tar -df {target}/out.tar -C {scratch}"
RSYNC = "rsync -a --fsync {scratch}/out {target}/ && diff -r {scratch}/out {target}/out"


@dataclass(frozen=True)
class Method:
    """One way to the device. `measure` returns the seconds of the program, and those until all is there."""

    name: str
    measure: Callable[[Path, Path, int], tuple[float, float]]
    is_claimed: bool = False  # the others run once, because they take minutes
    removes: bool = False  # files on the disk


def words_of(folder: Path, files: int, syncs: bool) -> list[str]:
    return [str(harness.program("bench_stage")), str(folder), *map(str, (PROCESSES, files, FILE_BYTES, int(syncs)))]


def ran(words: list[str], folder: Path) -> str:
    environment = {**harness.mpi_environment({}), "PYTHONPATH": str(harness.ROOT / "python")}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=1200)
    if done.returncode != 0:
        raise harness.BenchError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def plain(syncs: bool) -> Method:
    def measure(target: Path, _: Path, files: int) -> tuple[float, float]:
        begin = time.monotonic()
        program_s = float(ran(words_of(target / "out", files, syncs), target))
        if not syncs:
            ran(["sync", "-f", str(target)], target)
        return program_s, time.monotonic() - begin

    return Method("with fsync" if syncs else "without fsync", measure, is_claimed=True)


def run_staged(target: Path, keys: str, words: list[str]) -> tuple[float, float]:
    """The seconds of the program, and those until all is at the target. `keys`: further lines of [stage]."""
    (target / "tailrace.toml").write_text(f'[stage]\nfiles = ["out/**"]\nmin_free = "64 MiB"\n{keys}')
    command = [str(harness.BUILD / "bin" / "tailrace"), "run", "--config", "tailrace.toml", "--log", str(target / "log"), "--"]
    begin = time.monotonic()
    program_s = float(ran([*command, *words], target))
    return program_s, time.monotonic() - begin


def staged(where: str, sink: str) -> Method:
    def measure(target: Path, memory: Path, files: int) -> tuple[float, float]:
        scratch = memory if where == "memory" else target.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        return run_staged(target, f'scratch = "{scratch}"\nsink = "{sink}"\n', words_of(Path("out"), files, False))

    return Method(f"staged: {where}, {sink}", measure, (where, sink) == ("memory", "bundle"), removes=where == "disk")


def by_hand(name: str, script: str) -> Method:
    def measure(target: Path, memory: Path, files: int) -> tuple[float, float]:
        begin = time.monotonic()
        program_s = float(ran(words_of(memory / "out", files, False), target))
        ran(["sh", "-c", script.format(scratch=memory, target=target)], target)
        seconds = time.monotonic() - begin
        shutil.rmtree(memory / "out")
        return program_s, seconds

    return Method(f"script with {name}", measure, is_claimed=name == "tar")


METHODS = [
    plain(False),
    plain(True),
    *(staged(where, sink) for where, sink in itertools.product(("disk", "memory"), ("mirror", "bundle"))),
    by_hand("cp", COPY),
    by_hand("tar", TAR),
    *([by_hand("rsync", RSYNC)] if shutil.which("rsync") else []),
]


def check(target: Path, memory: Path, files: int) -> None:
    """Compares every byte with the program's formula; bundles and tar files are unpacked first, in memory."""
    if bundles := sorted(target.glob("*.tar")):
        target = Path(tempfile.mkdtemp(dir=memory))
        for bundle in bundles:
            ran(["tar", "-xf", str(bundle)], target)
    at = np.arange(FILE_BYTES)
    found = 0
    for process, file in itertools.product(range(PROCESSES), range(files // PROCESSES)):
        path = target / "out" / f"{process}.{file // 1000}" / str(file)
        wanted = (process * 131 + file * 17 + at * 7 + at // 251).astype(np.uint8)
        if not np.array_equal(np.fromfile(path, np.uint8), wanted):
            raise harness.BenchError(f"{path}: other bytes than the program wrote")
        found += 1
    if found != files or sum(len(names) for _, _, names in os.walk(target / "out")) != files:
        raise harness.BenchError(f"{target}: other files than the program made")
    if bundles:
        shutil.rmtree(target)


def measure_all(disk: Path, memory: Path, size: str) -> Iterator[dict[str, Any]]:
    """First the rounds of what is claimed, then the rest. What a method has made stays to the end: on ext4 without a journal, files
    are made slowly where others were removed. Staging on the disk removes files itself, so it comes last."""
    claimed = [method for method in METHODS if method.is_claimed]
    others = sorted((method for method in METHODS if not method.is_claimed), key=lambda method: method.removes)
    for round_number in range(ROUNDS[size] + 1):  # round 0 warms up
        turn = round_number % len(claimed)
        for method in claimed[turn:] + claimed[:turn]:
            row = _measure(method, disk, memory, FILES[size] if round_number > 0 else FILES[size] // WARM_UP)
            if round_number > 0:
                yield {**row, "round": round_number}
    for round_number in range(1, (ROUNDS[size] if size == "quick" else 1) + 1):
        for method in others:
            yield {**_measure(method, disk, memory, FILES[size]), "round": round_number}


def _measure(method: Method, disk: Path, memory: Path, files: int) -> dict[str, Any]:
    target = Path(tempfile.mkdtemp(prefix="target-", dir=disk))
    program_s, durable_s = method.measure(target, memory, files)
    check(target, memory, files)
    return {"method": method.name, "program_s": program_s, "durable_s": durable_s}


def call_costs(folder: Path, memory: Path, size: str) -> Iterator[dict[str, Any]]:
    """Nanoseconds of processor time a call, with the preload library alone and with [stage], by turns."""
    base, scratch = folder / "calls", Path(tempfile.mkdtemp(dir=memory))
    base.mkdir()
    (scratch / ".tailrace-drain").mkdir()
    stage = stage_of({"stage": {"files": ["data/**"], "min_free": "1 MiB"}}, "bench", base)
    assert stage is not None
    is_ours = scratch.stat()
    node = StageNode(str(scratch), os.uname().nodename, is_ours.st_dev, is_ours.st_ino)
    record = StageRecord(stage, (node,))
    write_rules(folder / "call.rules", compiled((), record))
    words = [str(harness.BUILD / "tests" / "place_case"), "timing", str(CALLS[size])]
    for round_number, rules in itertools.product(range(ROUNDS[size] + 1), ("", str(folder / "call.rules"))):
        variables = {"LD_PRELOAD": str(launch.preload_library()), **({PLACE_KEY: rules} if rules else {})}
        environment = {**harness.mpi_environment({}), **variables}
        shutil.rmtree(base / "data", ignore_errors=True)
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, cwd=base, timeout=300)
        if round_number > 0:
            yield {"staged": bool(rules), "ns": dict(zip(CALL_TEXTS, map(int, done.stdout.split()), strict=True))}


def measure_computing(disk: Path, size: str) -> Iterator[dict[str, Any]]:
    """The processes compute on all processors, or more, so the drain has to share them."""
    files, steps, milliseconds = COMPUTED[size]
    scratch = disk / "scratch-computing"
    scratch.mkdir()
    for pair in range(PAIRS[size] + 1):  # pair 0 warms up
        for name in (AFTER, WHILE) if pair % 2 == 0 else (WHILE, AFTER):
            target = Path(tempfile.mkdtemp(prefix="target-", dir=disk))
            keys = f'scratch = "{scratch}"\nwhile_running = {str(name == WHILE).lower()}\n'
            words = [*words_of(Path("out"), files, False), str(steps), str(milliseconds)]
            program_s, durable_s = run_staged(target, keys, words)
            check(target, disk, files)
            if pair > 0:
                times = {"program_s": program_s, "durable_s": durable_s, "after_s": durable_s - program_s}
                yield {"method": name, "round": pair, **times}


def print_computing(rows: list[dict[str, Any]]) -> None:
    """Ratios with their intervals; no bound is set."""
    table = Table(title="Drained after it, over drained while it runs: ratio and 95 % interval", title_justify="left")
    for heading in ("seconds", "after", "while", "ratio", "interval"):
        table.add_column(heading, justify="left" if heading == "seconds" else "right")
    for what, text in (("program_s", "program"), ("durable_s", "until durable"), ("after_s", "from its end until durable")):
        after, beside = ({row["round"]: row[what] for row in rows if row["method"] == name} for name in (AFTER, WHILE))
        medians = statistics.median(after.values()), statistics.median(beside.values())
        interval = harness.interval_of({r: [s] for r, s in after.items()}, {r: [s] for r, s in beside.items()})
        bounds = "-" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
        table.add_row(text, f"{medians[0]:.2f}", f"{medians[1]:.2f}", f"{medians[0] / medians[1]:.3f}", bounds)
    console.print(table)


def claims_of(rows: list[dict[str, Any]], calls: list[dict[str, Any]], files: int) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("stage")["claims"]}

    def times(method: str, what: str = "durable_s") -> dict[int, float]:
        return {row["round"]: row[what] for row in rows if row["method"] == method}

    ours, program = times("staged: memory, bundle"), times("staged: memory, bundle", "program_s")
    drained = statistics.median(ours[number] - program[number] for number in ours)
    claims = [
        harness.ratio_claim(wanted["synced"], "bundle", times("with fsync"), ours, against="with fsync"),
        harness.ratio_claim(wanted["tar"], "bundle", times("script with tar"), ours, against="script with tar"),
        harness.ratio_claim(wanted["program"], "memory", times("without fsync", "program_s"), program, against="without fsync"),
        Claim("drain/bundle", wanted["drain"]["text"], files / drained, wanted["drain"]["bound"], "files/s"),
    ]
    for name in CALL_TEXTS:
        medians = [statistics.median(row["ns"][name] for row in calls if row["staged"] is staged) for staged in (False, True)]
        claim = wanted["data" if name in ("write", "read") else "call"]
        added = (medians[1] - medians[0]) / 1000
        claims.append(Claim(f"{claim['id']}/{name}", claim["text"], added, claim["bound"], "us", {}, True))
    return claims


def print_rows(rows: list[dict[str, Any]], calls: list[dict[str, Any]]) -> None:
    table = Table(title="Seconds: median, least and most", title_justify="left")
    for heading in ("method", "program", "", "until durable", ""):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for method in METHODS:
        cells = []
        for what in ("program_s", "durable_s"):
            spread = Spread.of([row[what] for row in rows if row["method"] == method.name])
            cells += [f"{spread.median:.2f}", f"{spread.least:.2f} to {spread.most:.2f}"]
        table.add_row(method.name, *cells)
    console.print(table)
    print_calls(calls, "staged", "staged, ns")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.stage", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=ROUNDS, default="quick")
    size = parser.parse_args().size
    disk = Path(tempfile.mkdtemp(prefix="bench-stage-", dir=harness.BUILD))
    memory = Path(tempfile.mkdtemp(prefix="bench-stage-", dir="/dev/shm"))
    try:
        harness.need_space(disk, (4 * ROUNDS[size] + 3 * len(METHODS)) * FILES[size] * FILE_BYTES)
        harness.need_space(memory, 3 * FILES[size] * FILE_BYTES)
        settings = {
            "file systems": f"{harness.filesystem_of(disk)}; scratch in memory: {harness.filesystem_of(memory)}",
            "files": f"{FILES[size]:,} of {FILE_BYTES:,} bytes, by {PROCESSES} processes",
            "rounds": f"{ROUNDS[size]}, of methods that no claim is about: {ROUNDS[size] if size == 'quick' else 1}",
            "computing": "{:,} files in {} steps, {} ms of computing in each, {} pairs".format(*COMPUTED[size], PAIRS[size]),
            "rsync": "compared" if shutil.which("rsync") else "not installed",
        }
        harness.print_settings("Small files, staged and by hand", settings)
        rows = list(measure_all(disk, memory, size))
        computing = list(measure_computing(disk, size))
        calls = list(call_costs(disk, memory, size))
        print_computing(computing)
        print_rows(rows, calls)
        claims = claims_of(rows, calls, FILES[size])
        rows += [*computing, *({"calls": row} for row in calls)]
        title = "Claims: ratios of times; drain in files a second; calls in microseconds more"
        return harness.conclude("stage", {"size": size, **settings}, rows, claims, title)
    finally:
        shutil.rmtree(disk)
        shutil.rmtree(memory)


if __name__ == "__main__":
    sys.exit(main())
