"""Programs that the tracer records whole: `tailrace run` and `tailrace coverage` as a person starts them; coverage ends with 0."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import harness
from bench.harness import BenchError

SOURCES = harness.ROOT / "bench" / "coverage"
LIMIT_S = 120


@dataclass(frozen=True)
class Program:
    name: str
    words: Callable[[Path], list[str]]  # in an empty folder; the argument has the compiled programs
    package: str  # of Debian, where the program may be absent
    needs: str = ""  # the program that is looked for


def workers(method: str) -> Program:
    script = str(SOURCES / "workers.py")
    return Program(f"multiprocessing, {method}", lambda _: [sys.executable, script, method], "python3")


def mpi(launcher: str, package: str) -> Program:
    suffix = launcher.rpartition(".")[2]
    return Program(
        f"MPI-IO, {suffix}", lambda programs: [launcher, "-n", "2", str(programs / f"mpi_io.{suffix}")], package, launcher
    )


def _listed() -> Iterator[Program]:
    """Those of bench/coverage/whole.toml."""
    listed = tomllib.loads((SOURCES / "whole.toml").read_text())
    for name, given in listed["shell"].items():
        yield Program(name, partial(_words, ["sh", "-c", given["words"]]), given["package"], given.get("needs", name))
    for name, given in listed["python"].items():
        yield Program(name, partial(_words, [sys.executable, "-c", given["words"]]), "python3")


def _words(words: list[str], _: Path) -> list[str]:
    return words


PROGRAMS = (
    mpi("mpirun.openmpi", "openmpi-bin"),
    mpi("mpirun.mpich", "mpich"),
    *map(workers, ("fork", "spawn", "forkserver")),
    *_listed(),
)


def compile_programs(folder: Path) -> Path:
    """Raises BenchError with the package that is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for compiler, package in (("mpicc.openmpi", "libopenmpi-dev"), ("mpicc.mpich", "libmpich-dev")):
        need(compiler, package)
        made = folder / f"mpi_io.{compiler.rpartition('.')[2]}"
        subprocess.run([compiler, "-w", str(SOURCES / "mpi_io.c"), "-o", str(made)], check=True)
    return folder


def need(program: str, package: str) -> None:
    if shutil.which(program) is None:
        raise BenchError(f"{program} is missing: install it with `apt install {package}`, or all with `make setup`")


@dataclass(frozen=True)
class Result:
    status: int  # of the program
    coverage: int  # of `tailrace coverage`
    said: str  # by it, where it is not 0

    @property
    def is_whole(self) -> bool:
        return self.coverage == 0


def run(program: Program, programs: Path, folder: Path) -> Result:
    """Runs it with the tracer in a new folder. Raises subprocess.TimeoutExpired, BenchError."""
    if program.needs:
        need(program.needs, program.package)
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    logs = str(folder / "logs")
    done = _tailrace(["run", "--log", logs, "--", *program.words(programs)], work)
    if done.returncode != 0:
        return Result(done.returncode, -1, done.stdout[-1000:])
    coverage = _tailrace(["coverage", logs], work)
    return Result(0, coverage.returncode, coverage.stdout[-1000:] if coverage.returncode else "")


def _tailrace(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailrace", *words],
        cwd=folder,
        env=harness.mpi_environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
        check=False,
    )
