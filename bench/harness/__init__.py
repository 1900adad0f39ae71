"""For all benches: running MPI programs, statistics, claims and their table, the record in bench/out/NAME.json."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tailrace.launch.local import MPIRUN, launcher_environment
from tailrace.machine.facts import processor, remembers_removed
from tailrace.statistics import FEWEST_PAIRS, LEVEL, RESAMPLES

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
OUT = ROOT / "bench" / "out"
console = Console(width=None if os.isatty(1) else 150)


def processor_ticks() -> list[int]:
    """Times of all processors since the machine started: in programs, at low priority, in the kernel, idle, waiting for devices, in
    interrupts of two kinds, and used by the host (steal); see /proc/stat in proc(5)."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


TICKS_AT_START = processor_ticks()


class BenchError(RuntimeError):
    """A bench cannot continue. The text has the cause and the remedy."""


@dataclasses.dataclass(frozen=True)
class Claim:
    id: str
    text: str
    value: float
    bound: float
    unit: str = "ratio"
    detail: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    at_most: bool = False  # the bound is the largest value that holds; otherwise the least

    @property
    def holds(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    @property
    def is_missed(self) -> bool:
        """Whether it does not hold with all of its interval: then the noise of the repetitions is not the cause."""
        interval = self.detail.get("interval")
        if self.holds or interval is None:
            return False
        return bool(interval[0] > self.bound if self.at_most else interval[1] < self.bound)


@dataclasses.dataclass(frozen=True)
class Spread:
    """Median, least and most of some repetitions."""

    median: float
    least: float
    most: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(statistics.median(values), min(values), max(values))


def paired_ratios(other_s: Mapping[int, float], ours_s: Mapping[int, float]) -> list[float]:
    """Their time over ours, repetition by repetition. Both ran in the same round, so a slow period of the machine affects both."""
    return [other_s[r] / ours_s[r] for r in sorted(other_s.keys() & ours_s.keys())]


def interval_of(others: Mapping[int, Sequence[float]], ours: Mapping[int, Sequence[float]]) -> tuple[float, float] | None:
    """The bootstrap interval of the ratio of two methods' times. Repetitions that both have are drawn anew. The time of a method is
    the sum over its calls of the medians over repetitions. None: there are too few repetitions."""
    rounds = sorted(others.keys() & ours.keys())
    if len(rounds) < FEWEST_PAIRS:
        return None
    drawn = np.random.default_rng(1).integers(0, len(rounds), (RESAMPLES, len(rounds)))
    typical = [np.median(np.array([times[number] for number in rounds])[drawn], axis=1).sum(axis=1) for times in (others, ours)]
    low, high = np.quantile(typical[0] / typical[1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def ratio_claim(
    wanted: Mapping[str, Any], where: str, other_s: Mapping[int, float], ours_s: Mapping[int, float], **detail: Any
) -> Claim:
    """The claim `wanted` of bounds.toml about the other's median over ours. `detail` is recorded beside the ratios of the
    repetitions."""
    pairs = paired_ratios(other_s, ours_s)
    interval = interval_of({r: [s] for r, s in other_s.items()}, {r: [s] for r, s in ours_s.items()})
    of_pairs = {"least": min(pairs), "most": max(pairs), "median_of_pairs": statistics.median(pairs), "interval": interval}
    value = statistics.median(other_s.values()) / statistics.median(ours_s.values())
    at_most = wanted.get("at_most", False)
    return Claim(f"{wanted['id']}/{where}", wanted["text"], value, wanted["bound"], "ratio", {**of_pairs, **detail}, at_most)


def bounds(bench: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "bench" / "bounds.toml").read_text())[bench]


def claimed_variant(bench: str) -> str:
    """The variant of our methods in the claims of a bench."""
    return str(bounds(bench)["claimed_variant"])


def program(name: str) -> Path:
    path = Path(os.environ.get("TAILRACE_BENCH_BIN", BUILD / "bin")) / name
    if not path.exists():
        raise BenchError(f"{path} is not built: run `make build`, and read its messages about skipped benches")
    return path


def mpi_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment with the launchers' variables, and without Tailrace's, which would change the measurement."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("TAILRACE_")}
    return {
        **launcher_environment(own, as_root=True),
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",  # the same for all numbers of ranks, also more ranks than cores
        **extra,
    }


def run_into(words: Sequence[str], folder: Path, output: Path, timeout_s: float, environment: Mapping[str, str]) -> int:
    """Runs a command in the folder; what it prints is in the file `output`. Returns its exit status, whatever it is. Raises
    subprocess.TimeoutExpired."""
    with output.open("wb") as file:
        done = subprocess.run(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            timeout=timeout_s,
            env=dict(environment),
            check=False,
        )
    return done.returncode


def run_mpi(
    path: Path,
    ranks: int,
    arguments: Sequence[str],
    *,
    limit_s: float,
    extra: Mapping[str, str] | None = None,
    control_group: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Runs an MPI program and yields each JSON line when it is printed. Raises BenchError when it fails or takes too long."""
    command = [MPIRUN, "-n", str(ranks), str(path), *arguments]
    if control_group is not None:
        command = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(control_group / "cgroup.procs"), *command]
    timed_out = threading.Event()
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=mpi_environment(extra or {}), start_new_session=True
        ) as process,
    ):

        def stop() -> None:
            timed_out.set()
            os.killpg(process.pid, signal.SIGTERM)

        timer = threading.Timer(limit_s, stop)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
            status = process.wait()
        finally:
            timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        if status == 0 and not timed_out.is_set():
            return
        errors.seek(0)
        reason = f"took more than {limit_s:.0f} s" if timed_out.is_set() else f"ended with status {status}"
        raise BenchError(f"{' '.join(command)}\n{reason}; its last messages:\n{errors.read()[-4000:]}")


def need_space(directory: Path, bytes_needed: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(directory).free
    if free < bytes_needed:
        needed = f"{bytes_needed / 2**30:.1f} GiB"
        raise BenchError(f"{directory} has {free / 2**30:.1f} GiB free, the bench needs {needed} there: remove files")


def need_memory(bytes_needed: int) -> None:
    text = Path("/proc/meminfo").read_text()
    available = int(next(line for line in text.splitlines() if line.startswith("MemAvailable")).split()[1]) * 1024
    if available < bytes_needed:
        raise BenchError(
            f"{available / 2**30:.1f} GiB of memory available, the bench needs {bytes_needed / 2**30:.1f} GiB: end other programs"
        )


def filesystem_of(directory: Path) -> str:
    while not directory.exists():
        directory = directory.parent
    shown = subprocess.run(["stat", "-f", "-c", "%T", str(directory)], capture_output=True, text=True, check=True)
    return shown.stdout.strip() + (" without a journal" if remembers_removed(directory) else "")


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": processor(), "cores": os.cpu_count(), "memory_bytes": memory, "kernel": platform.release()}


def commit() -> str:
    shown = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return shown.stdout.strip() or "unknown"


def print_settings(title: str, settings: Mapping[str, str]) -> None:
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    for key, value in settings.items():
        table.add_row(key, value)
    console.print(table)


_began_s = time.monotonic()


def note_progress(text: str) -> None:
    """Prints a line with the time since the bench began, so that a long bench shows what it does."""
    console.print(f"[dim]{time.monotonic() - _began_s:6.0f} s  {text}[/dim]", highlight=False)


CLAIMS = "Claims (their time / ours; more than 1: ours is faster)"


def print_claims(claims: Sequence[Claim], title: str = CLAIMS) -> None:
    """One row for each claim; those that do not hold come first."""
    table = Table(title=title, title_justify="left")
    for heading in ("claim", "value", "bound", "95 %", "undisturbed", "least..most", "against", "holds"):
        table.add_column(heading, justify="left" if heading in ("claim", "against") else "right")
    for claim in sorted(claims, key=lambda c: (c.holds, c.id)):
        detail = claim.detail
        table.add_row(
            claim.id,
            f"{claim.value:.2f}",
            f"{claim.bound:.2f}",
            "{:.2f}..{:.2f}".format(*detail["interval"]) if detail.get("interval") else "",
            f"{detail['undisturbed']:.2f}" if "undisturbed" in detail else "",
            f"{detail['least']:.2f}..{detail['most']:.2f}" if "least" in detail else "",
            str(detail.get("against", "")),
            "yes" if claim.holds else "no" if detail.get("interval") and not claim.is_missed else "[red]no[/red]",
        )
    console.print(table)
    held = sum(claim.holds for claim in claims)
    missed = [claim.id for claim in claims if claim.is_missed]
    console.print(f"{held} of {len(claims)} claims hold.")
    if any(claim.detail.get("interval") for claim in claims) and held < len(claims):
        console.print(f"Missed with all of their 95 % interval: {', '.join(missed) or 'none'}.")


def conclude(
    name: str,
    settings: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    claims: Sequence[Claim],
    title: str = CLAIMS,
    said: str = "",
) -> int:
    """The end of a bench: prints the claims, writes the record, and prints `said` with its path. `settings` has the size.

    Returns the exit status: 1 if a claim does not hold in a full run; a quick run decides nothing."""
    if claims:
        print_claims(claims, title)
    path = write_record(name, settings, rows, claims).relative_to(ROOT)
    console.print(f"{said}; {path}" if said else str(path))
    return 0 if settings["size"] == "quick" or all(claim.holds for claim in claims) else 1


def rows_recorded(name: str, size: str) -> list[dict[str, Any]]:
    """The timings of bench/out/NAME.json, for adding more of the same programs and size."""
    path = OUT / f"{name}.json"
    if not path.exists():
        raise BenchError(f"there is no {path.relative_to(ROOT)} to add to: run the bench without --add first")
    record = json.loads(path.read_text())
    programs = commit()
    here = {"commit": programs, "machine": machine(), "size": size}
    there = {"commit": record["commit"], "machine": record["machine"], "size": record["settings"]["size"]}
    for key, value in here.items():
        if there[key] != value:
            raise BenchError(f"{path.relative_to(ROOT)} is of {key} {there[key]}, not {value}: run the bench without --add first")
    if programs.endswith("-dirty"):
        raise BenchError(f"{path.relative_to(ROOT)} is of uncommitted files: commit, then run the bench without --add")
    rows: list[dict[str, Any]] = record["rows"]
    return rows


def write_record(name: str, settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], claims: Sequence[Claim]) -> Path:
    """Writes bench/out/NAME.json, whole or not at all. Reports the share of processor time that the host took meanwhile."""
    OUT.mkdir(parents=True, exist_ok=True)
    ticks = [now - then for now, then in zip(processor_ticks(), TICKS_AT_START, strict=True)]
    stolen = ticks[7] / max(1, sum(ticks))
    if stolen > 0.01:
        console.print(f"The host took {stolen:.0%} of the processors' time meanwhile; the figures are noisy by that much.")
    record = {
        "name": name,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "stolen": stolen,
        "commit": commit(),
        "settings": settings,
        "rows": list(rows),
        "claims": [
            {
                "id": claim.id,
                "text": claim.text,
                "value": claim.value,
                "bound": claim.bound,
                "unit": claim.unit,
                "at_most": claim.at_most,
                "holds": claim.holds,
                "interval": claim.detail.get("interval"),  # of 95 %; null where there is none
                "detail": {name: value for name, value in claim.detail.items() if name != "interval"},
            }
            for claim in claims
        ],
    }
    path = OUT / f"{name}.json"
    path.with_suffix(".tmp").write_text(json.dumps(record, indent=1) + "\n")
    path.with_suffix(".tmp").rename(path)
    return path
