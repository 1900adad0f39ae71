"""The keeper in a worker process: runs the commands of members, one after the other, and ends all processes that they started.

The worker is a child subreaper (prctl(2)): a process that a command leaves running becomes the worker's child. So no process of the
member is left when the worker has no child. When the parent of the worker ends, the keeper ends the member, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import glob
import os
import resource
import select
import signal
import time
from typing import Any

from tailrace.ensemble import cgroup
from tailrace.ensemble.memory import POLL_S, MemoryLimit

PR_SET_CHILD_SUBREAPER = 36
LEASE_S = 10.0  # how long an output may stay open for writing after all processes of the member have ended
KILL_S = 20.0  # how long to wait after SIGKILL for a process to end: one that does not end waits for a device
MOST_WAIT_S = 1e6
BYTES_PER_MIB = 1 << 20


class ParentEndedError(Exception):
    """Raised if the parent process has ended, which would read the reply."""


_environment: dict[str, str] = {}
_home = -1  # the directory in which this process was started
_woken = -1  # the read end of a pipe that gets a byte for each SIGCHLD
_events = select.poll()


_parent = -1  # the file descriptor from which requests are read: it is closed when the parent ends


def begin(parent: int) -> None:
    """Makes this process a keeper. Raises OSError."""
    global _parent, _home, _woken
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl(PR_SET_CHILD_SUBREAPER): {os.strerror(number)}")
    for one in (signal.SIGINT, signal.SIGHUP, signal.SIGIO, signal.SIGPIPE):  # a lease that is broken sends SIGIO
        signal.signal(one, signal.SIG_IGN)
    _environment.update(os.environ)
    _home = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    _woken, wakes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _parent = parent
    _events.register(_woken, select.POLLIN)
    _events.register(parent, 0)  # reports only that the other end was closed


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Runs one command, until all its processes have ended. `reason` of the reply is a key of tailrace.ensemble.values.REASONS, or
    ""."""
    os.chdir(request["directory"])
    try:
        return _run_in_directory(request)
    finally:
        os.fchdir(_home)


def _run_in_directory(request: dict[str, Any]) -> dict[str, Any]:
    begin = time.monotonic()
    environment = {**_environment, **request["environment"]}
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    command = request["command"]
    default = [signal.SIGINT, signal.SIGHUP, signal.SIGIO, signal.SIGPIPE, signal.SIGXFSZ]
    try:
        memory = cgroup.memory_limit(request["memory_by"]) if request["memory_mib"] else MemoryLimit()
        with memory.joined(request["memory_mib"] * BYTES_PER_MIB):
            pid = os.posix_spawnp(command[0], command, environment, file_actions=actions, setsid=True, setsigdef=default)
    except (OSError, cgroup.NoGroupError) as error:
        text = f"{error.filename or command[0]}: {error.strerror}" if isinstance(error, OSError) else str(error)
        return {"reason": "start", "message": text, "run_s": 0.0, "wait_s": 0.0}
    _collected.clear()
    reason = _watch(pid, begin + request["timeout_s"], memory)
    if reason:
        end_all(request["grace_s"])
    status, usage = _collected.pop(pid, (None, None))
    ended = time.monotonic()
    left = 0
    if not reason:
        reason, left = _wait_for_all(ended + request["linger_s"], memory)
        if reason:
            end_all(request["grace_s"])
    code = os.waitstatus_to_exitcode(status) if status is not None else None
    reply: dict[str, Any] = {"reason": reason, "message": "", "status": code, "left": left, "run_s": ended - begin}
    if usage is not None:
        # Before exec, a child has this process's memory. So ru_maxrss of the child counts only if it is above this process's own.
        own_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        known_mib = max(memory.peak_bytes / BYTES_PER_MIB, usage.ru_maxrss / 1024 if usage.ru_maxrss > own_kib else 0.0)
        reply |= {"cpu_s": usage.ru_utime + usage.ru_stime, "memory_mib": known_mib or None}
    reply |= {"memory_limit": memory.kept_by or None, "killed": memory.has_killed()}
    if not reason and code == 0:
        reply |= hand_over(request["outputs"], LEASE_S)
        if not reply["reason"]:
            reply["closed"] = closed_of(request["inputs"])
    return {**reply, "wait_s": time.monotonic() - ended}


_collected: dict[int, Any] = {}  # process id -> (wait status, resource usage) of processes that have ended


def _watch(pid: int, deadline: float, memory: MemoryLimit) -> str:
    """Waits for the command's own process. Returns "" when it has ended, or the reason why it must be ended."""
    while True:
        _reap()
        if pid in _collected:
            return ""
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return "timeout"
        _wait_for_event(memory.interval_s(left_s))
        if memory.is_over(descendants):
            return "memory"


def _wait_for_all(deadline: float, memory: MemoryLimit) -> tuple[str, int]:
    """Waits until no process of the member is left. Returns why those that are left must be ended, and how many there are."""
    while _reap():
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return "left running", len(descendants())
        _wait_for_event(memory.interval_s(left_s))
        if memory.is_over(descendants):
            return "memory", len(descendants())
    return "memory" if memory.has_killed() else "", 0


def _wait_for_event(most_s: float, ignores_end: bool = False) -> None:
    """Waits until a child has ended, at most `most_s` seconds. Raises ParentEndedError if the parent has ended."""
    found = dict(_events.poll(1000 * min(max(most_s, 0), MOST_WAIT_S) + 1))
    if _woken in found:
        os.read(_woken, 4096)
    elif found and ignores_end:
        time.sleep(min(most_s, 0.002))
    if _parent in found and not ignores_end:
        raise ParentEndedError


def _reap() -> bool:
    """Collects the status of children that have ended. Returns whether a child is left."""
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        _collected[pid] = (status, usage)


def end_all(grace_s: float) -> None:
    """Sends SIGTERM to all processes of the member, and after `grace_s` seconds SIGKILL to those that are left: processes that are
    stopped or ignore SIGTERM."""
    for pid in descendants() if grace_s > 0 else ():
        _send(pid, signal.SIGTERM)
    end = time.monotonic() + grace_s
    while _reap() and time.monotonic() < end:
        _wait_for_event(end - time.monotonic(), ignores_end=True)
    end = time.monotonic() + KILL_S
    while _reap() and time.monotonic() < end:
        for pid in descendants():
            _send(pid, signal.SIGKILL)
        _wait_for_event(0.002, ignores_end=True)  # children of a killed process become children of this one


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def descendants() -> list[int]:
    """The processes below this one that have not ended."""
    found: list[int] = []
    ahead = [os.getpid()]
    while ahead:
        below = _children(ahead.pop())
        found += below
        ahead += below
    return found


def _children(pid: int) -> list[int]:
    found = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            continue
    return found


def hand_over(patterns: list[str], within_s: float) -> dict[str, Any]:
    """Each output with its size, time and inode, taken while no process had it open for writing. Relative to the working directory,
    which is the member's."""
    found: dict[str, Any] = {}
    leases = "held"
    for pattern in patterns:
        names = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        for name in names or [pattern]:
            try:
                state, leased = _leased_state(name, within_s)
            except FileNotFoundError:
                return {"reason": "missing", "message": f"{name}: no such file"}
            except OSError as error:
                return {"reason": "missing", "message": f"{name}: {error.strerror}"}
            if state is None:
                return {
                    "reason": "open",
                    "message": f"{name}: still open for writing {within_s:g} s after the member's processes ended",
                }
            found[name] = state
            leases = leases if leased else "not supported here"
    return {"outputs": found, "leases": leases}


def _leased_state(name: str, within_s: float) -> tuple[list[int] | None, bool]:
    """([size in bytes, time of the last change in ns, inode number], whether the file system supports leases). The list is None if
    the file stayed open for writing for `within_s` seconds."""
    end, delay = time.monotonic() + within_s, 0.001
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while True:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
                leased = True
            except OSError as error:
                leased = False
                if error.errno == errno.EAGAIN:
                    if time.monotonic() > end:
                        return None, True
                    time.sleep(delay)
                    delay = min(2 * delay, POLL_S)
                    continue
            found = os.fstat(descriptor)
            if leased:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            return [found.st_size, found.st_mtime_ns, found.st_ino], leased
    finally:
        os.close(descriptor)


def closed_of(names: list[str]) -> list[str]:
    """The files that no process has open for writing, by the kernel's leases. Empty if the file system does not support leases."""
    found = []
    for name in names:
        with contextlib.suppress(OSError):
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                found.append(name)
            finally:
                os.close(descriptor)
    return found
