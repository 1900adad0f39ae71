"""The OLAM kernel's own writing against the same writes in a bare program: same files, same bytes, same statements.

    make bench NAME=olam [SIZE=quick|full]

The bench compares the seconds that the slowest rank spends in OPEN, WRITE and CLOSE, the phases 6plot and 9write, of a step. The
claim takes the lower quartile of a run's steps, which other load on the machine disturbs least. The median of the steps is shown
beside it; where both differ, the machine was too busy. The gather of the history state (7gather) is communication, and is not
compared. Runs alternate, and each pair has the other order.
"""

from __future__ import annotations

import argparse
import dataclasses
import filecmp
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import harness
from bench.harness import Claim, Spread, console

KERNEL = harness.ROOT / "kernels" / "olam"
WRITE_PHASES = ("6plot", "9write")
STEP_BYTES = 2_000_600
RANK_STEP_BYTES = 750_000
LIMIT_S = 120


@dataclasses.dataclass(frozen=True)
class Size:
    pairs: int
    steps: int
    ranks: tuple[int, ...]
    targets: tuple[str, ...]


SIZES = {"quick": Size(11, 80, (2,), ("disk",)), "full": Size(15, 100, (1, 2), ("disk", "shm"))}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One condition under which both programs run."""

    target: str
    ranks: int
    steps: int
    folder: Path
    input: Path

    def kernel(self, name: str) -> list[float]:
        """Runs the kernel, which leaves its files in folder/name. Returns the seconds of its write phases, step by step."""
        run = self.folder / f"{name}.json"
        arguments = [f"dir={self.folder / name}", f"run={run}", f"input={self.input}", f"steps={self.steps}", "sweeps=1"]
        for _ in harness.run_mpi(harness.program("olam"), self.ranks, arguments, limit_s=LIMIT_S):
            pass
        steps = json.loads(run.read_text())["step_phases"]
        return [sum(phases[phase]["slowest_s"] for phase in WRITE_PHASES) for phases in steps]

    def bare(self, name: str) -> list[float]:
        (self.folder / name).mkdir()
        arguments = [str(self.folder / "source"), str(self.folder / name), str(self.steps)]
        (line,) = harness.run_mpi(harness.program("bench_olam_bare"), self.ranks, arguments, limit_s=LIMIT_S)
        return line["steps_s"]

    def same_bytes(self, name: str) -> None:
        """Checks that both wrote the same files. The kernel's own tests check its files against the formula."""
        names = sorted(path.name for path in (self.folder / "source").iterdir())
        found = sorted(path.name for path in (self.folder / name).iterdir())
        _, *differ = filecmp.cmpfiles(self.folder / "source", self.folder / name, names, shallow=False)
        if names != found or any(differ):
            raise harness.BenchError(f"{self.folder / name} does not have the bytes of the kernel's files: {differ or found}")

    def remove(self, name: str) -> None:
        shutil.rmtree(self.folder / name)


def lower_quartile(steps_s: Sequence[float]) -> float:
    return statistics.quantiles(steps_s, n=4)[0]


def prepare_input() -> Path:
    command = [sys.executable, str(KERNEL / "prepare.py"), "--size-mb", "1", "--cache", str(harness.BUILD / "input")]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        raise harness.BenchError(made.stderr.strip())
    return Path(made.stdout.strip())


def run_cell(cell: Cell, pairs: int) -> list[dict[str, Any]]:
    """Rows of a cell: a warm-up pair (number 0), then `pairs` pairs, in alternating order."""
    shutil.rmtree(cell.folder, ignore_errors=True)
    cell.folder.mkdir(parents=True)
    rows = []
    try:
        cell.kernel("source")
        for pair in range(pairs + 1):
            programs: list[tuple[str, Callable[[str], list[float]]]] = [("kernel", cell.kernel), ("bare", cell.bare)]
            for program, run in programs[:: 1 if pair % 2 else -1]:
                steps_s = run(program)
                where = {"target": cell.target, "ranks": cell.ranks, "pair": pair, "program": program}
                rows.append({**where, "seconds": lower_quartile(steps_s), "median_s": statistics.median(steps_s)})
                cell.same_bytes(program)
                cell.remove(program)
    finally:
        shutil.rmtree(cell.folder, ignore_errors=True)
    return rows


def claim_of(cell: Cell, rows: list[dict[str, Any]]) -> Claim:
    bound = next(claim for claim in harness.bounds("olam")["claims"] if claim["id"] == "olam-native-overhead")
    times = {
        program: {row["pair"]: row["seconds"] for row in rows if row["program"] == program and row["pair"] > 0}
        for program in ("kernel", "bare")
    }
    ratios = harness.paired_ratios(times["bare"], times["kernel"])
    spread = Spread.of(ratios)
    medians = {program: Spread.of(list(seconds.values())).median for program, seconds in times.items()}
    at_median = {
        program: {row["pair"]: row["median_s"] for row in rows if row["program"] == program and row["pair"] > 0}
        for program in ("kernel", "bare")
    }
    detail = {
        "at_median_of_steps": Spread.of(harness.paired_ratios(at_median["bare"], at_median["kernel"])).median,
        "ratio_of_medians": medians["bare"] / medians["kernel"],
        "least": spread.least,
        "most": spread.most,
        "repetitions": len(ratios),
        "kernel_s": medians["kernel"],
        "bare_s": medians["bare"],
    }
    return Claim(f"olam-native-overhead/{cell.target}/{cell.ranks}", bound["text"], spread.median, bound["bound"], detail=detail)


def print_cells(claims: list[Claim]) -> None:
    table = Table(
        title="Milliseconds a step in OPEN, WRITE, CLOSE: lower quartile of the steps, median of the pairs", title_justify="left"
    )
    for heading in (
        "target / ranks",
        "kernel ms",
        "bare ms",
        "bare / kernel, pair by pair",
        "the same, median of steps",
        "least..most",
        "pairs",
    ):
        table.add_column(heading, justify="right")
    for claim in claims:
        detail = claim.detail
        table.add_row(
            claim.id.partition("/")[2],
            f"{1e3 * detail['kernel_s']:.3f}",
            f"{1e3 * detail['bare_s']:.3f}",
            f"{claim.value:.3f}",
            f"{detail['at_median_of_steps']:.3f}",
            f"{detail['least']:.2f}..{detail['most']:.2f}",
            str(detail["repetitions"]),
        )
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.olam", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="quick")
    name = parser.parse_args().size
    size = SIZES[name]
    maps = prepare_input()
    rows: list[dict[str, Any]] = []
    claims = []
    for target in size.targets:
        folder = harness.BUILD / "bench-olam" if target == "disk" else Path("/dev/shm/tailrace-bench-olam")
        for ranks in size.ranks:
            harness.need_space(folder, 3 * size.steps * (STEP_BYTES + ranks * RANK_STEP_BYTES))
            cell = Cell(target, ranks, size.steps, folder, maps)
            measured = run_cell(cell, size.pairs)
            rows += measured
            claims.append(claim_of(cell, measured))
    print_cells(claims)
    said = "The bytes of both were compared after every run"
    return harness.conclude("olam", {"size": name, **dataclasses.asdict(size)}, rows, claims, said=said)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except harness.BenchError as error:
        sys.exit(f"bench olam: {error}")
