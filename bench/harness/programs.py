"""Programs that were written for no rule of the report: with a cause and with its remedy applied, and programs without a cause."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import harness

LIMIT_S = 120
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2")
INSERTS, FILES, ROWS, STEPS, DATA_BYTES = 200, 2000, 1000, 150, 32 << 20
GROW = """
import sys
import h5py, numpy
with h5py.File("grown.h5", "w") as file:
    data = file.create_dataset("x", (0, 64), maxshape=(None, 64), chunks=(256, 64), dtype="f8")
    for row in range(int(sys.argv[1])):
        data.resize(row + 1, 0)
        data[row] = numpy.full(64, row, "f8")
        if sys.argv[2] == "cause":
            file.flush()
"""
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
dump 1 all custom 1 {dump} id x y z
run {steps}
"""


@dataclass(frozen=True)
class Program:
    name: str
    prepare: Callable[[Path, str], None]  # fills the folder; "cause" or "remedy"
    command: Callable[[str], Sequence[str]]
    rules: Sequence[str]  # findings that the remedy should take away
    on_disk: bool = False
    slow: str = ""  # what tests/findings/slow.c makes slow; nothing: no call is delayed

    def record(self, which: str, here: Path, tailrace: Sequence[str], slow: Path) -> Path:
        """The log of the program, run in the new folder `here`."""
        here.mkdir()
        self.prepare(here, which)
        env = harness.mpi_environment({"LD_PRELOAD": str(slow), "SLOW": self.slow} if self.slow else {})
        words = [*tailrace, "run", "--log", "log", "--", *self.command(which)]
        done = subprocess.run(words, cwd=here, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join(words)} ended with status {done.returncode}: {done.stderr[-2000:]}")
        return here / "log"


def _inserts(here: Path, which: str) -> None:
    """A transaction for each insertion, or one for all."""
    lines = [f"INSERT INTO t VALUES ({number}, 'row {number}');" for number in range(INSERTS)]
    if which == "remedy":
        lines = ["BEGIN;", *lines, "COMMIT;"]
    (here / "input.sql").write_text("\n".join(["CREATE TABLE t (a, b);", *lines]))


def _repository(here: Path, _: str) -> None:
    for number in range(FILES):
        folder = here / "work" / f"{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n" * 40)
    subprocess.run(["git", "init", "--quiet", "work"], cwd=here, check=True)


def _melt(here: Path, which: str) -> None:
    """A file of each rank and step, or one of all."""
    (here / "in.melt").write_text(MELT.format(dump="dump.%.*" if which == "cause" else "dump.all", steps=STEPS))


def _data(here: Path, _: str) -> None:
    (here / "data").write_bytes(os.urandom(DATA_BYTES))


def _nothing(_: Path, __: str) -> None:
    return None


LAMMPS = (*MPIRUN, "lmp", "-in", "in.melt", "-log", "none")
WITH_CAUSE = (
    Program(
        "sqlite3: a transaction for each insertion",
        _inserts,
        lambda _: ("sqlite3", "data.db", ".read input.sql"),
        ("fsync", "unlink_storm"),
        on_disk=True,
    ),
    # RATIONALE: large files are streamed into one pack, and git calls any file large if it is told to.
    Program(
        "git add: a file for each object",
        _repository,
        lambda which: ("git", "-C", "work", *(("-c", "core.bigFileThreshold=1") if which == "remedy" else ()), "add", "-A"),
        ("many_files", "missing_files", "unlink_storm"),
        on_disk=True,
    ),
    Program(
        "h5py: a flush after each row",
        _nothing,
        lambda which: (sys.executable, "-c", GROW, str(ROWS), which),
        ("flush", "rewritten_files", "small_writes"),
        slow="pwrite=300",
    ),
    Program("LAMMPS: a dump of each rank and step", _melt, lambda _: LAMMPS, ("many_files",), slow="open=20000"),
)
WITHOUT_CAUSE = (
    Program("dd", _nothing, lambda _: ("dd", "if=/dev/zero", "of=zeros", "bs=1M", "count=300", "status=none"), ()),
    Program("gzip", _data, lambda _: ("gzip", "-1", "data"), ()),
    Program("sha256sum", _data, lambda _: ("sha256sum", "data"), ()),
    Program("cp", _data, lambda _: ("cp", "data", "copy"), ()),
    Program("tar", _nothing, lambda _: ("tar", "cf", "include.tar", "/usr/include/linux"), ()),
    Program("LAMMPS", lambda here, _: _melt(here, "remedy"), lambda _: LAMMPS, ()),
)
