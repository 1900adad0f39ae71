"""Reads a whole variable through NAME.nc: of the default layout, and of an index over many parts, beside one plain netCDF-4 file.

    make bench NAME=read [SIZE=quick|full]

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import tailrace
from rich.table import Table

from bench import harness
from bench.harness import Claim, Spread, console, methods
from bench.harness.methods import Row

FOLDER = harness.BUILD / "bench-scratch" / "read"
OPENED_PARTS = 4096
LIMIT_S = 300
SIZES = {"quick": 5, "full": 21}  # repetitions, one of them a warm-up
LEAST = 3


@dataclasses.dataclass(frozen=True)
class Data:
    """T(time, x) of 32-bit floats."""

    mib: int
    steps: int

    @property
    def points(self) -> int:
        return (self.mib << 20) // 4 // self.steps

    def step(self, number: int) -> np.ndarray:
        return np.arange(self.points, dtype="f4") + number


@dataclasses.dataclass(frozen=True)
class Method:
    name: str
    how: str
    keys: Mapping[str, Any] | None = None  # of tailrace.open; None: one plain file by netCDF4
    steps: int = 256


PLAIN = Method("plain", "one netCDF-4 file, contiguous")
METHODS = (
    PLAIN,
    Method("default", "the default layout: one file with all steps", {}),
    Method("index_256", "NAME.nc over 256 parts", {"layout": "single", "steps": 1}),
    Method("index_512", "NAME.nc over 512 parts in 2 subindexes: for information", {"layout": "single", "steps": 1}, 512),
)
CLAIMED_MIB, TOLD_MIB = 256, 16


def path_of(method: Method, mib: int) -> Path:
    return FOLDER / f"{method.name}_{mib}" / "h.nc"


def write(method: Method, data: Data) -> None:
    path = path_of(method, data.mib)
    if method.keys is None:
        path.parent.mkdir(parents=True)
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", data.steps)
            file.createDimension("x", data.points)
            variable = file.createVariable("T", "f4", ("time", "x"), contiguous=True)
            for number in range(data.steps):
                variable[number] = data.step(number)
        return
    with tailrace.open(path.parent, "h", **method.keys) as stream:
        stream.dim("x", data.points)
        stream.var("T", ("x",), "f4")
        for number in range(data.steps):
            with stream.step(float(number)) as step:
                step.put("T", data.step(number), offset=(0,))


def read(path: Path) -> dict[str, float]:
    """In a process of its own: HDF5 has nothing of the file yet."""
    started = time.monotonic()
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        values = file["T"][:]
    seconds = time.monotonic() - started
    for number in range(len(values)):
        if not np.array_equal(values[number], np.arange(values.shape[1], dtype="f4") + number):
            raise harness.BenchError(f"{path}: wrong values in step {number}")
    return {"seconds": seconds, "bytes": values.nbytes}


def open_alone(path: Path) -> dict[str, float]:
    started = time.monotonic()
    with netCDF4.Dataset(path) as file:
        steps = len(file.dimensions["time"])
    seconds = time.monotonic() - started
    if steps != OPENED_PARTS:
        raise harness.BenchError(f"{path} has {steps} steps, not {OPENED_PARTS}")
    return {"seconds": seconds, "bytes": 0}


def in_a_process(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.read", f"--{what}", str(path)]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise harness.BenchError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def measure(repetitions: int) -> Iterable[Row]:
    for mib in (CLAIMED_MIB, TOLD_MIB):
        for method in METHODS:
            write(method, Data(mib, method.steps))
        for repetition in range(repetitions):
            at = repetition % len(METHODS)
            order = METHODS[at:] + METHODS[:at]
            for method in order if repetition % 2 == 0 else reversed(order):
                read_now = in_a_process("read", path_of(method, mib))
                yield {"what": "read", "method": method.name, "mib": mib, "repetition": repetition, **read_now}
        for method in METHODS:
            shutil.rmtree(path_of(method, mib).parent)
    many = Method("open", "", {"layout": "single", "steps": 1}, OPENED_PARTS)
    write(many, Data(1, OPENED_PARTS))
    for repetition in range(repetitions):
        opened = in_a_process("open", path_of(many, 1))
        yield {"what": "open", "method": "open", "mib": 1, "repetition": repetition, **opened}


def times(rows: Sequence[Row], method: str, mib: int) -> dict[int, float]:
    """Seconds by repetition, without the warm-up."""
    return {
        row["repetition"]: row["seconds"] for row in rows if (row["method"], row["mib"]) == (method, mib) and row["repetition"] > 0
    }


def claims_of(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for wanted in harness.bounds("read")["claims"]:
        if wanted["id"] == "open-time":
            worst = max(times(rows, "open", 1).values())
            claims.append(Claim(wanted["id"], wanted["text"], worst, wanted["bound"], "s", at_most=True))
        else:
            plain, ours = times(rows, PLAIN.name, CLAIMED_MIB), times(rows, wanted["ours"], CLAIMED_MIB)
            claims.append(harness.ratio_claim(wanted, f"{CLAIMED_MIB}MiB", plain, ours))
    return claims


def print_times(rows: Sequence[Row]) -> None:
    for mib in (CLAIMED_MIB, TOLD_MIB):
        table = Table(title=f"A variable of {mib} MiB, cached: milliseconds", title_justify="left")
        for heading in ("method", "how", "median (least..most)", "GB/s", "of plain"):
            table.add_column(heading, justify="left" if heading in ("method", "how") else "right")
        plain = statistics.median(times(rows, PLAIN.name, mib).values())
        for method in METHODS:
            spread = Spread.of(list(times(rows, method.name, mib).values()))
            shown = f"{1e3 * spread.median:.0f} ({1e3 * spread.least:.0f}..{1e3 * spread.most:.0f})"
            speed = (mib << 20) / spread.median / 1e9
            table.add_row(method.name, method.how, shown, f"{speed:.2f}", f"{plain / spread.median:.2f}")
        console.print(table)
    spread = Spread.of(list(times(rows, "open", 1).values()))
    console.print(f"NAME.nc over {OPENED_PARTS} parts opens in {spread.median:.2f} ({spread.least:.2f}..{spread.most:.2f}) s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.read", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument("--read", type=Path, help="only read this file, and print the seconds as JSON")
    parser.add_argument("--open", type=Path, help="only open this file, and print the seconds as JSON")
    options = parser.parse_args()
    if options.read or options.open:
        print(json.dumps(read(options.read) if options.read else open_alone(options.open)))
        return 0
    data_bytes = (len(METHODS) + 1) * CLAIMED_MIB << 20
    shutil.rmtree(FOLDER, ignore_errors=True)
    harness.need_space(FOLDER, data_bytes)
    harness.need_memory(data_bytes + (1 << 30))
    settings = {
        "data": "T(time, x) of 32-bit floats in 256 steps, written by one process",
        "the clock": "from before the file is opened until its values are in memory; each time in a new process, the files cached",
        "reader": f"netCDF4-python {netCDF4.__version__}, HDF5 {netCDF4.__hdf5libversion__}",
        "file system": harness.filesystem_of(FOLDER),
    }
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    try:
        rows = list(measure(SIZES[options.size]))
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    print_times(rows)
    claims = claims_of(rows)
    harness.print_claims(claims)
    path = harness.write_record("read", {"size": options.size, **settings}, rows, claims)
    return methods.finish(options.size, rows, claims, path, started, 120, LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench read: {error}")
