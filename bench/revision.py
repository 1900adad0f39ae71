"""Whether this checkout is slower than an earlier commit: both libraries in one job, by turns.

    make bench NAME=revision ARGS="--before REVISION" [SIZE=quick|full]

The earlier commit is built in build/revisions/. Without --before it is the one that bench/bounds.toml names. This checkout's
library reads back what both have written, and every byte is compared with the formula.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import Claim, console, methods

RANKS = 2
LEAST = 5  # counted rounds of a cell
SIZES = {"quick": 60.0, "full": 420.0}  # seconds of measuring, shared by the cells
CASES = {"fpp": "a small fpp step", "shared": "a small shared step", "open": "opening and closing a stream"}
TARGETS = ("disk", "shm")
Row = Mapping[str, Any]


def directory_of(target: str) -> Path:
    return harness.BUILD / "bench-scratch" / "revision" if target == "disk" else Path("/dev/shm/tailrace-bench-revision")


def built_library(revision: str) -> Path:
    """libtailrace.so of a commit, built once in a checkout of its own."""
    shown = subprocess.run(
        ["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], cwd=harness.ROOT, capture_output=True, text=True
    )
    if shown.returncode != 0:
        raise harness.BenchError(
            f"--before {revision}: this repository has no such commit; `git fetch --unshallow` gets all of them"
        )
    commit = shown.stdout.strip()
    checkout = harness.BUILD / "revisions" / commit
    library = checkout / "build" / "lib" / "libtailrace.so"
    if library.exists():
        return library
    console.print(f"building {commit[:10]} in {checkout.relative_to(harness.ROOT)} (a few minutes, once)")
    shutil.rmtree(checkout, ignore_errors=True)
    checkout.mkdir(parents=True)
    with subprocess.Popen(["git", "archive", commit], cwd=harness.ROOT, stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", checkout], stdin=archive.stdout, check=True)
    build = checkout / "build"
    configure = ["cmake", "-S", str(checkout), "-B", str(build), "-G", "Ninja", "-DTAILRACE_TESTS=OFF", "-DTAILRACE_PYTHON=OFF"]
    for command in (configure, ["ninja", "-C", str(build), "--quiet", "lib/libtailrace.so"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return library


def measure(before: Path, seconds: float) -> Iterator[dict[str, Any]]:
    cells = [(case, target) for target in TARGETS for case in CASES]
    for case, target in cells:
        arguments = {
            "before": before,
            "after": harness.BUILD / "lib" / "libtailrace.so",
            "directory": directory_of(target),
            "case": case,
            "seconds": int(seconds / len(cells)),
            "least": LEAST,
        }
        words = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
        for row in harness.run_mpi(harness.program("bench_revision"), RANKS, words, limit_s=seconds + 120):
            yield {"case": case, "target": target, **row}


def times(rows: Sequence[Row], case: str, target: str, library: str) -> dict[int, float]:
    """The median of a round's steps; of opening and closing, their sum. Round 0 warms up."""
    reduce = sum if case == "open" else statistics.median
    return {
        row["repetition"]: reduce(row["seconds"])
        for row in rows
        if (row["case"], row["target"], row["library"]) == (case, target, library) and row["repetition"] > 0
    }


def claims_of(rows: Sequence[Row]) -> list[Claim]:
    wanted = {claim["case"]: claim for claim in harness.bounds("revision")["claims"]}
    return [
        harness.ratio_claim(
            wanted[case], target, times(rows, case, target, "before"), times(rows, case, target, "after"), against="before"
        )
        for target in TARGETS
        for case in CASES
    ]


def print_times(rows: Sequence[Row]) -> None:
    table = Table(title="Milliseconds, medians of the rounds", title_justify="left")
    for heading in ("what", "target", "before", "after", "rounds"):
        table.add_column(heading, justify="left" if heading in ("what", "target") else "right")
    for target in TARGETS:
        for case, text in CASES.items():
            both = [times(rows, case, target, library) for library in ("before", "after")]
            shown = [f"{statistics.median(of.values()) * 1e3:.3f}" for of in both]
            table.add_row(text, target, *shown, str(len(both[0])))
    console.print(table)


def main() -> int:
    bounds = harness.bounds("revision")
    parser = argparse.ArgumentParser(prog="bench.revision", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument(
        "--before", default=bounds["before"], metavar="REVISION", help="The earlier commit, with which this checkout is compared."
    )
    arguments = parser.parse_args()
    before = built_library(arguments.before)
    for target in TARGETS:
        shutil.rmtree(directory_of(target), ignore_errors=True)
        harness.need_space(directory_of(target), 1 << 30)
    settings = {
        "before": arguments.before,
        "after": harness.commit(),
        "steps": f"{RANKS} ranks, 100 arrays of 64 KiB a rank, one step a file (set), checksums on, durability none",
        "open": "layout single, one array of 64 B a rank, one step between opening and closing",
        **{f"target {target}": harness.filesystem_of(directory_of(target)) for target in TARGETS},
    }
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    try:
        rows = list(measure(before, SIZES[arguments.size]))
    finally:
        for target in TARGETS:
            shutil.rmtree(directory_of(target), ignore_errors=True)
    print_times(rows)
    claims = claims_of(rows)
    harness.print_claims(claims, "Claims (time before / time after; 0.97: three percent slower)")
    path = harness.write_record("revision", {"size": arguments.size, **settings}, rows, claims)
    return methods.finish(arguments.size, rows, claims, path, started, SIZES[arguments.size], LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench revision: {error}")
