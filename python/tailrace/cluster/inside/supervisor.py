"""The first process of a cluster: it makes the nodes and the network, and stands at the door until the cluster ends.

All processes of the cluster are in its process namespace, its mounts and links in its other namespaces: however it ends, the kernel
ends everything. Outside stays one process, the keeper: it waits for that end and removes the control groups, which would stay.
The supervisor ends when its starter is gone, unless it was told to stay, and when its keeper is gone.
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

Answer = dict[str, Any] | None
WAITING = 64
LOOK_S = 0.2
KEEPER_LOOKS_MS, END_LOOKS_S = 500, 0.02
LOG = f"{SHARED}/supervisor.log"
UNSHARED = kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC


def main() -> None:
    """argv: the descriptor of the starter's end, from which the description of the cluster comes."""
    starter = socket.socket(fileno=int(sys.argv[1]))
    starter.set_inheritable(False)
    described, _ = wire.receive(starter)
    if described is None:
        return
    door = wire.new_socket()
    try:
        door.bind(f"{wire.PREFIX}{described['name']}")
    except OSError as error:
        wire.send(starter, {"error": "up" if error.errno == errno.EADDRINUSE else str(error)})
        return
    door.listen(WAITING)  # here: who connects sees the process that listened, the keeper, which ends last
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
    while not ended.poll(KEEPER_LOOKS_MS):
        if is_killed(supervisor):
            fuse.let_go(family_of(supervisor))
            throttle.let_go(cluster)
    os.wait()
    throttle.sweep(cluster)


def is_killed(process: int) -> bool:
    """It has no program any more, and is there until the kernel has ended all that is in its namespace."""
    try:
        os.readlink(f"/proc/{process}/exe")
    except OSError:
        return True
    return False


def family_of(process: int | str) -> list[str]:
    """It and its descendants."""
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
        make_room(described)
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
    """While the cluster is being made, nobody looks at what the starter sends: interrupts whatever is under way when it is gone."""
    hung_up = select.poll()
    hung_up.register(starter, select.POLLHUP)

    def look(number: int, frame: FrameType | None) -> None:
        if hung_up.poll(0):
            raise InterruptedError("the starter is gone")

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)


def make_room(described: dict[str, Any]) -> None:
    """Mounts that the machine does not see, while what it unmounts is unmounted here as well."""
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
    """All processes first, so that the control groups are empty."""
    throttle.let_go(cluster)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                fuse.let_go(name for name in os.listdir("/proc") if name.isdecimal())
                time.sleep(END_LOOKS_S)
    throttle.sweep(cluster)
    os._exit(0)


class Supervisor:
    def __init__(self, described: dict[str, Any], starter: socket.socket, door: socket.socket, keeper_gone: int) -> None:
        self.described = described
        self.hosts = {host["name"]: host for host in described["hosts"]}
        self.network = network.network_of(described["network"])
        self.links: dict[str, network.Link] = {}
        self.channels: dict[str, socket.socket] = {}
        self.pids: dict[str, int] = {}  # of the nodes that live: the kernel gives the numbers of others to new processes
        self.notes: dict[str, dict[str, Any]] = {}
        self.tied = True
        self.asked_to_end = False
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
        """Two forks: the process that unshares process namespaces is not in the new one, but its child is."""
        ours, theirs = wire.pair()
        told, tell = os.pipe2(os.O_CLOEXEC)
        between = os.fork()
        if between == 0:
            kernel.unshare(UNSHARED | kernel.CLONE_NEWPID)
            pid = os.fork()
            if pid == 0:
                os.close(told)
                os.close(tell)
                try:
                    self.leave_to_node(ours)
                    node.live(host, theirs)
                finally:
                    os._exit(1)  # what comes back here would go on as another supervisor
            os.write(tell, str(pid).encode())
            os._exit(0)
        theirs.close()
        os.close(tell)  # otherwise a process between that has failed would be waited for
        os.waitpid(between, 0)
        answer = os.read(told, 32)
        os.close(told)
        if not answer:
            raise OSError(f"node {host['name']} has no process")
        return ours, int(answer)

    def leave_to_node(self, ours: socket.socket) -> None:
        """A node holds nothing of the supervisor's: its ends of others would tell nobody that the supervisor is gone."""
        for end_ in (ours, self.door, self.starter, *self.channels.values()):
            end_.close()
        os.close(self.keeper_gone)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def serve(self) -> None:
        inner = wire.new_socket()
        inner.bind(DOOR)
        inner.listen(WAITING)
        for listening in (self.door, inner):
            self.watch(listening, partial(self.open_door, listening))
        self.watch(self.starter, self.listen_to_starter)
        self.watch(self.keeper_gone, self.finish)
        signal.signal(signal.SIGTERM, lambda number, frame: self.finish())
        while not self.asked_to_end:
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
            raise OSError(f"no node is called '{name}'; there are {', '.join(self.hosts)}")
        if name not in self.pids:
            raise OSError(f"{name} has ended: its first process was killed. {self.remedy()}")

    def remedy(self) -> str:
        name = self.described["name"]
        return f"Nothing brings it back: `tailrace cluster down -c {name}`, and `up` again"

    def watch(self, what: Any, action: Callable[[], None]) -> None:
        self.selector.register(what, selectors.EVENT_READ, action)

    def finish(self) -> None:
        self.asked_to_end = True

    def listen_to_starter(self) -> None:
        try:
            message, _ = wire.receive(self.starter)
        except OSError:  # gone, and has not read our answer
            message = None
        if message is not None and message.get("do") == "stay":
            self.tied = False
            with contextlib.suppress(OSError):
                wire.send(self.starter, {"ok": True})
        elif message is None:
            self.selector.unregister(self.starter)
            self.asked_to_end = self.tied

    def open_door(self, listening: socket.socket) -> None:
        try:
            caller, _ = listening.accept()
        except OSError:  # gone already, or no descriptor is left: the cluster outlives its callers
            return
        caller.settimeout(None)
        wire.widen(caller)
        is_root = wire.peer_of(caller)[1] == 0
        self.watch(caller, partial(self.answer if is_root else self.refuse, caller))

    def refuse(self, caller: socket.socket) -> None:
        """What it asks is read first, otherwise it would see an end without an answer."""
        with contextlib.suppress(OSError):
            _, descriptors = wire.receive(caller)
            for descriptor in descriptors:
                os.close(descriptor)
            wire.send(caller, {"error": "only root may use a cluster"})
        self.dismiss(caller)

    def answer(self, caller: socket.socket) -> None:
        try:
            message, descriptors = wire.receive(caller)
        except OSError:
            message, descriptors = None, []
        if message is None:
            self.dismiss(caller)
            return
        try:
            reply = self.do(message, caller, descriptors)
        except Exception as error:  # whatever a caller asks for: the cluster goes on
            reply = {"error": str(error) or type(error).__name__}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        try:
            if reply is None:
                self.dismiss(caller)  # the node has it now
            else:
                wire.send(caller, reply)
        except OSError:
            self.dismiss(caller)

    def dismiss(self, caller: socket.socket) -> None:
        self.selector.unregister(caller)
        caller.close()

    def do(self, message: dict[str, Any], caller: socket.socket, descriptors: list[int]) -> Answer:
        action = message.get("do")
        if action == "exec":
            return self.hand_over(message, caller, descriptors)
        if action == "describe":
            links = {name: dataclasses.asdict(link) for name, link in self.links.items()}
            ended = {"ended": [name for name in self.hosts if name not in self.pids], "switch_ended": self.network.has_ended}
            return {**self.described, **ended, "links": links, "pids": self.pids, "notes": self.notes, "tied": self.tied}
        if action == "link":
            self.set_link(message["node"], message["changes"])
        elif action == "note":
            self.note(message["kind"], message["key"], message["value"])
        elif action == "hold up":
            self.hold_up(message["node"], message["bytes_per_s"])
        elif action == "end":
            self.finish()
        else:
            return {"error": f"'{action}' is nothing that a cluster does"}
        return {"ok": True}

    def hand_over(self, message: dict[str, Any], caller: socket.socket, descriptors: list[int]) -> Answer:
        name = message["node"]
        self.refuse_ended(name)
        if len(descriptors) != 3:
            return {"error": "three descriptors are needed, for the standard streams"}
        try:
            wire.send(self.channels[name], message, [caller.fileno(), *descriptors], socket.MSG_DONTWAIT)
        except ConnectionError:  # it ends now, and is reaped when its processes are gone
            del self.pids[name]
            self.refuse_ended(name)
        return None

    def note(self, kind: str, key: str, value: Any) -> None:
        """One entry at a time, so that callers who note at the same time do not undo each other's. None: no longer."""
        entries = self.notes.setdefault(kind, {})
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value

    def set_link(self, name: str, changes: dict[str, Any]) -> None:
        self.refuse_ended(name)
        if self.network.has_ended:
            raise OSError(f"{name}: the switch has ended: it was killed, and no link carries anything. {self.remedy()}")
        wanted = dataclasses.replace(self.links.get(name, network.Link()), **changes)
        self.network.set_link(name, wanted, self.pids[name])
        self.links[name] = wanted

    def hold_up(self, name: str, bytes_per_s: int) -> None:
        self.refuse_ended(name)
        pid = self.pids[name]
        device = disk.device_of(f"/proc/{pid}/root{SCRATCH}")
        group = throttle.group_of(self.described["name"], name)
        throttle.hold_up(group, device, bytes_per_s, os.readlink(f"/proc/{pid}/ns/pid"))
