"""Programs with the tracer: their environment, and what launchers must be told."""

from __future__ import annotations

import functools
import mmap
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailrace import installed
from tailrace.trace.log import HEADER

LIBRARY = "libtailrace-preload.so"
FOLDER_KEY, BUDGET_KEY, PRELOAD_KEY = "TAILRACE_TRACE", "TAILRACE_TRACE_BYTES", "LD_PRELOAD"
KEYS = (PRELOAD_KEY, FOLDER_KEY, BUDGET_KEY)  # what a process of a recorded run has in its environment
BUDGET_BYTES = 64 << 20  # of log for each process; then calls are only counted
# Open MPI's launcher hands no variable on to ranks of other nodes, unless it is told. Hydra and srun hand on all.
OPEN_MPI = {"orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"}
ANY_MPI = {"mpirun", "mpiexec"}
# They start ranks and are none: the tracer's library is silent in them (src/trace/log.cpp).
LAUNCHERS = OPEN_MPI | ANY_MPI | {"orted", "prted", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "srun", "sbatch", "salloc"}
VERSION_S = 20  # for a launcher to say what it is


class NotTraceable(RuntimeError):
    """What is asked for cannot be traced here; the text says why, and what to do."""


def preload_library() -> Path:
    """The tracer. Raises NotTraceable."""
    library = installed.find("lib", LIBRARY)
    if library is None:
        raise NotTraceable(installed.missing(LIBRARY))
    if set(str(library)) & set(" :"):
        raise NotTraceable(f"{library}: spaces and colons divide the names in {PRELOAD_KEY}; install in a folder without them")
    return library


def make_folder(folder: Path | None) -> Path:
    """The folder of a run: the one that is asked for, which must be new or empty, or the first tailrace-run-N that is not there."""
    if folder is None:
        folder = next(path for n in range(1, 10**6) if not (path := Path(f"tailrace-run-{n}")).exists())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise NotTraceable(f"{folder}: not empty; name a new folder with --log, one for each run")
        _check_maps(folder)
    except OSError as error:
        raise NotTraceable(f"{folder}: no logs can be written there ({error.strerror}); name another folder with --log") from None
    return folder.resolve()


def _check_maps(folder: Path) -> None:
    """Logs are written as shared memory, which some file systems have not."""
    probe = folder / ".probe"
    try:
        with probe.open("w+b") as file:
            file.truncate(HEADER.itemsize)
            with mmap.mmap(file.fileno(), HEADER.itemsize, mmap.MAP_SHARED) as memory:
                memory[0] = 1
    finally:
        probe.unlink(missing_ok=True)


def environment_of(folder: Path, budget_bytes: int, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    others = environment.get(PRELOAD_KEY, "")
    preload = f"{preload_library()}{' ' + others if others else ''}"
    return {**environment, PRELOAD_KEY: preload, FOLDER_KEY: str(folder), BUDGET_KEY: str(budget_bytes)}


def handed_on(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What launchers that start ranks elsewhere must give them, where this process itself is recorded; else nothing."""
    if FOLDER_KEY not in environment:
        return {}
    return {key: environment[key] for key in KEYS if key in environment}


def words_of(command: Sequence[str]) -> list[str]:
    """The command, with what its launcher needs so that ranks everywhere are traced."""
    if shutil.which(command[0]) is None:
        if Path(command[0]).is_file():
            raise NotTraceable(f"{command[0]}: not executable; chmod +x it, or name its interpreter before it")
        raise NotTraceable(f"{command[0]}: no such program; name one on the PATH, or by its path")
    return handing_on(command, KEYS)


def is_open_mpi(launcher: str) -> bool:
    """By its file's name, or by what it says of itself: an `mpirun` may be Intel MPI's or a script of the site."""
    path = os.path.realpath(shutil.which(launcher) or launcher)
    name = Path(path).name
    return name in OPEN_MPI or (name in ANY_MPI and _says_open_mpi(path))


@functools.cache
def _says_open_mpi(path: str) -> bool:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", timeout=VERSION_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return any(word in done.stdout + done.stderr for word in ("Open MPI", "OpenRTE", "PRRTE"))


def handing_on(command: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The command, with what its launcher needs so that ranks everywhere have these variables."""
    if is_open_mpi(command[0]):
        return [command[0], *(word for key in keys for word in ("-x", key)), *command[1:]]
    return list(command)
