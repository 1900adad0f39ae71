"""The file of a program: where it is, what interprets it, and why the loader will not load the tracer into it.

Only the beginning of the file is read, and no module is imported that takes long: `tailrace run` asks before each run.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tailrace.regular_file import open_regular

ELF_MAGIC = b"\x7fELF"
MACHINE = ("EM_X86_64", 64)  # of the tracer's library
MACHINES = {
    3: "EM_386",
    20: "EM_PPC",
    21: "EM_PPC64",
    22: "EM_S390",
    40: "EM_ARM",
    62: "EM_X86_64",
    183: "EM_AARCH64",
    243: "EM_RISCV",
}
LOADER = re.compile(r"^/lib(64)?/ld-linux[\w-]*\.so\.\d+$")
MOST_INTERPRETERS = 4  # scripts that may be the interpreters of each other
MOST_SEGMENTS, MOST_DYNAMIC_BYTES = 1024, 1 << 16
ET_EXEC, PT_DYNAMIC, PT_INTERP = 2, 2, 3
DT_FLAGS_1, DF_1_PIE = 0x6FFFFFFB, 0x08000000


class NoProgram(ValueError):
    """A name without a program, or a file that cannot be started; the text contains the reason and the remedy."""


class ProgramFile(NamedTuple):
    """What the kernel reads of a program."""

    path: Path
    machine: str  # such as EM_X86_64
    bits: int
    executable: bool  # a program, or a library that is also a program
    interpreter: str  # of PT_INTERP; empty: none


def find_program(name: str) -> Path:
    """Finds a program on the PATH or by its path. Raises NoProgram."""
    found = shutil.which(name)
    if found is None:
        if Path(name).is_file():
            raise NoProgram(f"{name}: not executable; chmod +x it, or name its interpreter before it")
        raise NoProgram(f"{name}: no such program; name one on the PATH, or by its path")
    return Path(found)


def started_file(program: Path) -> tuple[Path, tuple[Path, ...]]:
    """The ELF file that the kernel starts for a program, and the scripts before it. Raises NoProgram, OSError."""
    path, scripts = program, []
    while not is_elf(path):
        scripts.append(path)
        path = interpreter_of(path)
        if len(scripts) > MOST_INTERPRETERS:
            raise NoProgram(f"{program}: more than {MOST_INTERPRETERS} scripts are each other's interpreters: {scripts}")
    return Path(os.path.realpath(path)), tuple(scripts)


def is_elf(path: Path) -> bool:
    """Raises OSError."""
    with open_regular(path) as file:
        return file.read(len(ELF_MAGIC)) == ELF_MAGIC


def interpreter_of(script: Path) -> Path:
    """The interpreter in the first line of a script. Of `env`, the program after it; of a script without such a line, the shell.
    Raises NoProgram."""
    with open_regular(script) as file:
        line = file.readline(4096)
    if not line.startswith(b"#!"):
        if b"\0" in line:
            raise NoProgram(f"{script}: neither an ELF program nor a script; name a program that runs here")
        return Path("/bin/sh")
    words = line[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        raise NoProgram(f"{script}: its first line names no interpreter; write one after #!")
    return find_program(words[0])


def read_program_file(path: Path) -> ProgramFile:
    """Reads what the kernel needs of an ELF file. Raises OSError, and NoProgram if it is no complete ELF file."""
    with open_regular(path) as file:
        try:
            return _read(path, file.fileno())
        except (struct.error, IndexError, KeyError, OverflowError):
            raise NoProgram(f"{path}: no ELF file, or a damaged one") from None


def launch_warning(name: str) -> str:
    """One line with the reasons why nothing of a program will be recorded; empty where something will. Raises nothing: a file that
    cannot be read gives no warning."""
    try:
        path, _ = started_file(find_program(name))
        return "; ".join(text for _, text in obstacles(read_program_file(path)))
    except (ValueError, OSError):
        return ""


def obstacles(program: ProgramFile) -> Iterator[tuple[str, str]]:
    """(kind, text) of each reason why the loader will not load the tracer. Raises OSError."""
    if (program.machine, program.bits) != MACHINE:
        machine = program.machine.removeprefix("EM_")
        text = f"code for {machine}, {program.bits} bits: the tracer is for x86-64; build the program for x86-64"
        yield "machine", text
    elif not program.executable:
        yield "library", "a library, not a program: name the program that loads it"
    elif not program.interpreter:
        yield "static", "linked statically, so no library can intercept its calls; link it dynamically"
    elif not LOADER.match(program.interpreter):
        yield "loader", f"its loader is {program.interpreter}: the tracer needs the loader of the GNU C library"
    if rights := rights_of(program.path):
        yield "rights", f"has {rights}: the loader ignores LD_PRELOAD; trace a copy of the program without them"


def rights_of(path: Path) -> str:
    """The rights that a program gets when it starts, beyond those of its user; empty: none."""
    status = path.stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return f"the rights of user {status.st_uid} (setuid)"
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getgid():
        return f"the rights of group {status.st_gid} (setgid)"
    if os.getuid() != 0 and "security.capability" in os.listxattr(path):
        return "capabilities"
    return ""


def _read(path: Path, descriptor: int) -> ProgramFile:
    ident = os.pread(descriptor, 16, 0)
    bits, order = {1: 32, 2: 64}[ident[4]], {1: "<", 2: ">"}[ident[5]]
    kind, machine = struct.unpack(f"{order}HH", os.pread(descriptor, 4, 16))
    is_64 = bits == 64
    (at,) = struct.unpack(f"{order}{'Q' if is_64 else 'I'}", os.pread(descriptor, 8 if is_64 else 4, 32 if is_64 else 28))
    size, count = struct.unpack(f"{order}HH", os.pread(descriptor, 4, 54 if is_64 else 42))
    interpreter, is_pie = "", False
    for k in range(min(count, MOST_SEGMENTS)):
        # type, offset and bytes in the file
        form, most = (f"{order}I4xQ16xQ", 40) if is_64 else (f"{order}II8xI", 20)
        segment, offset, length = struct.unpack(form, os.pread(descriptor, most, at + k * size))
        if segment == PT_INTERP:
            interpreter = os.pread(descriptor, min(length, 4096), offset).split(b"\0")[0].decode(errors="replace")
        elif segment == PT_DYNAMIC:
            words = os.pread(descriptor, min(length, MOST_DYNAMIC_BYTES), offset)
            entries = struct.iter_unpack(f"{order}{'QQ' if is_64 else 'II'}", words[: len(words) // 16 * 16])
            is_pie = any(tag == DT_FLAGS_1 and value & DF_1_PIE for tag, value in entries)
    executable = kind == ET_EXEC or is_pie or bool(interpreter)
    return ProgramFile(path, MACHINES.get(machine, f"machine {machine}"), bits, executable, interpreter)
