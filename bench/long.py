"""Long runs: whether a step with retention costs the same at the end, and whether a reader beside a compressed writer gets errors.

    make bench NAME=long [SIZE=quick|full]

docs/benchmarks.md describes what is measured; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import tailrace
from rich.table import Table

from bench import harness
from bench.harness import Claim, console, methods

FOLDER = harness.BUILD / "bench-scratch" / "long"
STEPS = {"quick": (10_000, 1_000), "full": (60_000, 10_000)}  # with retention; of the compressed writer
KEEP, VALUES, BLOCK = 10, 1000, 50  # kept steps; in a step; steps that are timed together
LAYOUTS: dict[str, dict[str, Any]] = {"fpp": {"layout": "fpp", "steps": 1}, "single": {"layout": "single", "steps": 1}}
COMPRESSED: dict[str, Any] = {"layout": "single", "steps": "all", "compression": "deflate:1", "chunk": "64 KiB"}
COLUMNS = 65_536  # of the compressed steps: 256 KiB


def values(step: int) -> np.ndarray:
    return np.arange(VALUES, dtype="f8") + step


def write_with_retention(layout: str, steps: int) -> list[dict[str, float]]:
    """Seconds a step and bytes of memory, block by block."""
    folder, blocks = FOLDER / layout, []
    with tailrace.open(folder, "h", keep=KEEP, **LAYOUTS[layout]) as stream:
        stream.dim("x", VALUES)
        stream.var("T", ("x",), "f8")
        for first in range(0, steps, BLOCK):
            data = [values(number) for number in range(first, first + BLOCK)]
            began = time.perf_counter()
            for number, one in enumerate(data, first):
                with stream.step(time=float(number)) as step:
                    step.put("T", one, offset=(0,))
            seconds = time.perf_counter() - began
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            blocks.append({"seconds": seconds / BLOCK, "bytes": float(pages * resource.getpagesize())})
    with tailrace.open_read(folder, "h", verify=True) as reader:
        if [*reader.steps] != [*range(steps - KEEP, steps)]:
            raise harness.BenchError(f"{folder}: has the steps {reader.steps}, expected the last {KEEP}")
        for number in reader.steps:
            reader.select(number)
            if not np.array_equal(reader.get("T"), values(number)):
                raise harness.BenchError(f"{folder}: step {number} has other values than were written")
    return blocks


def write_compressed(steps: int) -> None:
    with tailrace.open(FOLDER / "compressed", "h", **COMPRESSED) as stream:
        stream.dim("x", COLUMNS)
        stream.var("T", ("x",), "f4")
        for number in range(steps):
            with stream.step(time=float(number)) as step:
                step.put("T", np.full(COLUMNS, number, "f4"), offset=(0,))


def read_beside(writer: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Opens the file again and again, and reads the last step that it shows, until the writer has ended."""
    path, openings, errors = FOLDER / "compressed" / "h.nc", 0, []
    while writer.poll() is None:
        if not path.exists():
            time.sleep(0.01)
            continue
        try:
            with netCDF4.Dataset(path) as file:
                last = len(file.dimensions["time"]) - 1
                if last >= 0:
                    row = np.ma.getdata(file["T"][last])
                    if not (row == file["time"][last]).all():
                        errors.append(f"step {last}: other values than were written")
            openings += 1
        except (OSError, RuntimeError, IndexError, KeyError) as error:
            errors.append(str(error))
    if writer.returncode != 0:
        raise harness.BenchError(f"the writer ended with status {writer.returncode}")
    return {"openings": openings, "errors": errors}


def in_new_process(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "bench.long", *words], cwd=harness.ROOT, stdout=subprocess.PIPE)


def measure(size: str) -> Iterator[dict[str, Any]]:
    kept, compressed = STEPS[size]
    for layout in LAYOUTS:
        console.print(f"{layout}: {kept:,} steps, of which {KEEP} are kept")
        out, _ = (process := in_new_process("--layout", layout, "--size", size)).communicate()
        if process.returncode != 0:
            raise harness.BenchError(f"the run with {layout} ended with status {process.returncode}")
        for number, block in enumerate(json.loads(out)):
            yield {"what": "retention", "layout": layout, "block": number, **block}
    console.print(f"a reader beside a writer of {compressed:,} compressed steps")
    yield {"what": "reader", **read_beside(in_new_process("--compressed", "--size", size))}


def tenth(rows: Sequence[Mapping[str, Any]], layout: str, number: int, key: str) -> dict[int, float]:
    found = [row[key] for row in rows if row.get("layout") == layout]
    length = len(found) // 10
    return dict(enumerate(found[number * length : (number + 1) * length]))


def claims_of(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("long")["claims"]}
    claims = [
        harness.ratio_claim(wanted[name], layout, tenth(rows, layout, 9, key), tenth(rows, layout, 1, key))
        for layout in LAYOUTS
        for name, key in (("step-time", "seconds"), ("step-memory", "bytes"))
    ]
    (reader,) = (row for row in rows if row["what"] == "reader")
    told = wanted["reader-errors"]
    detail = {"openings": reader["openings"], "errors": reader["errors"][:5]}
    return [*claims, Claim(told["id"], told["text"], len(reader["errors"]), told["bound"], "errors", detail, at_most=True)]


def print_tenths(rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(title="Milliseconds a step / MiB of memory: medians of each tenth of the run", title_justify="left")
    table.add_column("layout")
    for number in range(10):
        table.add_column(str(number + 1), justify="right")
    for layout in LAYOUTS:
        typical = [
            f"{statistics.median(tenth(rows, layout, number, 'seconds').values()) * 1e3:.2f} / "
            f"{statistics.median(tenth(rows, layout, number, 'bytes').values()) / (1 << 20):.0f}"
            for number in range(10)
        ]
        table.add_row(layout, *typical)
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.long", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=STEPS, default="quick")
    parser.add_argument(
        "--layout", choices=LAYOUTS, help="Only write with retention under this layout, and print the blocks as JSON."
    )
    parser.add_argument("--compressed", action="store_true", help="Only write the compressed steps.")
    options = parser.parse_args()
    if options.layout or options.compressed:
        kept, compressed = STEPS[options.size]
        if options.layout:
            print(json.dumps(write_with_retention(options.layout, kept)))
        else:
            write_compressed(compressed)
        return 0
    shutil.rmtree(FOLDER, ignore_errors=True)
    harness.need_space(FOLDER, STEPS[options.size][1] * COLUMNS)
    settings = {
        "retention": f"keep = {KEEP}, {STEPS[options.size][0]:,} steps of {VALUES * 8:,} bytes by one process",
        "the reader": f"netCDF4-python {netCDF4.__version__} opens the file and reads its last step until the writer has ended",
        "file system": harness.filesystem_of(FOLDER),
    }
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    try:
        rows = list(measure(options.size))
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    print_tenths(rows)
    claims = claims_of(rows)
    harness.print_claims(claims, "Claims (the last tenth / the second; 1: flat)")
    path = harness.write_record("long", {"size": options.size, **settings}, rows, claims)
    return methods.finish(options.size, rows, claims, path, started, 300, 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench long: {error}")
