"""Reads a whole variable: through NAME.nc by netCDF4-python, and by xarray's engine "tailrace", beside plain netCDF-4 files.

    make bench NAME=read [SIZE=quick|full]

What HDF5 itself allows is measured, too: a plain file with an unlimited dimension, as the default layout has one, and a virtual
dataset that h5py has made over as many plain files.

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dask
import h5py
import netCDF4
import numpy as np
import tailrace
import xarray
from rich.table import Table
from tailrace.xarray_engine import TailraceBackendEntrypoint

from bench import harness
from bench.harness import Claim, Spread, console, methods
from bench.harness.methods import Row

FOLDER = harness.BUILD / "bench-scratch" / "read"
OPENED_PARTS = 4096
LIMIT_S = 300
SIZES = {"quick": 4, "full": 11}  # repetitions, one of them a warm-up
ENGINE_SIZES = {"quick": 4, "full": 6}
PLANNED_S = {"quick": 240, "full": 540}
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
    keys: Mapping[str, Any] | None = None  # of tailrace.open; None: written by `peer`
    steps: int = 256
    peer: str = "contiguous"


PLAIN = Method("plain", "one netCDF-4 file, contiguous")
METHODS = (
    PLAIN,
    Method("unlimited", "one netCDF-4 file, unlimited time, a step in each chunk: for information", peer="unlimited"),
    Method("default", "the default layout: one file with all steps", {}),
    Method("virtual_256", "a virtual dataset of h5py over 256 plain files: for information", peer="virtual"),
    Method("index_256", "NAME.nc over 256 parts", {"layout": "single", "steps": 1}),
    Method("index_512", "NAME.nc over 512 parts in 2 subindexes: for information", {"layout": "single", "steps": 1}, 512),
)
CLAIMED_MIB, TOLD_MIB = 256, 16
# Read by xarray, with dask's threads.
ENGINE_MIB, THREADS, CHUNK_MIB = 1024, 2, 32
ENGINE_METHODS = (
    PLAIN,
    Method("engine_256", "engine 'tailrace', 256 parts", {"layout": "single", "steps": 1}),
    Method("engine_4096", "engine 'tailrace', 4,096 parts", {"layout": "single", "steps": 1}, 4096),
)
MEAN = Method("mean", "", {"layout": "single", "steps": 1})
MEAN_MIB = {"quick": 1024, "full": 8192}


def path_of(method: Method, mib: int) -> Path:
    return FOLDER / f"{method.name}_{mib}" / "h.nc"


def write(method: Method, data: Data) -> None:
    path = path_of(method, data.mib)
    if method.keys is None:
        path.parent.mkdir(parents=True)
        PEERS[method.peer](path, data)
        return
    with tailrace.open(path.parent, "h", **method.keys) as stream:
        stream.dim("x", data.points)
        stream.var("T", ("x",), "f4")
        for number in range(data.steps):
            with stream.step(float(number)) as step:
                step.put("T", data.step(number), offset=(0,))


def _contiguous(path: Path, data: Data) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", data.steps)
        _write_steps(file, data, contiguous=True)


def _unlimited(path: Path, data: Data) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        _write_steps(file, data, chunksizes=(1, data.points))


def _write_steps(file: netCDF4.Dataset, data: Data, **storage: Any) -> None:
    file.createDimension("x", data.points)
    variable = file.createVariable("T", "f4", ("time", "x"), **storage)
    for number in range(data.steps):
        variable[number] = data.step(number)


def _virtual(path: Path, data: Data) -> None:
    layout = h5py.VirtualLayout((data.steps, data.points), "f4", maxshape=(None, data.points))
    for number in range(data.steps):
        part = path.with_name(f"{number}.h5")
        with h5py.File(part, "w", libver="latest") as file:
            file["T"] = data.step(number)[np.newaxis]
        layout[number] = h5py.VirtualSource(part.name, "T", (1, data.points))[0]
    with h5py.File(path, "w", libver="latest") as file:
        file.create_virtual_dataset("T", layout)


PEERS: Mapping[str, Callable[[Path, Data], None]] = {"contiguous": _contiguous, "unlimited": _unlimited, "virtual": _virtual}


def read(path: Path) -> dict[str, float]:
    """In a process of its own: HDF5 has nothing of the file yet."""
    started = time.monotonic()
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        values = file["T"][:]
    seconds = time.monotonic() - started
    check(path, values)
    return {"seconds": seconds, "bytes": values.nbytes}


def check(path: Path, values: np.ndarray) -> None:
    for number in range(len(values)):
        if not np.array_equal(values[number], np.arange(values.shape[1], dtype="f4") + number):
            raise harness.BenchError(f"{path}: wrong values in step {number}")


def _open_by_xarray(path: Path, engine: Any) -> xarray.Dataset:
    dask.config.set(scheduler="threads", num_workers=THREADS)
    steps = xarray.open_dataset(path, engine=engine).sizes["time"]
    mib = path.parent.name.rpartition("_")[2]
    return xarray.open_dataset(path, engine=engine, chunks={"time": max(steps * CHUNK_MIB // int(mib), 1)})


def read_by_xarray(path: Path) -> dict[str, float]:
    engine = "netcdf4" if path.parent.name.startswith(PLAIN.name) else TailraceBackendEntrypoint
    started = time.monotonic()
    values = _open_by_xarray(path, engine)["T"].values
    seconds = time.monotonic() - started
    check(path, values)
    return {"seconds": seconds, "bytes": values.nbytes}


def mean(path: Path) -> dict[str, float]:
    """Of all values, and the most memory that the process had. The mean of a step is known."""
    started = time.monotonic()
    dataset = _open_by_xarray(path, TailraceBackendEntrypoint)
    found = dataset["T"].mean("x", dtype="f8").values
    seconds = time.monotonic() - started
    steps, points = dataset["T"].shape
    for number in range(steps):
        if abs(found[number] - np.mean(np.arange(points, dtype="f4") + number, dtype="f8")) > 1e-9 * points:
            raise harness.BenchError(f"{path}: the mean of step {number} is {found[number]}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    return {"seconds": seconds, "bytes": 4 * steps * points, "memory_gib": memory}


def open_alone(path: Path) -> dict[str, float]:
    started = time.monotonic()
    with netCDF4.Dataset(path) as file:
        steps = len(file.dimensions["time"])
    seconds = time.monotonic() - started
    if steps != OPENED_PARTS:
        raise harness.BenchError(f"{path} has {steps} steps, not {OPENED_PARTS}")
    return {"seconds": seconds, "bytes": 0}


READERS: Mapping[str, Callable[[Path], dict[str, float]]] = {
    "read": read,
    "open": open_alone,
    "xarray": read_by_xarray,
    "mean": mean,
}


def in_a_process(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.read", "--only", what, str(path)]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise harness.BenchError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def measure_each(what: str, compared: tuple[Method, ...], mib: int, repetitions: int) -> Iterable[Row]:
    for method in compared:
        write(method, Data(mib, method.steps))
    for repetition in range(repetitions):
        at = repetition % len(compared)
        order = compared[at:] + compared[:at]
        for method in order if repetition % 2 == 0 else reversed(order):
            read_now = in_a_process(what, path_of(method, mib))
            yield {"what": what, "method": method.name, "mib": mib, "repetition": repetition, **read_now}
    for method in compared:
        shutil.rmtree(path_of(method, mib).parent)


def measure(size: str) -> Iterable[Row]:
    repetitions = SIZES[size]
    for mib in (CLAIMED_MIB, TOLD_MIB):
        yield from measure_each("read", METHODS, mib, repetitions)
    yield from measure_each("xarray", ENGINE_METHODS, ENGINE_MIB, ENGINE_SIZES[size])
    yield from measure_each("mean", (MEAN,), MEAN_MIB[size], 2)
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
        elif wanted["id"] == "mean-memory":
            most = max(row["memory_gib"] for row in rows if row["what"] == "mean")
            claims.append(Claim(wanted["id"], wanted["text"], most, wanted["bound"], "GiB", at_most=True))
        else:
            mib = ENGINE_MIB if wanted["ours"].startswith("engine") else CLAIMED_MIB
            plain, ours = times(rows, PLAIN.name, mib), times(rows, wanted["ours"], mib)
            claims.append(harness.ratio_claim(wanted, f"{mib}MiB", plain, ours))
    return claims


def print_times(rows: Sequence[Row]) -> None:
    by_netcdf4, by_xarray = "netCDF4-python", f"xarray and dask, {THREADS} threads, chunks of {CHUNK_MIB} MiB"
    for mib, compared, reader in (
        (CLAIMED_MIB, METHODS, by_netcdf4),
        (TOLD_MIB, METHODS, by_netcdf4),
        (ENGINE_MIB, ENGINE_METHODS, by_xarray),
    ):
        table = Table(title=f"A variable of {mib} MiB, cached, by {reader}: milliseconds", title_justify="left")
        for heading in ("method", "how", "median (least..most)", "GB/s", "of plain"):
            table.add_column(heading, justify="left" if heading in ("method", "how") else "right")
        plain = statistics.median(times(rows, PLAIN.name, mib).values())
        for method in compared:
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
    parser.add_argument("--only", nargs=2, metavar=("WHAT", "FILE"), help="only read this file, and print the seconds as JSON")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(READERS[options.only[0]](Path(options.only[1]))))
        return 0
    data_bytes = max(len(METHODS) * CLAIMED_MIB, len(ENGINE_METHODS) * ENGINE_MIB, MEAN_MIB[options.size]) << 20
    shutil.rmtree(FOLDER, ignore_errors=True)
    harness.need_space(FOLDER, data_bytes)
    harness.need_memory(min(data_bytes, 6 << 30) + (3 << 30))
    settings = {
        "data": "T(time, x) of 32-bit floats in 256 steps, written by one process",
        "the clock": "from before the file is opened until its values are in memory; each time in a new process, the files cached",
        "readers": f"netCDF4-python {netCDF4.__version__}, HDF5 {netCDF4.__hdf5libversion__}, xarray {xarray.__version__}",
        "mean": f"of each step of {MEAN_MIB[options.size]} MiB in {MEAN.steps} parts, by xarray, {THREADS} threads",
        "file system": harness.filesystem_of(FOLDER),
    }
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    try:
        rows = list(measure(options.size))
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    print_times(rows)
    claims = claims_of(rows)
    harness.print_claims(claims)
    path = harness.write_record("read", {"size": options.size, **settings}, rows, claims)
    return methods.finish(options.size, rows, claims, path, started, PLANNED_S[options.size], LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench read: {error}")
