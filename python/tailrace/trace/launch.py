"""Starting a program with the tracer: its environment, and the options that its launcher needs."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailrace import installed
from tailrace.launch.mpi import pass_to_ranks
from tailrace.trace.log_folder import OWNER, NotTraceable

LIBRARY = "libtailrace-preload.so"
FOLDER_KEY, BUDGET_KEY, PRELOAD_KEY = "TAILRACE_TRACE", "TAILRACE_TRACE_BYTES", "LD_PRELOAD"
FOLLOW_KEY = "TAILRACE_TRACE_FOLLOW"
SHARE_KEY = "TAILRACE_TRACE_SHARE"
KEYS = (PRELOAD_KEY, FOLDER_KEY, BUDGET_KEY)  # the variables of each process of a recorded run
PLACE_KEY = "TAILRACE_PLACE"
OPTIONAL_KEYS = (SHARE_KEY, FOLLOW_KEY, PLACE_KEY)
DEFAULT_BUDGET_BYTES = 64 << 20  # of log for each process; later calls are only counted


def preload_library() -> Path:
    """The tracer's library. Raises NotTraceable."""
    library = installed.find("lib", LIBRARY)
    if library is None:
        raise NotTraceable(installed.missing(LIBRARY))
    if set(str(library)) & set(" :"):
        raise NotTraceable(f"{library}: spaces and colons separate the names in {PRELOAD_KEY}; install in a folder without them")
    return library


def own_environment() -> dict[str, str]:
    """The environment that this process was started with. Python itself adds LC_CTYPE where the locale is C."""
    environment = dict(os.environ)
    with contextlib.suppress(OSError):
        if not any(entry.startswith(b"LC_CTYPE=") for entry in Path("/proc/self/environ").read_bytes().split(b"\0")):
            environment.pop("LC_CTYPE", None)
    return environment


def traced_environment(
    folder: Path, budget_bytes: int, environment: Mapping[str, str] = os.environ, *, follow: bool = True, share: str = OWNER
) -> dict[str, str]:
    """The environment with the tracer's variables. A library that is preloaded already stays behind the tracer's."""
    others = environment.get(PRELOAD_KEY, "")
    preload = f"{preload_library()}{' ' + others if others else ''}"
    ours = {PRELOAD_KEY: preload, FOLDER_KEY: str(folder), BUDGET_KEY: str(budget_bytes)}
    if not follow:
        ours[FOLLOW_KEY] = "off"
    if share != OWNER:
        ours[SHARE_KEY] = share
    return {**environment, **ours}


def placed_environment(
    variables: Mapping[str, str], environment: Mapping[str, str] = os.environ, *, follow: bool = True
) -> dict[str, str]:
    """The environment of a run that is not recorded, with the variables that place its files."""
    others = environment.get(PRELOAD_KEY, "")
    ours = {PRELOAD_KEY: f"{preload_library()}{' ' + others if others else ''}", **({} if follow else {FOLLOW_KEY: "off"})}
    return {**environment, **ours, **variables}


def recording_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The tracer's variables of this process, for ranks that it starts elsewhere. Empty where this process is not recorded."""
    if FOLDER_KEY not in environment:
        return {}
    return {key: environment[key] for key in (*KEYS, *OPTIONAL_KEYS) if key in environment}


def traced_command(
    command: Sequence[str], *, follow: bool = True, share: str = OWNER, trace: bool = True, more: Sequence[str] = ()
) -> list[str]:
    """The command, with the options that its launcher needs to trace ranks on all nodes. `more`: further variables for them. Raises
    NotTraceable."""
    if shutil.which(command[0]) is None:
        if Path(command[0]).is_file():
            raise NotTraceable(f"{command[0]}: not executable; chmod +x it, or name its interpreter before it")
        raise NotTraceable(f"{command[0]}: no such program; name one on the PATH, or by its path")
    asked = [*([] if share == OWNER else [SHARE_KEY]), *([] if follow else [FOLLOW_KEY])]
    return pass_to_ranks(command, (*(KEYS if trace else (PRELOAD_KEY,)), *asked, *more))
