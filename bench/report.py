"""How long a large run takes to become its figures, its report and its page, and how much memory. The logs are made for it, with
known totals."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.trace import Run

from bench import harness
from bench.harness import Claim, browser, console
from bench.harness.synthetic_logs import Totals, io_seconds, write_logs

FOLDER = Path("/dev/shm/tailrace-bench-report")
LIMIT_S = 500
PAUSE_S = 0.1  # between looks at memory
GIB, MIB = 1 << 30, 1 << 20
PAGE = FOLDER / "page.html"
RULE, TABLE = "many_files", "Phases with sync"  # what the report of these logs must have
# The claims: the column of the rows, and its unit.
MEASURED = {
    "model-time": ("seconds", "s"),
    "model-memory": ("memory_gib", "GiB"),
    "report-time": ("report_s", "s"),
    "report-memory": ("report_gib", "GiB"),
    "page-size": ("page_mib", "MiB"),
    "page-opens": ("opens_s", "s"),
}


@dataclasses.dataclass(frozen=True)
class Size:
    runs: int
    events: int
    processes: int
    files: int


SIZES = {"quick": Size(1, 1_000_000, 64, 10_000), "full": Size(1, 10_000_000, 64, 10_000)}


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
            "files": sum(1 for name in shown["files"] if name.startswith("/")),
            "written_bytes": layers["POSIX"]["written_bytes"],
            "read_bytes": layers["POSIX"]["read_bytes"],
            "posix_self_ns": round(layers["POSIX"]["busy_s"] * 1e9),
            "mpi_io_self_ns": round(layers["MPI-IO"]["busy_s"] * 1e9),
            "collectives": layers["MPI"]["calls"],
        },
    }


def measure(size: Size) -> list[Mapping[str, Any]]:
    """Each run in processes of their own, whose memory is their own."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        totals = write_logs(FOLDER / "run", size.processes, size.files, size.events)
        return [{**run_once(number, totals), **report_once(totals), **open_once()} for number in range(size.runs)]
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


def run_once(number: int, totals: Totals) -> Mapping[str, Any]:
    text, usage, _ = _output_of([sys.executable, "-m", "bench.report", "--read", str(FOLDER / "run")])
    row = json.loads(text)
    if row["totals"] != dataclasses.asdict(totals):
        raise harness.BenchError(f"the figures are {row['totals']}; the logs have {dataclasses.asdict(totals)}")
    return {"run": number, "processor_s": usage.ru_utime + usage.ru_stime, **row}


def report_once(totals: Totals) -> Mapping[str, Any]:
    """`tailrace report` with its page."""
    began = time.monotonic()
    command = [sys.executable, "-m", "tailrace", "report", str(FOLDER / "run"), "--html", str(PAGE), "--json"]
    text, usage, most_gib = _output_of(command)
    report_s, verdict = time.monotonic() - began, json.loads(text)
    if abs(verdict["io_s"] - io_seconds(totals)) > 1e-3 * io_seconds(totals):
        raise harness.BenchError(f"the report has {verdict['io_s']} s of I/O; the logs have {io_seconds(totals)}")
    if [finding["rule"] for finding in verdict["findings"]] != [RULE] or TABLE not in PAGE.read_text():
        raise harness.BenchError(f"the report of these logs has the finding {RULE} and the table '{TABLE}'; this one: {verdict}")
    return {
        "report_s": report_s,
        "report_processor_s": usage.ru_utime + usage.ru_stime,
        "report_gib": most_gib,
        "page_mib": PAGE.stat().st_size / MIB,
    }


def open_once() -> Mapping[str, Any]:
    """Until the timeline is drawn, with an empty cache; then its zoom and its filter, which must have an effect."""
    with browser.chromium() as chromium:
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        began = time.monotonic()
        browser.open_page(page, PAGE)
        opens_s = time.monotonic() - began
        every = _in_view(page)
        began = time.monotonic()
        page.get_by_role("button", name="Zoom in").click()
        half = _in_view(page)
        page.locator("#timeline [name=file]").fill("out.0000.00000.nc")
        one = _in_view(page)
        uses_s = time.monotonic() - began
    if not 0 < one["calls"] < half["calls"] < every["calls"]:
        raise harness.BenchError(f"calls in view: {every['calls']}, {half['calls']} of half the time, {one['calls']} of one file")
    return {"opens_s": opens_s, "zoom_and_filter_s": uses_s, "calls_in_page": every["calls"]}


def _in_view(page: Any) -> dict[str, float]:
    found = page.locator("#timeline").evaluate("node => ({...node.dataset})")
    return {name: float(value) for name, value in found.items() if name != "ready"}


def _output_of(command: list[str]) -> tuple[str, resource.struct_rusage, float]:
    """What a command prints, what it used, and the most memory that it and its children had at a time, GiB."""
    most = 0
    with subprocess.Popen(command, cwd=harness.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        late = threading.Timer(LIMIT_S, process.kill)
        late.start()
        ended = threading.Event()

        def watch() -> None:
            nonlocal most
            while not ended.wait(PAUSE_S):
                most = max(most, _resident_bytes(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        late.cancel()
        ended.set()
        watcher.join()
    if process.returncode != 0:
        raise harness.BenchError(f"{' '.join(command)} ended with status {process.returncode}: {errors[-2000:]}")
    return output, usage, max(most, usage.ru_maxrss * 1024) / GIB


def _resident_bytes(process: int) -> int:
    """Of a process and its children, without the pages of files; 0 where it has ended."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * resource.getpagesize() + sum(_resident_bytes(int(child)) for child in children)


def claims_of(rows: list[Mapping[str, Any]]) -> list[Claim]:
    """The worst run counts."""
    claims = []
    for wanted in harness.bounds("report")["claims"]:
        key, unit = MEASURED[wanted["id"]]
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
        console.print(
            f"read in {row['read_s']:.1f} s, all figures in {row['seconds']:.1f} s ({row['processor_s']:.1f} s of a processor), "
            f"{row['memory_gib']:.2f} GiB"
        )
        console.print(
            f"report in {row['report_s']:.1f} s ({row['report_processor_s']:.1f} s of a processor), "
            f"{row['report_gib']:.2f} GiB; "
            f"page of {row['page_mib']:.2f} MiB opens in {row['opens_s']:.2f} s, "
            f"zoom and filter take {row['zoom_and_filter_s']:.2f} s"
        )
    claims = claims_of(rows)
    title = f"Claims ({size.events} events of {size.processes} processes over {size.files} files)"
    settings = {"size": options.size, **dataclasses.asdict(size)}
    return harness.conclude("report", settings, rows, claims, title)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench report: {error}")
