"""A program that computes between its outputs, staged with and without copies while it runs (`while_running`), in pairs.

    make bench NAME=while_running [SIZE=quick|full]

No bound is set: the table says what the copies cost the program, and how much sooner all is at the target.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import console
from bench.harness.small_files import FILE_BYTES, PROCESSES, Place, check, run_staged

# Files, steps, and milliseconds of computing behind each. RATIONALE: a file is copied while the program runs when it was quiet for
# two seconds, so the computing of a full run takes longer. The bench is to take ten minutes: a run takes about 15 s.
COMPUTED = {"quick": (200, 3, 1500), "full": (4000, 4, 2500)}
PAIRS = {"quick": 2, "full": 15}
AFTER, WHILE = "computes, drained after it", "computes, drained while it runs"


def measure_computing(place: Place, size: str) -> Iterator[dict[str, Any]]:
    """The processes compute on all processors, or more, so the drain has to share them."""
    files, steps, milliseconds = COMPUTED[size]
    scratch = place.disk / "scratch-computing"
    scratch.mkdir()
    for pair in range(PAIRS[size] + 1):  # pair 0 warms up
        for name in (AFTER, WHILE) if pair % 2 == 0 else (WHILE, AFTER):
            harness.note_progress(f"pair {pair}: {name}")
            target = Path(tempfile.mkdtemp(prefix="target-", dir=place.disk))
            keys = f'scratch = "{scratch}"\nwhile_running = {str(name == WHILE).lower()}\n'
            program_s, durable_s = run_staged(target, keys, place.program(Path("out"), files, False, steps, milliseconds))
            check(target, files)
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.while_running", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=PAIRS, default="quick")
    size = parser.parse_args().size
    disk = Path(tempfile.mkdtemp(prefix="bench-while-running-", dir=harness.BUILD))
    try:
        files, steps, milliseconds = COMPUTED[size]
        harness.need_space(disk, 4 * (PAIRS[size] + 1) * files * FILE_BYTES)
        settings = {
            "disk": harness.filesystem_of(disk),
            "program": f"{files:,} files of {FILE_BYTES:,} bytes in {steps} steps, {milliseconds} ms of computing in each, "
            f"{PROCESSES} processes",
            "pairs": str(PAIRS[size]),
        }
        harness.print_settings("Copies while a program runs", settings)
        rows = list(measure_computing(Place("local disk", disk, disk), size))
        print_computing(rows)
        return harness.conclude("while_running", {"size": size, **settings}, rows, [], "Claims: none")
    finally:
        shutil.rmtree(disk)


if __name__ == "__main__":
    sys.exit(main())
