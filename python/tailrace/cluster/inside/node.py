"""The first process of a node: it makes the node's mounts, starts requested programs, and collects ended processes.

A caller requests a program from the supervisor, which passes the caller's connection to this process. The program's exit status
goes back through it. When the caller closes the connection, its program is ended, as a remote shell does.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from dataclasses import dataclass
from typing import Any

from . import disk, kernel, wire
from .paths import FILE_SYSTEM, SCRATCH, SHARED, TEMPORARY

GRACE_S = 2.0
NOT_FOUND = 127
SHELL_OF_SIGNAL = 128
SMALL_BYTES = 1 << 28
# Signals whose handling this process, the keeper or Python changed, and programs would inherit.
RESTORED = (
    signal.SIGCHLD,
    signal.SIGPIPE,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGXFSZ,
)


@dataclass
class Running:
    caller: socket.socket
    kill_at: float | None = None  # its caller is gone and SIGTERM was sent; SIGKILL follows at this time


def live(host: dict[str, Any], channel: socket.socket) -> None:
    """Never returns. `host`: name, disk; see tailrace.cluster.plan."""
    try:
        kernel.name_process(f"node {host['name']}")
        make_mounts(host)
    except BaseException as error:
        wire.send(channel, {"error": f"node {host['name']}: {error}"})
        os._exit(1)
    wire.send(channel, {"ok": True})
    Node(channel).serve()


def make_mounts(host: dict[str, Any]) -> None:
    """Makes the node's own view of the machine: host name, processes, scratch, temporary files, /run, and the table of hosts."""
    socket.sethostname(host["name"])
    shared = os.open(SHARED, os.O_PATH)
    kernel.mount_memory("/run", SMALL_BYTES)
    for folder in (SHARED, TEMPORARY, "/run/lock", "/run/user"):
        os.mkdir(folder)
    kernel.bind(f"/proc/self/fd/{shared}", SHARED)
    os.close(shared)
    kernel.bind(f"{SHARED}/hosts", "/etc/hosts")
    kernel.mount_memory("/dev/shm", host["memory_bytes"])
    kernel.mount_memory("/mnt", SMALL_BYTES)
    os.mkdir(SCRATCH)
    os.mkdir(FILE_SYSTEM)
    disk.mount(host["disk"], SCRATCH)
    kernel.mount("sysfs", "/sys", "sysfs")  # the machine's /sys shows the machine's interfaces
    kernel.mount("proc", "/proc", "proc")


class Node:
    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.running: dict[int, Running] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(channel, selectors.EVENT_READ, self.begin)
        waking, self.waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.selector.register(waking, selectors.EVENT_READ, lambda: os.read(waking, 4096))
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)

    def serve(self) -> None:
        while True:
            for key, _ in self.selector.select(self.until_next_kill_s()):
                key.data()
            self.reap()
            self.kill_overdue()

    def begin(self) -> None:
        message, descriptors = wire.receive(self.channel)
        if message is None:
            os._exit(0)  # the supervisor is gone
        if not descriptors:
            return  # the limit of open descriptors is reached; the caller sees its connection closed
        caller = socket.socket(fileno=descriptors[0])
        pid = -1
        with contextlib.suppress(OSError):
            pid = os.fork()
        if pid == 0:
            execute(message, descriptors[1:4])
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        if pid < 0:
            with contextlib.suppress(OSError):
                wire.send(caller, {"error": "no process could be started: the limit of processes or of memory is reached"})
            caller.close()
            return
        self.running[pid] = Running(caller)
        self.selector.register(caller, selectors.EVENT_READ, lambda: self.listen(pid))

    def listen(self, pid: int) -> None:
        """Passes a signal from the caller to the program; ends the program when the caller is gone."""
        entry = self.running.get(pid)
        if entry is None:
            return
        try:
            message, _ = wire.receive(entry.caller)
        except OSError:
            message = None
        if message is not None:
            signal_group(pid, message.get("signal", 0))
            return
        self.selector.unregister(entry.caller)
        signal_group(pid, signal.SIGTERM)
        entry.kill_at = time.monotonic() + GRACE_S

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                entry = self.running.pop(pid, None)
                if entry is None:
                    continue
                code = os.waitstatus_to_exitcode(status)
                if entry.kill_at is None:
                    self.selector.unregister(entry.caller)
                with contextlib.suppress(OSError):
                    wire.send(entry.caller, {"exit": code if code >= 0 else SHELL_OF_SIGNAL - code})
                entry.caller.close()

    def until_next_kill_s(self) -> float | None:
        deadlines = [entry.kill_at for entry in self.running.values() if entry.kill_at is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def kill_overdue(self) -> None:
        now = time.monotonic()
        for pid, entry in self.running.items():
            if entry.kill_at is not None and entry.kill_at <= now:
                signal_group(pid, signal.SIGKILL)
                entry.kill_at = now + GRACE_S


def signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(OSError, TypeError):  # the program has ended, or there is no such signal
        os.killpg(pid, number)


def execute(message: dict[str, Any], streams: list[int]) -> None:
    """In the new process: runs the requested program. Never returns: otherwise this process would continue as a second node."""
    try:
        os.setsid()
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        try:
            os.chdir(message["cwd"])
        except OSError as error:
            if not message["anywhere"]:
                raise OSError(f"{message['cwd']}: this node has no such folder ({error.strerror}): change to another one") from None
            os.chdir(TEMPORARY)
        os.execvpe(message["argv"][0], message["argv"], {**message["env"], "TMPDIR": TEMPORARY})
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{message['argv'][0]}: {error}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(NOT_FOUND)
