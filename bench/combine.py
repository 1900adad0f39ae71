"""Joins the steps of a file-per-rank run to one plain file: tailrace combine against the tools that people use for it.

    make bench NAME=combine [SIZE=quick|full]

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import netCDF4
import numpy as np
from rich.table import Table

from bench import harness
from bench.harness import Claim, Spread, console, methods
from bench.harness.methods import Row

RANKS, VARIABLES, STEPS = 4, 8, 2
BYTES = RANKS * VARIABLES * (16 << 20) * STEPS
SHAPE = (STEPS, 32 * RANKS, 256, 256)
WRITTEN = "tailrace_fpp:checksum"
LEAST = 3


@dataclasses.dataclass(frozen=True)
class Tool:
    name: str
    how: str
    command: Callable[[Path, Path], list[str]]  # from the index, to the output
    claimed: bool = True  # whether its output is the same: values, dimensions and attributes in one NetCDF-4 file


def tailrace(threads: int) -> Callable[[Path, Path], list[str]]:
    return lambda index, output: [str(harness.program("tailrace")), "combine", str(index.parent), str(output), "-j", str(threads)]


TOOLS = (
    Tool("tailrace", "tailrace combine, 2 threads", tailrace(2)),
    Tool("tailrace_1", "tailrace combine, 1 thread: for information", tailrace(1), claimed=False),
    Tool("ncks", "ncks -O -h --no_tmp_fl", lambda index, output: ["ncks", "-O", "-h", "--no_tmp_fl", str(index), str(output)]),
    Tool(
        "ncks_big",
        "ncks, with a buffer of 64 MiB",
        lambda i, o: ["ncks", "-O", "-h", "--no_tmp_fl", "--bfr=67108864", str(i), str(o)],
    ),
    Tool("nccopy", "nccopy -m 64M", lambda index, output: ["nccopy", "-m", "64M", str(index), str(output)]),
    Tool(
        "nccopy_cdf5",
        "nccopy -m 64M -k cdf5: another format, for information",
        lambda i, o: ["nccopy", "-m", "64M", "-k", "cdf5", str(i), str(o)],
        claimed=False,
    ),
    Tool(
        "cp",
        "cp of the parts: no joining, the raw limit of one core",
        lambda i, o: ["cp", "-r", str(i.with_suffix(".parts")), str(o)],
        claimed=False,
    ),
)
SIZES = {"quick": 60.0, "full": 240.0}


def directory_of(target: str) -> Path:
    return harness.BUILD / "bench-scratch" / "combine" if target == "disk" else Path("/dev/shm/tailrace-bench-combine")


def write_parts(target: str) -> Path:
    """Writes the parts by bench_write, which reads back every byte. Returns the index."""
    chosen = [entry for entry in methods.list_entries("bench_write") if entry.name == WRITTEN]
    once = {"case": "large", "steps": STEPS, "directory": directory_of(target), "durable": 1, "keep": 1}
    limits = {"seconds": 0, "least": 0, "most": 0}
    for _ in methods.run_entries("bench_write", RANKS, chosen, {**once, **limits}, methods.MPI_IO[0]):
        pass
    return next(directory_of(target).glob("*/*.nc"))


def mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def expected(variable: int, step: int, first: int, count: int) -> np.ndarray:
    """The formula of bench/harness/values.cpp, for positions below 2^32."""
    with np.errstate(over="ignore"):
        seed = mix(mix(np.array([variable + 1], np.uint32)) + mix(np.array([step + 0x10001], np.uint32)))[0]
        h = mix(np.arange(first, first + count, dtype=np.uint32) ^ seed)
        bits = np.uint64(0x3FF0000000000000) | (h.astype(np.uint64) << np.uint64(20))
        return (bits | ((h * np.uint32(0x9E3779B1)) >> np.uint32(12)).astype(np.uint64)).view(np.float64)


def check_output(index: Path, output: Path) -> None:
    """Compares every element with the formula. The output of `cp` is compared with the parts."""
    if output.is_dir():
        parts = index.with_suffix(".parts")
        for part in (path for path in parts.rglob("*") if path.is_file()):
            if not filecmp.cmp(part, output / part.relative_to(parts), shallow=False):
                raise harness.BenchError(f"{output} differs from {part}")
        return
    with netCDF4.Dataset(output) as file:
        file.set_auto_mask(False)
        for variable in range(VARIABLES):
            array = file[f"v{variable:03}"]
            if array.shape != SHAPE:
                raise harness.BenchError(f"{output}: v{variable:03} has shape {array.shape}, not {SHAPE}")
            plane = array.shape[2] * array.shape[3]
            for step in range(STEPS):
                for z in range(0, array.shape[1], 16):
                    found = array[step, z : z + 16].ravel()
                    if not np.array_equal(found, expected(variable, step, z * plane, found.size)):
                        raise harness.BenchError(f"{output}: wrong values in v{variable:03}, step {step}, from plane {z} on")


def touch_memory() -> None:
    """Uses and frees as much memory as the output takes. A virtual machine may have given its free memory to its host; otherwise
    the first program that writes would wait for its return."""
    np.ones(BYTES * 5 // 4, np.uint8)


def measure_once(tool: Tool, index: Path, output: Path) -> tuple[float | None, str]:
    """Seconds of the program from start to end; where it fails, None and its message."""
    touch_memory()
    started = time.monotonic()
    finished = subprocess.run(tool.command(index, output), capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    if finished.returncode != 0:
        return None, finished.stderr.strip().splitlines()[0] if finished.stderr.strip() else f"status {finished.returncode}"
    check_output(index, output)
    return seconds, ""


def measure(targets: Sequence[str], seconds: float) -> Iterable[Row]:
    for target in targets:
        index = write_parts(target)
        output = index.parent / "combined"
        started, repetition, longest = time.monotonic(), 0, 0.0
        able = list(TOOLS)
        while repetition <= LEAST or time.monotonic() - started + longest < seconds / len(targets):
            begun = time.monotonic()
            order = able[repetition % len(able) :] + able[: repetition % len(able)]
            for tool in order if repetition % 2 == 0 else reversed(order):
                took, why = measure_once(tool, index, output)
                shutil.rmtree(output) if output.is_dir() else output.unlink(missing_ok=True)
                os.sync()
                if took is None:
                    able.remove(tool)
                yield {"target": target, "tool": tool.name, "repetition": repetition, "seconds": took, "bytes": BYTES, "why": why}
            longest = max(longest, time.monotonic() - begun)
            repetition += 1
        shutil.rmtree(directory_of(target))


def times(rows: Sequence[Row], target: str, tool: str) -> dict[int, float]:
    """Seconds by repetition, without the warm-up."""
    return {
        row["repetition"]: row["seconds"]
        for row in rows
        if (row["target"], row["tool"]) == (target, tool) and row["seconds"] is not None and row["repetition"] > 0
    }


def claims_of(rows: Sequence[Row], targets: Sequence[str]) -> list[Claim]:
    wanted = harness.bounds("combine")["claims"][0]
    claims = []
    for target in targets:
        ours = times(rows, target, "tailrace")
        peers = {t.name: times(rows, target, t.name) for t in TOOLS if t.claimed and t.name != "tailrace"}
        strongest = min((name for name, of in peers.items() if of), key=lambda name: statistics.median(peers[name].values()))
        claims.append(harness.ratio_claim(wanted, target, peers[strongest], ours, against=strongest))
    return claims


def print_times(rows: Sequence[Row], target: str) -> None:
    table = Table(title=f"{target}: {BYTES / 2**30:.0f} GiB from {RANKS * STEPS} parts, seconds", title_justify="left")
    for heading in ("tool", "how", "median (least..most)", "GB/s"):
        table.add_column(heading, justify="left" if heading in ("tool", "how") else "right")
    for tool in TOOLS:
        of = list(times(rows, target, tool.name).values())
        if of:
            spread = Spread.of(of)
            shown = f"{spread.median:.2f} ({spread.least:.2f}..{spread.most:.2f})"
            table.add_row(tool.name, tool.how, shown, f"{BYTES / spread.median / 1e9:.2f}")
        else:
            why = next(row["why"] for row in rows if row["tool"] == tool.name and row["target"] == target and row["why"])
            table.add_row(tool.name, tool.how, f"failed: {why}", "")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.combine", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    name = parser.parse_args().size
    targets = ("disk",) if name == "quick" else ("disk", "shm")
    harness.need_memory(3 * BYTES)
    for target in targets:
        harness.need_space(directory_of(target), 3 * BYTES)
    settings = {
        "from": f"{RANKS} ranks, {STEPS} steps, a file each: {VARIABLES} arrays of {16 * RANKS} MiB a step, 64-bit floats",
        "the clock": "a program from its start to its end; outputs are removed and synced between",
        **{f"target {target}": harness.filesystem_of(directory_of(target)) for target in targets},
    }
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    try:
        rows = list(measure(targets, SIZES[name]))
    finally:
        for target in targets:
            shutil.rmtree(directory_of(target), ignore_errors=True)
    for target in targets:
        print_times(rows, target)
    claims = claims_of(rows, targets)
    harness.print_claims(claims)
    path = harness.write_record("combine", {"size": name, **settings}, rows, claims)
    done = [row for row in rows if row["seconds"] is not None]
    return methods.finish(name, done, claims, path, started, SIZES[name], LEAST)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench combine: {error}")
