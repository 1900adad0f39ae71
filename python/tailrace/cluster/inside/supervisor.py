"""The first process of a cluster: it makes the nodes and the network, and serves requests at the door until the cluster ends.

All processes of the cluster are in its process namespace; its mounts and links are in its other namespaces. So the kernel ends
everything with it, however it ends. One process stays outside, the keeper. It waits for that end and removes the control groups,
which would stay. The supervisor ends with its starter, unless the starter asked it to stay, and with its keeper.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import select
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from . import disk, fuse, kernel, network, node, throttle, wire
from .paths import AGENT, DOOR, SCRATCH, SHARED

Reply = dict[str, Any] | None  # None: another process replies
BACKLOG = 64  # connections that wait to be accepted
STARTER_POLL_S = 0.2
KEEPER_POLL_MS, END_POLL_S = 500, 0.02
LOG = f"{SHARED}/supervisor.log"
UNSHARED = kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC


def main() -> None:
    """argv: the descriptor of the connection to the starter, which sends the description of the cluster."""
    starter = socket.socket(fileno=int(sys.argv[1]))
    starter.set_inheritable(False)
    described, _ = wire.receive(starter)
    if described is None:
        return
    door = wire.new_socket()
    try:
        door.bind(f"{wire.PREFIX}{described['name']}")
    except OSError as error:
        wire.send(starter, {"error": str(error), "is_up": error.errno == errno.EADDRINUSE})
        return
    door.listen(BACKLOG)  # here and not later: a caller sees the process that began to listen, so the keeper, which ends last
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    keeper_gone, alive = os.pipe2(os.O_CLOEXEC)
    kernel.unshare(kernel.CLONE_NEWPID)
    supervisor = os.fork()
    if supervisor == 0:
        os.close(alive)
        live(described, starter, door, keeper_gone)
    keep(described["name"], supervisor, starter, door, keeper_gone)


def keep(cluster: str, supervisor: int, starter: socket.socket, door: socket.socket, keeper_gone: int) -> None:
    kernel.name_process("cluster keeper")
    starter.close()
    door.close()
    os.close(keeper_gone)
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_SLAVE)
    ended = select.poll()
    ended.register(os.pidfd_open(supervisor), select.POLLIN)
    while not ended.poll(KEEPER_POLL_MS):
        if is_killed(supervisor):
            fuse.abort_connections(family_of(supervisor))
            throttle.lift_limits(cluster)
    os.wait()
    throttle.sweep(cluster)


def is_killed(process: int) -> bool:
    """A killed process has no program any more. It exists until the kernel has ended all processes in its namespace."""
    try:
        os.readlink(f"/proc/{process}/exe")
    except OSError:
        return True
    return False


def family_of(process: int | str) -> list[str]:
    """The process and its descendants."""
    try:
        with open(f"/proc/{process}/task/{process}/children") as children:
            of_process = children.read().split()
    except OSError:  # it has just ended
        of_process = []
    return [str(process), *(member for child in of_process for member in family_of(child))]


def live(described: dict[str, Any], starter: socket.socket, door: socket.socket, keeper_gone: int) -> None:
    """Never returns."""
    try:
        watch_starter(starter)
        kernel.name_process("cluster")
        kernel.unshare(UNSHARED)
        make_mounts(described)
        supervisor = Supervisor(described, starter, door, keeper_gone)
        supervisor.start()
        signal.setitimer(signal.ITIMER_REAL, 0)
        wire.send(starter, {"ok": True})
    except BaseException as error:
        with contextlib.suppress(OSError):
            wire.send(starter, {"error": str(error) or type(error).__name__})
        end(described["name"])
    try:
        supervisor.serve()
    finally:
        end(described["name"])


def watch_starter(starter: socket.socket) -> None:
    """While the cluster is being made, nothing reads the connection to the starter. So a timer polls it, and interrupts the work
    when the starter is gone."""
    hung_up = select.poll()
    hung_up.register(starter, select.POLLHUP)

    def poll(number: int, frame: FrameType | None) -> None:
        if hung_up.poll(0):
            raise InterruptedError("the starter is gone")

    signal.signal(signal.SIGALRM, poll)
    signal.setitimer(signal.ITIMER_REAL, STARTER_POLL_S, STARTER_POLL_S)


def make_mounts(described: dict[str, Any]) -> None:
    """Makes mounts that the machine does not see. Where the machine unmounts something, it is unmounted here, too."""
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_SLAVE)
    kernel.mount("proc", "/proc", "proc")
    kernel.mount_memory("/run", node.SMALL_BYTES)
    os.mkdir(SHARED)
    with open(f"{SHARED}/hosts", "w") as hosts:
        hosts.write(described["hosts_table"])
    with open(AGENT, "w") as agent:
        agent.write(described["agent"])
    os.chmod(agent.name, 0o755)
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nowhere), (1, log), (2, log)):
        os.dup2(source, target)


def end(cluster: str) -> None:
    """Ends all processes first, so that the control groups are empty. Never returns."""
    throttle.lift_limits(cluster)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                fuse.abort_connections(name for name in os.listdir("/proc") if name.isdecimal())
                time.sleep(END_POLL_S)
    throttle.sweep(cluster)
    os._exit(0)


class Supervisor:
    def __init__(self, described: dict[str, Any], starter: socket.socket, door: socket.socket, keeper_gone: int) -> None:
        self.described = described
        self.hosts = {host["name"]: host for host in described["hosts"]}
        self.network = network.network_of(described["network"])
        self.links: dict[str, network.Link] = {}
        self.channels: dict[str, socket.socket] = {}
        self.pids: dict[str, int] = {}  # only of nodes that live: the kernel reuses the numbers of ended processes
        self.notes: dict[str, dict[str, Any]] = {}
        self.ends_with_starter = True
        self.is_ending = False
        self.door = door
        self.starter = starter
        self.keeper_gone = keeper_gone
        self.selector = selectors.DefaultSelector()

    def start(self) -> None:
        for name, host in self.hosts.items():
            self.channels[name], self.pids[name] = self.start_node(host)
        for name, channel in self.channels.items():
            answer, _ = wire.receive(channel)
            if answer is None or "error" in answer:
                raise OSError(answer["error"] if answer else f"node {name} ended")
        self.network.start(self.pids)
        network.configure_nodes(self.pids, {name: host["address"] for name, host in self.hosts.items()})
        for name, link in self.described["links"].items():
            self.set_link(name, link)

    def start_node(self, host: dict[str, Any]) -> tuple[socket.socket, int]:
        """Starts a node's first process. It takes two forks: a process that unshares its process namespace is not in the new one
        itself, but its child is."""
        ours, theirs = wire.pair()
        receive_pid, send_pid = os.pipe2(os.O_CLOEXEC)
        between = os.fork()
        if between == 0:
            kernel.unshare(UNSHARED | kernel.CLONE_NEWPID)
            pid = os.fork()
            if pid == 0:
                os.close(receive_pid)
                os.close(send_pid)
                try:
                    self.close_for_node(ours)
                    node.live(host, theirs)
                finally:
                    os._exit(1)  # otherwise this process would continue as a second supervisor
            os.write(send_pid, str(pid).encode())
            os._exit(0)
        theirs.close()
        os.close(send_pid)  # otherwise the read below would never end where the process between has failed
        os.waitpid(between, 0)
        pid_text = os.read(receive_pid, 32)
        os.close(receive_pid)
        if not pid_text:
            raise OSError(f"node {host['name']} has no process")
        return ours, int(pid_text)

    def close_for_node(self, ours: socket.socket) -> None:
        """Closes the supervisor's descriptors in a node. Otherwise the other ends of these would not be closed with the
        supervisor."""
        for end_ in (ours, self.door, self.starter, *self.channels.values()):
            end_.close()
        os.close(self.keeper_gone)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def serve(self) -> None:
        inner = wire.new_socket()
        inner.bind(DOOR)
        inner.listen(BACKLOG)
        for listening in (self.door, inner):
            self.watch(listening, partial(self.open_door, listening))
        self.watch(self.starter, self.listen_to_starter)
        self.watch(self.keeper_gone, self.finish)
        signal.signal(signal.SIGTERM, lambda number, frame: self.finish())
        while not self.is_ending:
            ready = self.selector.select(1.0)
            self.reap()
            for key, _ in ready:
                key.data()

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                self.pids = {name: of for name, of in self.pids.items() if of != pid}
                self.network.reaped(pid)

    def refuse_ended(self, name: str) -> None:
        if name not in self.hosts:
            raise OSError(f"no node is called '{name}'; choose one of {', '.join(self.hosts)}")
        if name not in self.pids:
            raise OSError(f"{name} has ended: its first process was killed. {self.remedy()}")

    def remedy(self) -> str:
        name = self.described["name"]
        return f"Make the cluster anew: `tailrace cluster down -c {name}`, then `tailrace cluster up -c {name}`"

    def watch(self, what: Any, action: Callable[[], None]) -> None:
        self.selector.register(what, selectors.EVENT_READ, action)

    def finish(self) -> None:
        self.is_ending = True

    def listen_to_starter(self) -> None:
        try:
            message, _ = wire.receive(self.starter)
        except OSError:  # the starter is gone and has not read the last reply
            message = None
        if message is not None and message.get("do") == "stay":
            self.ends_with_starter = False
            with contextlib.suppress(OSError):
                wire.send(self.starter, {"ok": True})
        elif message is None:
            self.selector.unregister(self.starter)
            self.is_ending = self.ends_with_starter

    def open_door(self, listening: socket.socket) -> None:
        try:
            caller, _ = listening.accept()
        except OSError:  # the caller is gone, or no descriptor is left; the cluster continues
            return
        caller.settimeout(None)
        wire.widen(caller)
        is_root = wire.peer_of(caller)[1] == 0
        self.watch(caller, partial(self.reply_to if is_root else self.refuse, caller))

    def refuse(self, caller: socket.socket) -> None:
        """Reads the request first: otherwise the caller would see a closed connection and not the reply."""
        with contextlib.suppress(OSError):
            _, descriptors = wire.receive(caller)
            for descriptor in descriptors:
                os.close(descriptor)
            wire.send(caller, {"error": "only root may use a cluster: run the command as root, or with sudo"})
        self.dismiss(caller)

    def reply_to(self, caller: socket.socket) -> None:
        try:
            message, descriptors = wire.receive(caller)
        except OSError:
            message, descriptors = None, []
        if message is None:
            self.dismiss(caller)
            return
        try:
            reply = self.do(message, caller, descriptors)
        except Exception as error:  # no request may end the cluster
            reply = {"error": str(error) or type(error).__name__}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        try:
            if reply is None:
                self.dismiss(caller)  # the node has the connection now
            else:
                wire.send(caller, reply)
        except OSError:
            self.dismiss(caller)

    def dismiss(self, caller: socket.socket) -> None:
        self.selector.unregister(caller)
        caller.close()

    def do(self, message: dict[str, Any], caller: socket.socket, descriptors: list[int]) -> Reply:
        action = message.get("do")
        if action == "exec":
            return self.hand_over(message, caller, descriptors)
        if action == "describe":
            links = {name: dataclasses.asdict(link) for name, link in self.links.items()}
            ended = {"ended": [name for name in self.hosts if name not in self.pids], "switch_ended": self.network.has_ended}
            return {
                **self.described,
                **ended,
                "links": links,
                "pids": self.pids,
                "notes": self.notes,
                "ends_with_starter": self.ends_with_starter,
            }
        if action == "link":
            self.set_link(message["node"], message["changes"])
        elif action == "note":
            self.note(message["kind"], message["key"], message["value"])
        elif action == "limit disk":
            self.limit_disk(message["node"], message["bytes_per_s"])
        elif action == "end":
            self.finish()
        else:
            return {"error": f"'{action}' is not a request that a cluster knows"}
        return {"ok": True}

    def hand_over(self, message: dict[str, Any], caller: socket.socket, descriptors: list[int]) -> Reply:
        name = message["node"]
        self.refuse_ended(name)
        if len(descriptors) != 3:
            return {"error": "three descriptors are needed, for the standard streams"}
        try:
            wire.send(self.channels[name], message, [caller.fileno(), *descriptors], socket.MSG_DONTWAIT)
        except ConnectionError:  # the node is ending, and is collected when its processes are gone
            del self.pids[name]
            self.refuse_ended(name)
        return None

    def note(self, kind: str, key: str, value: Any) -> None:
        """Stores one entry, so that callers at the same time do not overwrite each other's. None removes it."""
        entries = self.notes.setdefault(kind, {})
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value

    def set_link(self, name: str, changes: dict[str, Any]) -> None:
        self.refuse_ended(name)
        if self.network.has_ended:
            raise OSError(f"{name}: the switch was killed, and no link carries packets. {self.remedy()}")
        wanted = dataclasses.replace(self.links.get(name, network.Link()), **changes)
        self.network.set_link(name, wanted, self.pids[name])
        self.links[name] = wanted

    def limit_disk(self, name: str, bytes_per_s: int) -> None:
        self.refuse_ended(name)
        pid = self.pids[name]
        device = disk.device_of(f"/proc/{pid}/root{SCRATCH}")
        group = throttle.group_of(self.described["name"], name)
        throttle.limit(group, device, bytes_per_s, os.readlink(f"/proc/{pid}/ns/pid"))
