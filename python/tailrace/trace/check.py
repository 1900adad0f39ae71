"""Finds out before a run what of a program can be traced, from its file and the files of its libraries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from tailrace.launch.launchers import LAUNCHER_NAMES
from tailrace.trace import launch
from tailrace.trace.elf import Elf, NotElf
from tailrace.trace.loader import Program, inspect_program
from tailrace.trace.machine_code import SystemCalls, system_calls
from tailrace.trace.program_file import ProgramFile, obstacles
from tailrace.trace.ring_setup import rings_by_syscall
from tailrace.trace.symbols import SymbolLists

# The C library and its loader. They make system calls, and the tracer hooks their functions.
C_LIBRARY = re.compile(
    r"^(libc|libm|libdl|librt|libpthread|libutil|libresolv|libanl|libmvec|libnss_\w+|libBrokenLocale|ld-linux.*)\.so\.\d+$"
)
LIBC = "libc.so.6"
MPI = {
    "libmpi.so.40": "Open MPI 3, 4 or 5",
    "libmpich.so.12": "MPICH 3 or 4",
    "libmpi.so.12": "Intel MPI, or another of MPICH's interface",
    "libmpi_cray.so.12": "Cray MPICH",
}
ANY_MPI = re.compile(r"^lib(mpi|mpich|mpi_cray|pmpi|impi)[\w-]*\.so\.\d+")
PYTHON = re.compile(r"^python[\d.]*$|^pypy[\d.]*$")
# System calls of x86-64 that open, read, write, name, map or close files, by their numbers; those of io_uring.
_OTHERS = (8, 9, 26, 32, 33, 40, 132, 133, 137, 138, 217, 221, 235, 257, 280, 285, 292, 295, 296, 306, 316, 326, 327, 328, 332, 437)
FILE_CALLS = frozenset(
    [*range(7), *range(17, 22), *range(72, 95), *range(187, 200), *range(258, 270), *range(275, 279), *_OTHERS, 439]
)
IO_URING = frozenset([425, 426, 427])


class Verdict(IntEnum):
    """How much of a program will be recorded. The value is the exit status of `tailrace check`."""

    SEEN = 0  # every call through the C library is recorded
    GAPS = 1  # all calls but the named ones are recorded
    UNTRACEABLE = 2


@dataclass(frozen=True)
class Finding:
    kind: str
    verdict: Verdict  # SEEN: for information, not a gap
    where: Path
    text: str
    symbols: tuple[str, ...] = ()

    @property
    def full_text(self) -> str:
        """The text, after the first symbols that it is about."""
        return f"{_first_few(self.symbols)}: {self.text}" if self.symbols else self.text


@dataclass(frozen=True)
class Report:
    program: Program
    mpi: str  # empty: none
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        return max((finding.verdict for finding in self.findings), default=Verdict.SEEN)

    def as_json(self) -> dict[str, Any]:
        return {
            "program": str(self.program.path),
            "scripts": [str(path) for path in self.program.scripts],
            "elf": str(self.program.elf.path),
            "libraries": [str(elf.path) for elf in self.program.libraries],
            "mpi": self.mpi,
            "verdict": self.verdict.name.lower(),
            "findings": [{**asdict(f), "verdict": f.verdict.name.lower(), "where": str(f.where)} for f in self.findings],
        }


def check(name: str, environment: Mapping[str, str] = os.environ) -> Report:
    """Checks a program by its files, without running it. Raises NoProgram, OSError, and NotTraceable if the tracer's library is not
    built."""
    program = inspect_program(name, environment)
    blocked = tuple(launch_obstacles(program))
    if blocked:
        return Report(program, "", blocked)
    recorded = SymbolLists.of(launch.preload_library())
    objects = [elf for elf in (program.elf, *program.libraries) if not C_LIBRARY.match(elf.soname)]
    of_c = frozenset(name for elf in program.libraries if elf.soname == LIBC for name in elf.exports)
    mpi, about_mpi = _mpi(program)
    findings = [*about_mpi, *_scripts(program), *_of_symbols(objects, of_c, recorded), *_of_code(objects)]
    return Report(program, mpi, tuple(findings))


def launch_obstacles(program: Program) -> Iterator[Finding]:
    """The reasons why the loader will not load the tracer."""
    elf = program.elf
    file = ProgramFile(elf.path, elf.machine, elf.bits, elf.executable, elf.interpreter)
    for kind, text in obstacles(file):
        yield Finding(kind, Verdict.UNTRACEABLE, elf.path, text)
    for name, by in program.missing.items():
        yield Finding(
            "missing", Verdict.UNTRACEABLE, by, f"{name} is not found, so the program will not start; set LD_LIBRARY_PATH"
        )


def _mpi(program: Program) -> tuple[str, list[Finding]]:
    for elf in program.libraries:
        if elf.soname in MPI:
            return MPI[elf.soname], []
        if ANY_MPI.match(elf.soname) and {"MPI_Init", "PMPI_Init"} & elf.exports:
            text = "an unknown MPI: calls on files are recorded, ranks only if it sets PMI_RANK or PMIX_RANK"
            return elf.soname, [Finding("mpi", Verdict.GAPS, elf.path, text)]
    return "", []


def _scripts(program: Program) -> Iterator[Finding]:
    if program.elf.path.name in LAUNCHER_NAMES:
        yield Finding(
            "launcher",
            Verdict.SEEN,
            program.elf.path,
            "a launcher: it is not recorded, but its ranks are; check their program, too",
        )
    for script in program.scripts:
        text = "a script: programs that it starts are recorded, too; check each by its name"
        yield Finding("script", Verdict.SEEN, script, text)
    if PYTHON.match(program.elf.path.name):
        text = "Python: its modules load libraries that are not known before the run; run `tailrace coverage` after it"
        yield Finding("python", Verdict.SEEN, program.elf.path, text)


def _of_symbols(objects: list[Elf], of_c: frozenset[str], recorded: SymbolLists) -> Iterator[Finding]:
    for elf in objects:
        rings = tuple(sorted(name for name in elf.imports | elf.exports if name.startswith("io_uring_")))
        if rings:
            yield Finding("io_uring", Verdict.GAPS, elf.path, "transfers through a ring are not recorded", rings)
        if elf.go:
            yield Finding("go", Verdict.GAPS, elf.path, "a Go program: it makes system calls without the C library")
        for reason, symbols in recorded.unrecorded(elf.imports & of_c).items():
            verdict = Verdict.GAPS if reason in recorded.gaps else Verdict.SEEN
            yield Finding(reason, verdict, elf.path, recorded.reasons[reason], tuple(symbols))
        if {"dlopen", "dlmopen"} & elf.imports & of_c:
            yield Finding(
                "dlopen", Verdict.SEEN, elf.path, "dlopen: libraries that it loads later are recorded, but cannot be checked now"
            )


def _of_code(objects: list[Elf]) -> Iterator[Finding]:
    for elf in objects:
        try:
            found = system_calls(elf.path)
            rings = rings_by_syscall(elf.path) if "syscall" in elf.imports else frozenset()
        except NotElf:
            continue
        if IO_URING & found.numbers.keys() or rings:
            yield Finding(
                "io_uring", Verdict.GAPS, elf.path, "sets up io_uring without a library: transfers through a ring are not recorded"
            )
        of_files = sorted(FILE_CALLS & found.numbers.keys())
        if of_files:
            text = f"makes system calls on files ({', '.join(map(str, of_files))}) without the C library: these are not recorded"
            yield Finding("raw", Verdict.GAPS, elf.path, text)
        elif found.numbers or found.unclear > 2 * found.by_chance + 2:
            yield Finding("raw", Verdict.SEEN, elf.path, _raw_text(found))


def _raw_text(found: SystemCalls) -> str:
    """The text about system calls without the C library that are no gap."""
    others = sum(found.numbers.values())
    places = [f"not on files in {others} places"] if others else []
    if found.unclear:
        chance = f" (about {found.by_chance} of these are parts of other instructions)" if found.by_chance else ""
        places.append(f"of unknown numbers in {found.unclear} places{chance}")
    return f"makes system calls without the C library: {', '.join(places)}"


def _first_few(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
