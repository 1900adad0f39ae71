"""The files of a program: the interpreter of a script, and the libraries that the loader will find, in the loader's order."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tailrace.trace.elf import Elf, NotElf, read_elf
from tailrace.trace.program_file import NoProgram, find_program, started_file

DEFAULT_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")


@dataclass(frozen=True)
class Program:
    path: Path  # as it was named
    scripts: tuple[Path, ...]  # the program and its interpreters, where they are scripts
    elf: Elf  # the file that the kernel starts
    libraries: tuple[Elf, ...]
    missing: dict[str, Path] = field(default_factory=dict)  # library that is not found -> file that needs it


def inspect_program(name: str, environment: Mapping[str, str] = os.environ) -> Program:
    """Finds a program, its interpreters and its libraries. Raises NoProgram, OSError."""
    program = find_program(name)
    path, scripts = started_file(program)
    try:
        elf = read_elf(path)
    except NotElf as error:
        raise NoProgram(f"{error}; name a program that runs here") from None
    missing: dict[str, Path] = {}
    libraries = tuple(_libraries(elf, environment, missing))
    return Program(program, scripts, elf, libraries, missing)


@lru_cache(maxsize=1)
def cached_libraries() -> dict[str, tuple[Path, ...]]:
    """The loader's cache: name -> files. The loader takes the first one for the program's machine."""
    tool = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        shown = subprocess.run([tool, "-p"], capture_output=True, text=True, check=False, timeout=30).stdout
    except OSError:
        return {}
    found: dict[str, tuple[Path, ...]] = {}
    for line in shown.splitlines():
        name, arrow, path = line.partition(" => ")
        if arrow:
            key = name.split()[0]
            found[key] = (*found.get(key, ()), Path(path))
    return found


def _libraries(program: Elf, environment: Mapping[str, str], missing: dict[str, Path]) -> Iterator[Elf]:
    """The libraries of a program, breadth first as the loader finds them, each name once. Adds to `missing`."""
    waiting: deque[tuple[Elf, tuple[str, ...]]] = deque([(program, ())])
    seen: set[str] = set()
    while waiting:
        elf, inherited = waiting.popleft()
        # DT_RPATH is also for the libraries of libraries, unless there is a DT_RUNPATH.
        rpath = inherited if elf.runpath else (*_expanded(elf, elf.rpath), *inherited)
        for name in elf.needed:
            if name in seen:
                continue
            seen.add(name)
            found = _find(name, elf, rpath, environment)
            if found is None:
                missing[name] = elf.path
                continue
            seen.add(found.soname)
            yield found
            waiting.append((found, rpath))


def _expanded(elf: Elf, folders: tuple[str, ...]) -> tuple[str, ...]:
    origin = str(elf.path.parent)
    return tuple(folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for folder in folders)


def _find(name: str, elf: Elf, rpath: tuple[str, ...], environment: Mapping[str, str]) -> Elf | None:
    if "/" in name:
        candidates = [Path(name)]
    else:
        path = environment.get("LD_LIBRARY_PATH", "")
        folders = (*(() if elf.runpath else rpath), *path.replace(";", ":").split(":"), *_expanded(elf, elf.runpath))
        candidates = [Path(folder) / name for folder in folders if folder]
        candidates += cached_libraries().get(name, ())
        candidates += [Path(folder) / name for folder in DEFAULT_FOLDERS]
    for candidate in candidates:
        try:
            found = read_elf(Path(os.path.realpath(candidate)))
        except (OSError, NotElf):
            continue
        if (found.machine, found.bits) == (elf.machine, elf.bits):
            return found
    return None
