"""What staging brings to a program that makes many small files: until it has ended, and until its files are on the device.

    make bench NAME=stage [SIZE=quick|full]

Four processes make files of 16 KiB on the local disk, and four ranks on two nodes of a cluster do: plainly without and with fsync,
staged by `tailrace run` in memory, and as people do it by hand: written to memory, then copied with cp, or with tar, with fsync and
comparison.

On the local disk also: large files against dd, and one file out of bundles.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from tailrace.place.compiled import compiled, write_rules
from tailrace.place.placing import PLACE_KEY
from tailrace.place.stage_rules import StageNode, StageRecord, stage_of
from tailrace.stage import bundles
from tailrace.trace import launch

from bench import harness
from bench.harness import Claim, Spread, console, login
from bench.harness.small_files import FILE_BYTES, METHODS, PROCESSES, STAGED, Method, Place, check, ran
from bench.tree import CALL_TEXTS, CALLS, print_calls

LOCAL, CLUSTER = "local disk", "cluster"
FILES, ROUNDS = {"quick": 400, "full": 20_000}, {"quick": 3, "full": 5}
WARM_UP = 10  # one of so many files is made before the first round
# One of so many files is made on the cluster by methods without a claim there. RATIONALE: cp and rsync with fsync and comparison
# take minutes for all, and the bench is to take ten.
PART = {"quick": 1, "full": 10}
LARGE = {"quick": (4, 16 << 20), "full": (4, 256 << 20)}  # files, bytes of each
IN_BUNDLE = {"quick": 2_000, "full": 72_000}
SMALL_BYTES, TAKEN = 1000, 100  # bytes of a file in that bundle; how many are extracted


def measure_all(place: Place, size: str) -> Iterator[dict[str, Any]]:
    """First the rounds of what is claimed there, then the rest. What a method has made stays to the end: on ext4 without a journal,
    files are made slowly where others were removed. Staging on the disk removes files itself, so it comes last."""
    here = [method for method in METHODS if not (place.has_nodes and method.needs_disk)]
    claimed = [method for method in here if method.is_claimed and (place.has_nodes or method.name == STAGED)]
    others = sorted((method for method in here if method not in claimed), key=lambda method: method.removes)
    for round_number in range(ROUNDS[size] + 1):  # round 0 warms up
        turn = round_number % len(claimed)
        for method in claimed[turn:] + claimed[:turn]:
            row = _measure(method, place, FILES[size] if round_number > 0 else FILES[size] // WARM_UP)
            if round_number > 0:
                yield {**row, "round": round_number}
    for round_number in range(1, (ROUNDS[size] if size == "quick" else 1) + 1):
        for method in others:
            files = FILES[size] // PART[size] if place.has_nodes else FILES[size]
            yield {**_measure(method, place, files), "round": round_number}


def _measure(method: Method, place: Place, files: int) -> dict[str, Any]:
    harness.note_progress(f"{place.name}: {method.name}, {files:,} files")
    target = Path(tempfile.mkdtemp(prefix="target-", dir=place.disk))
    program_s, durable_s = method.measure(place, target, files)
    check(target, files)
    return {"place": place.name, "method": method.name, "files": files, "program_s": program_s, "durable_s": durable_s}


def measure_large(place: Place, size: str) -> Iterator[dict[str, Any]]:
    """Seconds from memory to the disk: by `tailrace drain copy`, which reads each copy again, and by dd, which does not."""
    files, file_bytes = LARGE[size]
    words = place.program(place.memory / "out", files, False, file_bytes=file_bytes)
    dd = "mkdir -p {1}/out && cd {0}/out && for file in */*; do mkdir -p {1}/out/${{file%/*}} && "
    dd += "dd if=$file of={1}/out/$file bs=8M conv=fsync status=none || exit 1; done"
    for round_number in range(ROUNDS[size] + 1):  # round 0 warms up
        harness.note_progress(f"{place.name}: {files} large files, round {round_number}")
        for method in ("dd", "drain") if round_number % 2 == 0 else ("drain", "dd"):
            target = Path(tempfile.mkdtemp(prefix="target-", dir=place.disk))
            ran(words, target)
            by_drain = [str(harness.BUILD / "bin" / "tailrace"), "drain", "copy", str(place.memory / "out"), str(target / "out")]
            begin = time.monotonic()
            ran(by_drain if method == "drain" else ["sh", "-c", dd.format(place.memory, target)], target)
            seconds = time.monotonic() - begin
            check(target, files, file_bytes)
            shutil.rmtree(place.memory / "out", ignore_errors=True)  # the drain has removed the files itself
            shutil.rmtree(target)
            if round_number > 0:
                yield {"large": method, "round": round_number, "seconds": seconds}


def measure_extraction(place: Place, size: str) -> Iterator[dict[str, Any]]:
    """Seconds for one file out of the bundles of a folder: with the start of the helper, and with that of the command."""
    harness.note_progress(f"{place.name}: bundles of {IN_BUNDLE[size]:,} files")
    source, target = place.memory / "many", Path(tempfile.mkdtemp(prefix="bundled-", dir=place.disk))
    chosen = random.Random(34)
    for number in range(IN_BUNDLE[size]):
        folder = source / f"{number % 100:02}"
        if number < 100:
            folder.mkdir(parents=True)
        (folder / f"f{number}").write_bytes(_content(number))
    ran([str(harness.BUILD / "bin" / "tailrace"), "drain", "copy", str(source), str(target), "--bundle"], place.disk)
    for taken in range(TAKEN):
        number = chosen.randrange(IN_BUNDLE[size])
        into, name = Path(tempfile.mkdtemp(dir=place.disk)), f"{number % 100:02}/f{number}"
        by_command = taken % 10 == 0
        words = [str(harness.BUILD / "bin" / "tailrace"), "extract", str(target), name, "--into", str(into)]
        begin = time.monotonic()
        if by_command:
            ran(words, place.disk)
        else:
            bundles.extract(target, into, [name])
        seconds = time.monotonic() - begin
        if (into / name).read_bytes() != _content(number):
            raise harness.BenchError(f"{name}: extracted with other bytes than were written")
        yield {"extracted": "tailrace extract" if by_command else "helper", "seconds": seconds}
    shutil.rmtree(source, ignore_errors=True)


def _content(number: int) -> bytes:
    return (b"%d " % number * SMALL_BYTES)[:SMALL_BYTES]


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


def cluster_claims(rows: list[dict[str, Any]]) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("stage")["claims"]}

    def times(method: str, what: str = "durable_s") -> dict[int, float]:
        return {row["round"]: row[what] for row in rows if (row.get("place"), row.get("method")) == (CLUSTER, method)}

    if not times(STAGED):
        return []
    ours, program = times(STAGED), times(STAGED, "program_s")
    return [
        harness.ratio_claim(wanted["synced"], "bundle", times("with fsync"), ours, against="with fsync"),
        harness.ratio_claim(wanted["tar"], "bundle", times("script with tar"), ours, against="script with tar"),
        harness.ratio_claim(wanted["program"], "memory", times("without fsync", "program_s"), program, against="without fsync"),
    ]


def local_claims(rows: list[dict[str, Any]], calls: list[dict[str, Any]], files: int) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("stage")["claims"]}
    staged = [row for row in rows if (row.get("place"), row.get("method")) == (LOCAL, STAGED)]
    drained = statistics.median(row["durable_s"] - row["program_s"] for row in staged)
    dd, ours = ({row["round"]: row["seconds"] for row in rows if row.get("large") == method} for method in ("dd", "drain"))
    taken = {how: [row["seconds"] for row in rows if row.get("extracted") == how] for how in ("helper", "tailrace extract")}
    command_ms = 1000 * statistics.median(taken["tailrace extract"])
    extracted_ms = 1000 * statistics.median(taken["helper"])
    detail = {"against": f"the command, with Python: {command_ms:.0f} ms"}
    claims = [
        Claim("drain/bundle", wanted["drain"]["text"], files / drained, wanted["drain"]["bound"], "files/s"),
        harness.ratio_claim(wanted["large"], "mirror", dd, ours, against="dd"),
        Claim("extract/one", wanted["extract"]["text"], extracted_ms, wanted["extract"]["bound"], "ms", detail, at_most=True),
    ]
    for name in CALL_TEXTS:
        medians = [statistics.median(row["ns"][name] for row in calls if row["staged"] is staged) for staged in (False, True)]
        claim = wanted["data" if name in ("write", "read") else "call"]
        added = (medians[1] - medians[0]) / 1000
        claims.append(Claim(f"{claim['id']}/{name}", claim["text"], added, claim["bound"], "us", {}, True))
    return claims


def print_rows(rows: list[dict[str, Any]], calls: list[dict[str, Any]]) -> None:
    for place in dict.fromkeys(row["place"] for row in rows if "place" in row):
        table = Table(title=f"Seconds on the {place}: median, least and most", title_justify="left")
        for heading in ("method", "files", "program", "", "until durable", ""):
            table.add_column(heading, justify="left" if heading == "method" else "right")
        for method in METHODS:
            found = [row for row in rows if (row.get("place"), row.get("method")) == (place, method.name)]
            if not found:
                continue
            cells = []
            for what in ("program_s", "durable_s"):
                spread = Spread.of([row[what] for row in found])
                cells += [f"{spread.median:.2f}", f"{spread.least:.2f} to {spread.most:.2f}"]
            table.add_row(method.name, f"{found[0]['files']:,}", *cells)
        console.print(table)
    print_calls(calls, "staged", "staged, ns")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.stage", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=ROUNDS, default="quick")
    size = parser.parse_args().size
    disk = Path(tempfile.mkdtemp(prefix="bench-stage-", dir=harness.BUILD))
    memory = Path(tempfile.mkdtemp(prefix="bench-stage-", dir="/dev/shm"))
    try:
        local = Place(LOCAL, disk, memory)
        large_bytes = LARGE[size][0] * LARGE[size][1]
        harness.need_space(disk, (ROUNDS[size] + 2 * len(METHODS)) * FILES[size] * FILE_BYTES + 2 * large_bytes)
        harness.need_space(memory, 3 * FILES[size] * FILE_BYTES + large_bytes)
        cluster = Place(CLUSTER, login.SHARED, login.SCRATCH, has_nodes=True) if login.has_cluster() else None
        settings = {
            LOCAL: f"{harness.filesystem_of(disk)}; scratch in memory: {harness.filesystem_of(memory)}",
            CLUSTER: f"MooseFS, {login.NODES} nodes of this machine; scratch in memory" if cluster else "none",
            "files": f"{FILES[size]:,} of {FILE_BYTES:,} bytes, by {PROCESSES} processes or ranks; "
            f"on the cluster {FILES[size] // PART[size]:,} by methods that no claim is about",
            "rounds": f"{ROUNDS[size]}, of methods that no claim is about: {ROUNDS[size] if size == 'quick' else 1}",
            "large files": "{} of {:,} bytes".format(*LARGE[size]),
            "rsync": "compared" if shutil.which("rsync") else "not installed",
        }
        harness.print_settings("Small files, staged and by hand", settings)
        rows = list(measure_all(cluster, size)) if cluster else []
        rows += measure_large(local, size)
        rows += measure_all(local, size)
        rows += measure_extraction(local, size)
        calls = list(call_costs(disk, memory, size))
        print_rows(rows, calls)
        claims = [*cluster_claims(rows), *local_claims(rows, calls, FILES[size])]
        rows += [{"calls": row} for row in calls]
        title = "Claims: ratios of times; drain in files a second; extraction in ms; calls in microseconds more"
        return harness.conclude("stage", {"size": size, **settings}, rows, claims, title)
    finally:
        shutil.rmtree(disk)
        shutil.rmtree(memory)


if __name__ == "__main__":
    sys.exit(login.on_login("bench.stage", main))
