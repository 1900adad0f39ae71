"""Runs one program to its end, in a process group of its own. The whole group is ended after a time limit or an interruption."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TAIL_BYTES = 4000
NOT_STARTED = 127  # exit status of a program that could not be started, as in shells
# mpirun starts its ranks in groups of their own. It ends them after SIGTERM, for which it needs time, and not when it is killed.
GRACE_S = 3.0


@dataclass(frozen=True)
class Finished:
    exit_code: int  # negative: ended by that signal
    wall_s: float
    user_s: float  # of its children, too, if it waited for them: mpirun's ranks
    system_s: float
    timed_out: bool


def run_program(
    command: Sequence[str], environment: Mapping[str, str], directory: Path, stdout: Path, stderr: Path, timeout_s: float
) -> Finished:
    """Runs a program to its end. Makes the files `stdout` and `stderr`. If it cannot be started, its exit status is NOT_STARTED."""
    with stdout.open("wb") as out, stderr.open("wb") as err:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                [*_ends_with_parent(), *command],
                cwd=directory,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            err.write(f"{command[0]}: {error.strerror}\n".encode())
            return Finished(NOT_STARTED, 0.0, 0.0, 0.0, timed_out=False)
        try:
            in_time = _wait(process.pid, timeout_s)
        except BaseException:
            _end_group(process.pid)
            process.wait()
            raise
        if not in_time:
            _end_group(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        _kill_group(process.pid)  # processes that the program left running would disturb the next run
    return Finished(process.returncode, wall_s, usage.ru_utime, usage.ru_stime, timed_out=not in_time)


def tail(path: Path) -> str:
    """The last TAIL_BYTES bytes of a file as text. Programs report their errors there."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return file.read().decode(errors="replace").strip()
    return ""


def _ends_with_parent() -> list[str]:
    """Words before a command, so that the kernel ends it when this process is killed. Otherwise a run would still write while its
    study is continued."""
    return ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []


def _wait(pid: int, timeout_s: float) -> bool:
    """Whether the process ended within the time. Its status has still to be collected."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], timeout_s)[0])
    finally:
        os.close(descriptor)


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    _wait(pid, GRACE_S)
    _kill_group(pid)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
