"""Starting a program with the tracer: its environment, and the options that its launcher needs."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailrace import installed
from tailrace.launch.mpi import pass_to_ranks

LIBRARY = "libtailrace-preload.so"
FOLDER_KEY, BUDGET_KEY, PRELOAD_KEY = "TAILRACE_TRACE", "TAILRACE_TRACE_BYTES", "LD_PRELOAD"
FOLLOW_KEY = "TAILRACE_TRACE_FOLLOW"
KEYS = (PRELOAD_KEY, FOLDER_KEY, BUDGET_KEY)  # the variables of each process of a recorded run
DEFAULT_BUDGET_BYTES = 64 << 20  # of log for each process; later calls are only counted
PROBE_BYTES = 4096


class NotTraceable(RuntimeError):
    """This program or this folder cannot be traced; the text contains the reason and the remedy."""


def preload_library() -> Path:
    """The tracer's library. Raises NotTraceable."""
    library = installed.find("lib", LIBRARY)
    if library is None:
        raise NotTraceable(installed.missing(LIBRARY))
    if set(str(library)) & set(" :"):
        raise NotTraceable(f"{library}: spaces and colons separate the names in {PRELOAD_KEY}; install in a folder without them")
    return library


def make_log_folder(folder: Path | None) -> Path:
    """Makes the folder of a run, which must be new or empty. Without a name: the first tailrace-run-N that does not exist."""
    if folder is None:
        folder = next(path for n in range(1, 10**6) if not (path := Path(f"tailrace-run-{n}")).exists())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise NotTraceable(f"{folder}: not empty; name a new folder with --log, one for each run")
        _check_shared_maps(folder)
    except OSError as error:
        raise NotTraceable(f"{folder}: no logs can be written there ({error.strerror}); name another folder with --log") from None
    return folder.resolve()


def _check_shared_maps(folder: Path) -> None:
    """Logs are written through shared memory maps, which some file systems do not have."""
    probe = folder / ".probe"
    try:
        with probe.open("w+b") as file:
            file.truncate(PROBE_BYTES)
            with mmap.mmap(file.fileno(), PROBE_BYTES, mmap.MAP_SHARED) as memory:
                memory[0] = 1
    finally:
        probe.unlink(missing_ok=True)


def own_environment() -> dict[str, str]:
    """The environment that this process was started with. Python itself adds LC_CTYPE where the locale is C."""
    environment = dict(os.environ)
    with contextlib.suppress(OSError):
        if not any(entry.startswith(b"LC_CTYPE=") for entry in Path("/proc/self/environ").read_bytes().split(b"\0")):
            environment.pop("LC_CTYPE", None)
    return environment


def traced_environment(
    folder: Path, budget_bytes: int, environment: Mapping[str, str] = os.environ, *, follow: bool = True
) -> dict[str, str]:
    """The environment with the tracer's variables. A library that is preloaded already stays behind the tracer's."""
    others = environment.get(PRELOAD_KEY, "")
    preload = f"{preload_library()}{' ' + others if others else ''}"
    ours = {PRELOAD_KEY: preload, FOLDER_KEY: str(folder), BUDGET_KEY: str(budget_bytes)}
    return {**environment, **ours, **({} if follow else {FOLLOW_KEY: "off"})}


def recording_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The tracer's variables of this process, for ranks that it starts elsewhere. Empty where this process is not recorded."""
    if FOLDER_KEY not in environment:
        return {}
    return {key: environment[key] for key in KEYS if key in environment}


def traced_command(command: Sequence[str], *, follow: bool = True) -> list[str]:
    """The command, with the options that its launcher needs to trace ranks on all nodes. Raises NotTraceable."""
    if shutil.which(command[0]) is None:
        if Path(command[0]).is_file():
            raise NotTraceable(f"{command[0]}: not executable; chmod +x it, or name its interpreter before it")
        raise NotTraceable(f"{command[0]}: no such program; name one on the PATH, or by its path")
    return pass_to_ranks(command, KEYS if follow else (*KEYS, FOLLOW_KEY))
