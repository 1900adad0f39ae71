"""What of a program can be traced, said before it runs: from its file and those of its libraries."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from tailrace.trace import launch
from tailrace.trace.elf import Elf, NotElf
from tailrace.trace.loader import Program, resolve
from tailrace.trace.machine_code import SystemCalls, system_calls
from tailrace.trace.symbols import Recorded

MACHINE = ("EM_X86_64", 64)  # of the tracer's library
# The C library with its loader; they ask the kernel by themselves, and the tracer stands before them.
OF_C = re.compile(
    r"^(libc|libm|libdl|librt|libpthread|libutil|libresolv|libanl|libmvec|libnss_\w+|libBrokenLocale|ld-linux.*)\.so\.\d+$"
)
LIBC = "libc.so.6"
LOADER = re.compile(r"^/lib(64)?/ld-linux[\w-]*\.so\.\d+$")
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
    """Also the exit status."""

    SEEN = 0  # every call that goes through the C library
    GAPS = 1  # but for what is named
    UNTRACEABLE = 2


@dataclass(frozen=True)
class Finding:
    kind: str
    verdict: Verdict  # SEEN: to know, and no gap
    where: Path
    text: str
    symbols: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """The text with the first of its symbols."""
        return f"{_few(self.symbols)}: {self.text}" if self.symbols else self.text


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
    """Looks at files and runs nothing. Raises NoProgram, NotTraceable where the tracer's library is not built, OSError."""
    program = resolve(name, environment)
    blocked = tuple(of_start(program))
    if blocked:
        return Report(program, "", blocked)
    recorded = Recorded.of(launch.preload_library())
    objects = [elf for elf in (program.elf, *program.libraries) if not OF_C.match(elf.soname)]
    of_c = frozenset(name for elf in program.libraries if elf.soname == LIBC for name in elf.exports)
    mpi, about_mpi = _mpi(program)
    findings = [*about_mpi, *_scripts(program), *_of_symbols(objects, of_c, recorded), *_of_code(objects)]
    return Report(program, mpi, tuple(findings))


def warning_of(name: str) -> str:
    """Why nothing of a program will be recorded, in a line; empty: something will. Raises nothing: what cannot be looked at is let
    alone."""
    try:
        return "; ".join(finding.text for finding in of_start(resolve(name)))
    except (ValueError, OSError):
        return ""


def of_start(program: Program) -> Iterator[Finding]:
    """What keeps the loader from loading the tracer."""
    elf = program.elf

    def no(kind: str, text: str) -> Finding:
        return Finding(kind, Verdict.UNTRACEABLE, elf.path, text)

    if (elf.machine, elf.bits) != MACHINE:
        yield no("machine", f"code for {elf.machine.removeprefix('EM_')}, {elf.bits} bits: the tracer is for x86-64; build it so")
    elif not elf.executable:
        yield no("library", "a library, not a program: name the program that loads it")
    elif not elf.interpreter:
        yield no("static", "linked statically: no library comes before its own calls; link it dynamically")
    elif not LOADER.match(elf.interpreter):
        yield no("loader", f"its loader is {elf.interpreter}: the tracer needs that of the GNU C library")
    for name, by in program.missing.items():
        yield Finding("missing", Verdict.UNTRACEABLE, by, f"{name} is not found: it would not start; set LD_LIBRARY_PATH")
    rights = _rights(elf.path)
    if rights:
        yield no("rights", f"has {rights}: the loader drops LD_PRELOAD; trace a copy of it without them")


def _rights(path: Path) -> str:
    """With which a program starts, other than the user's own."""
    status = path.stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return f"the rights of user {status.st_uid} (setuid)"
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getgid():
        return f"the rights of group {status.st_gid} (setgid)"
    if os.getuid() != 0 and "security.capability" in os.listxattr(path):
        return "capabilities"
    return ""


def _mpi(program: Program) -> tuple[str, list[Finding]]:
    for elf in program.libraries:
        if elf.soname in MPI:
            return MPI[elf.soname], []
        if ANY_MPI.match(elf.soname) and {"MPI_Init", "PMPI_Init"} & elf.exports:
            text = "an MPI that is not known here: its calls on files are seen, its ranks only if it sets PMI_RANK or PMIX_RANK"
            return elf.soname, [Finding("mpi", Verdict.GAPS, elf.path, text)]
    return "", []


def _scripts(program: Program) -> Iterator[Finding]:
    if program.elf.path.name in launch.LAUNCHERS:
        yield Finding(
            "launcher", Verdict.SEEN, program.elf.path, "starts ranks and is not recorded itself: check their program, too"
        )
    for script in program.scripts:
        text = "a script: what it starts is recorded as well, and can be checked by its own name"
        yield Finding("script", Verdict.SEEN, script, text)
    if PYTHON.match(program.elf.path.name):
        text = "Python: its modules load libraries that cannot be known before; after the run, `tailrace coverage` tells"
        yield Finding("python", Verdict.SEEN, program.elf.path, text)


def _of_symbols(objects: list[Elf], of_c: frozenset[str], recorded: Recorded) -> Iterator[Finding]:
    for elf in objects:
        rings = tuple(sorted(name for name in elf.imports | elf.exports if name.startswith("io_uring_")))
        if rings:
            yield Finding("io_uring", Verdict.GAPS, elf.path, "what goes through a ring is not seen", rings)
        if elf.go:
            yield Finding("go", Verdict.GAPS, elf.path, "a Go program: it asks the kernel by itself, past the C library")
        for reason, symbols in recorded.unrecorded(elf.imports & of_c).items():
            verdict = Verdict.GAPS if reason in recorded.gaps else Verdict.SEEN
            yield Finding(reason, verdict, elf.path, recorded.reasons[reason], tuple(symbols))
        if {"dlopen", "dlmopen"} & elf.imports & of_c:
            yield Finding(
                "dlopen", Verdict.SEEN, elf.path, "dlopen: libraries that come later are recorded, and cannot be checked now"
            )


def _of_code(objects: list[Elf]) -> Iterator[Finding]:
    for elf in objects:
        try:
            found = system_calls(elf.path)
        except NotElf:
            continue
        if IO_URING & found.numbers.keys():
            yield Finding("io_uring", Verdict.GAPS, elf.path, "sets up io_uring by itself: what goes through a ring is not seen")
        of_files = sorted(FILE_CALLS & found.numbers.keys())
        if of_files:
            text = f"asks the kernel by itself, by system calls of files ({', '.join(map(str, of_files))}): these are not seen"
            yield Finding("raw", Verdict.GAPS, elf.path, text)
        elif found.numbers or found.unclear > 2 * found.by_chance + 2:
            yield Finding("raw", Verdict.SEEN, elf.path, _raw_text(found))


def _raw_text(found: SystemCalls) -> str:
    """Of those that are no gap."""
    others = sum(found.numbers.values())
    places = [f"in {others} places for no file"] if others else []
    if found.unclear:
        chance = f" (about {found.by_chance} of these are parts of other instructions)" if found.by_chance else ""
        places.append(f"in {found.unclear} places for what the file does not say{chance}")
    return f"asks the kernel by itself: {', '.join(places)}"


def _few(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
