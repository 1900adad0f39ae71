"""What a tree of directories brings to a program that makes a file for each field, rank and step.

    make bench NAME=tree [SIZE=quick|full]

The ABL kernel writes its steps flat, and placed by rules, by the same unmodified binary. It writes into empty directories, and
beside files that an earlier run has left; on the local disk, on ext4 without index of directories, where a name is looked up
by reading all, and from two nodes of a cluster into its file system.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from tailrace.place.compiled import compiled, write_rules
from tailrace.place.mapping import Mapping
from tailrace.place.placing import PLACE_KEY
from tailrace.place.rules import read_rules
from tailrace.trace import launch

from bench import harness
from bench.harness import Claim, Spread, console, login
from bench.harness.causes import directories_without_index
from kernels.abl.verify import Expected

RANKS, FIELDS = 2, 4
ROUNDS, STEPS, LEFTOVERS = {"quick": 3, "full": 9}, {"quick": 10, "full": 50}, {"quick": 10_000, "full": 100_000}
CALL_TEXTS = {
    "stat": "stat",
    "open": "open with O_CREAT, and close",
    "other": "stat of a name without rule",
    "write": "write of a byte by a descriptor",
    "read": "read of a byte by a descriptor",
}
CALLS = {"quick": 20_000, "full": 200_000}
SHAPES, FILLS = ("flat", "tree"), ("empty", "leftovers")
CLUSTER = "cluster"
MAKERS = 8  # threads that make leftovers
FIRST_LEFT = 100_000  # the first step of the earlier run
FILE_BYTES = 16 * 16 * 4 * 8
RULE = '[[place.tree]]\nfiles = "{field}.{rank:number}.{step:number}"\nto = "{rank}/{field}"\n'


@dataclass(frozen=True)
class Cell:
    """One directory: on which file system, of which shape, and what else is in it."""

    place: str
    shape: str
    fill: str
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def path_of(self, name: str) -> Path:
        logical = self.out / name
        found = self.mapping().physical(str(logical)) if self.shape == "tree" else None
        return Path(found[0]) if found else logical

    def mapping(self) -> Mapping:
        return Mapping(compiled(read_rules(self.out / "tailrace.toml")))


def names(steps: range) -> Iterator[str]:
    for field, rank, step in itertools.product(("u", "v", "w", "theta"), range(RANKS), steps):
        yield f"{field}.{rank:04}.{step:06}"


def prepare(cell: Cell, leftovers: int) -> None:
    cell.out.mkdir(parents=True)
    if cell.shape == "tree":
        (cell.out / "tailrace.toml").write_text(RULE)
        write_rules(cell.folder / "place.rules", compiled(read_rules(cell.out / "tailrace.toml")))
    if cell.fill == "empty":
        return
    mapping = cell.mapping() if cell.shape == "tree" else None

    def make(name: str) -> None:
        found = mapping.physical(str(cell.out / name)) if mapping else None
        path = Path(found[0]) if found else cell.out / name
        try:
            path.touch()
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    with ThreadPoolExecutor(MAKERS) as makers:  # a file of a cluster takes a message there and back
        for _ in makers.map(make, names(range(FIRST_LEFT, FIRST_LEFT + leftovers // (RANKS * FIELDS)))):
            pass


def run(cell: Cell, steps: int, checks: bool) -> list[float]:
    """The seconds of each step's writing, from the kernel's record. Its files are removed, and before that read, if `checks`."""
    record = cell.folder / "run.json"
    words = [str(harness.program("abl")), f"dir={cell.out}", f"run={record}", f"steps={steps}"]
    words = login.on_nodes(words, RANKS) if cell.place == CLUSTER else ["mpirun", "-n", str(RANKS), *words]
    environment = harness.mpi_environment({})
    if cell.shape == "tree":
        words = launch.traced_command(words, trace=False, more=(PLACE_KEY,))
        environment = launch.placed_environment({PLACE_KEY: str(cell.folder / "place.rules")}, environment)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, cwd=cell.folder, timeout=600)
    if done.returncode != 0:
        raise harness.BenchError(f"the kernel ended with {done.returncode}: {done.stderr}")
    made = json.loads(record.read_text())
    expected = Expected(made)
    paths = [cell.path_of(name) for name in names(range(1, steps + 1))]
    for path in paths:
        if checks:
            field, rank, step = path.name.split(".")
            planes = expected.case["nz"]
            wanted = expected.values(field, int(step))[int(rank) * planes : (int(rank) + 1) * planes]
            if not np.array_equal(np.fromfile(path).reshape(wanted.shape), wanted):
                raise harness.BenchError(f"{path}: other values than the kernel wrote")
        path.unlink()
    return [step["9write"]["slowest_s"] for step in made["step_phases"]]


def measure(cells: list[Cell], size: str) -> Iterator[dict[str, Any]]:
    for round_number in range(ROUNDS[size] + 1):  # round 0 warms up, and its files are compared
        turn = round_number % len(cells)
        harness.note_progress(f"round {round_number} of {ROUNDS[size]}")
        for cell in cells[turn:] + cells[:turn]:
            seconds = run(cell, STEPS[size], checks=round_number == 0)
            if round_number > 0:
                yield {"place": cell.place, "shape": cell.shape, "fill": cell.fill, "round": round_number, "step_s": seconds}


def call_costs(folder: Path, size: str) -> Iterator[dict[str, Any]]:
    """Nanoseconds of processor time a call, with the preload library alone and with rules, by turns."""
    (folder / "tailrace.toml").write_text(RULE.replace('"{field}', '"data/{field}'))
    write_rules(folder / "call.rules", compiled(read_rules(folder / "tailrace.toml")))
    (folder / "data").mkdir()
    words = [str(harness.BUILD / "tests" / "place_case"), "timing", str(CALLS[size])]
    for round_number, rules in itertools.product(range(ROUNDS[size] + 1), ("", str(folder / "call.rules"))):
        variables = {"LD_PRELOAD": str(launch.preload_library()), **({PLACE_KEY: rules} if rules else {})}
        environment = {**harness.mpi_environment({}), **variables}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, cwd=folder, timeout=300)
        if round_number > 0:
            calls = dict(zip(CALL_TEXTS, map(int, done.stdout.split()), strict=True))
            yield {"round": round_number, "placed": bool(rules), "ns": calls}


def times_of(rows: list[dict[str, Any]], place: str, shape: str, fill: str) -> dict[int, float]:
    """The median step of each round."""
    wanted = (place, shape, fill)
    return {row["round"]: statistics.median(row["step_s"]) for row in rows if (row["place"], row["shape"], row["fill"]) == wanted}


def claims_of(rows: list[dict[str, Any]], calls: list[dict[str, Any]], places: list[str]) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("tree")["claims"]}
    claims = []
    for place in places:
        tree = {fill: times_of(rows, place, "tree", fill) for fill in FILLS}
        claims.append(harness.ratio_claim(wanted["independent"], place, tree["leftovers"], tree["empty"], against="empty"))
        if place == "no index":
            flat = times_of(rows, place, "flat", "leftovers")
            claims.append(harness.ratio_claim(wanted["no-index"], place, flat, tree["leftovers"], against="flat"))
    for name in CALL_TEXTS:
        medians = [statistics.median(row["ns"][name] for row in calls if row["placed"] is placed) for placed in (False, True)]
        claim = wanted["data" if name in ("write", "read") else "call"]
        claims.append(
            Claim(f"{claim['id']}/{name}", claim["text"], (medians[1] - medians[0]) / 1000, claim["bound"], "us", {}, True)
        )
    return claims


def print_calls(calls: list[dict[str, Any]], with_rules: str, heading: str) -> None:
    """`with_rules`: the key of a row that says whether it was measured with them."""
    table = Table("call", "without rules, ns", heading, title="Processor time a call", title_justify="left")
    for name, text in CALL_TEXTS.items():
        both = [statistics.median(row["ns"][name] for row in calls if row[with_rules] is which) for which in (False, True)]
        table.add_row(text, *(f"{value:.0f}" for value in both))
    console.print(table)


def print_rows(rows: list[dict[str, Any]], calls: list[dict[str, Any]], places: list[str]) -> None:
    table = Table(title="Writing a step, milliseconds: median, least and most of all steps", title_justify="left")
    for heading in ("file system", "directories", "with", "median", "least", "most"):
        table.add_column(heading, justify="right" if heading in ("median", "least", "most") else "left")
    for place, fill, shape in itertools.product(places, FILLS, SHAPES):
        each = [row["step_s"] for row in rows if (row["place"], row["shape"], row["fill"]) == (place, shape, fill)]
        spread = Spread.of([1000 * seconds for of_round in each for seconds in of_round])
        table.add_row(place, shape, fill, *(f"{value:.2f}" for value in (spread.median, spread.least, spread.most)))
    console.print(table)
    print_calls(calls, "placed", "with rules, ns")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.tree", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=ROUNDS, default="quick")
    size = parser.parse_args().size
    disk = Path(tempfile.mkdtemp(prefix="bench-tree-", dir=harness.BUILD))
    try:
        (disk / "image").mkdir()
        leftovers = LEFTOVERS[size]
        room = 4 * leftovers * 4096 + 4 * RANKS * FIELDS * STEPS[size] * 2 * FILE_BYTES + (64 << 20)
        with directories_without_index(disk / "image", inodes=3 * leftovers + 20_000, image_bytes=room) as mounted:
            places = {"disk": disk, "no index": mounted, **({CLUSTER: login.SHARED} if login.has_cluster() else {})}
            cells = [
                Cell(place, shape, fill, folder / f"{shape}-{fill}")
                for (place, folder), shape, fill in itertools.product(places.items(), SHAPES, FILLS)
            ]
            settings = {
                "file systems": f"{harness.filesystem_of(disk)}; ext4 without dir_index, on a loop device",
                CLUSTER: f"MooseFS, {login.NODES} nodes of this machine" if login.has_cluster() else "none",
                "files": f"{RANKS} ranks, {FIELDS} fields, {STEPS[size]} steps of {FILE_BYTES:,} bytes; {leftovers:,} leftovers",
                "rounds": str(ROUNDS[size]),
            }
            harness.print_settings("The ABL kernel's steps, flat and in a tree", settings)
            for cell in cells:
                prepare(cell, leftovers)
            rows = list(measure(cells, size))
        calls = list(call_costs(disk, size))
        print_rows(rows, calls, list(places))
        claims = claims_of(rows, calls, list(places))
        title = "Claims: ratios; independent is leftovers / empty; calls in microseconds more"
        return harness.conclude("tree", {"size": size, **settings}, [*rows, *({"calls": row} for row in calls)], claims, title)
    finally:
        shutil.rmtree(disk)


if __name__ == "__main__":
    sys.exit(login.on_login("bench.tree", main))
