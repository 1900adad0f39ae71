"""How long a large run takes to be read into its figures, and how much memory. The logs are made for it, with known totals."""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.trace import Run

from bench import harness
from bench.harness import Claim, console
from bench.harness.synthetic_logs import Totals, write_logs

FOLDER = Path("/dev/shm/tailrace-bench-report")
LIMIT_S = 500
GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Size:
    runs: int
    events: int
    processes: int
    files: int


SIZES = {"quick": Size(1, 1_000_000, 64, 10_000), "full": Size(3, 10_000_000, 64, 10_000)}


def found_in(folder: Path) -> dict[str, Any]:
    """The figures of a run, all made once, in this process."""
    began = time.monotonic()
    run = Run.read(folder)
    read_s = time.monotonic() - began
    shown = run.to_json()
    layers = shown["layers"]
    return {
        "read_s": read_s,
        "seconds": time.monotonic() - began,
        "memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB,
        "totals": {
            "events": sum(layer["calls"] for layer in layers.values()),
            "processes": len(shown["processes"]),
            "files": len(shown["files"]),
            "written_bytes": layers["POSIX"]["written_bytes"],
            "read_bytes": layers["POSIX"]["read_bytes"],
            "posix_self_ns": round(layers["POSIX"]["busy_s"] * 1e9),
            "mpi_io_self_ns": round(layers["MPI-IO"]["busy_s"] * 1e9),
        },
    }


def measure(size: Size) -> list[Mapping[str, Any]]:
    """Each run in a process of its own, whose memory is its own."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        totals = write_logs(FOLDER / "run", size.processes, size.files, size.events)
        return [run_once(number, totals) for number in range(size.runs)]
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


def run_once(number: int, totals: Totals) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "bench.report", "--read", str(FOLDER / "run")]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise harness.BenchError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr[-2000:]}")
    row = json.loads(done.stdout)
    if row["totals"] != dataclasses.asdict(totals):
        raise harness.BenchError(f"the figures are {row['totals']}; the logs have {dataclasses.asdict(totals)}")
    return {"run": number, **row}


def claims_of(rows: list[Mapping[str, Any]]) -> list[Claim]:
    """The worst run counts."""
    claims = []
    for wanted in harness.bounds("report")["claims"]:
        key, unit = ("seconds", "s") if wanted["id"] == "model-time" else ("memory_gib", "GiB")
        worst = max(row[key] for row in rows)
        claims.append(Claim(wanted["id"], wanted["text"], worst, wanted["bound"], unit, {"runs": len(rows)}, at_most=True))
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument("--read", type=Path, help="only read the logs in this folder, and print the figures as JSON")
    options = parser.parse_args()
    if options.read:
        print(json.dumps(found_in(options.read)))
        return 0
    size = SIZES[options.size]
    harness.need_space(FOLDER, 128 * size.events)
    rows = measure(size)
    for row in rows:
        console.print(f"read in {row['read_s']:.1f} s, all figures in {row['seconds']:.1f} s, {row['memory_gib']:.2f} GiB")
    claims = claims_of(rows)
    harness.print_claims(claims, f"Claims ({size.events} events of {size.processes} processes over {size.files} files)")
    settings = {"size": options.size, **dataclasses.asdict(size)}
    console.print(str(harness.write_record("report", settings, rows, claims).relative_to(harness.ROOT)))
    return 0 if options.size == "quick" or all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench report: {error}")
