"""Starts an agent on each other node of a run, before its ranks, and sends orders to the standard input of the agents.

Every wait has a limit: an agent is lost if it sends nothing for some time, or if its connection ends."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.installed import PACKAGE
from tailrace.launch.job_nodes import JobNodes, Start
from tailrace.place.stage_rules import StageNode
from tailrace.stage.agent_lines import Reader
from tailrace.stage.order import StageOrder
from tailrace.stage.questions import KINDS, Bundles, Files, Questions

ANSWER_S = 60.0  # limit for the first message: many agents load Python from one shared file system at a time
SILENT_S = 30.0  # limit for later messages: an agent that works sends one every 2 s
END_S = 5.0  # limit for a remote shell to end when its input has ended
MOST_SAID_BYTES = 400  # of the standard error of a remote shell that are read for an error message
ENDED = "ended"  # the kind of message that this module adds when a connection has ended


@dataclass
class Agent:
    """The agent of one node."""

    name: str  # of the node, as its launcher or Slurm writes it
    node: StageNode | None = None  # None: there is no scratch folder
    is_here: bool = False  # the node has a folder already: it is that of the command, or has two names
    lost_because: str = ""  # why the agent is lost; "": it is not
    heard_s: float = 0.0  # monotonic time of its last message


class Connection:
    """A remote shell to one node, or a step of Slurm on all nodes. Lines that are written to it reach the agents of its nodes."""

    def __init__(self, start: Start, take: Callable[[Connection, str | None], None]) -> None:
        self.names = start.names
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  `end` closes it
        # A session of its own: a signal of the terminal is for the program.
        self._process = subprocess.Popen(
            start.words,
            env=dict(start.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
        )
        self._orders: queue.Queue[bytes | None] = queue.Queue()  # None: there are no more
        self._reader = threading.Thread(target=self._read, args=(take,), daemon=True)
        self._reader.start()
        # RATIONALE: a node that hangs reads nothing, so writing blocks when its pipe is full. Only this thread waits then.
        threading.Thread(target=self._write, daemon=True).start()

    def _read(self, take: Callable[[Connection, str | None], None]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            take(self, line.decode(errors="replace"))
        take(self, None)

    def write(self, line: bytes) -> None:
        self._orders.put(line)

    def _write(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, and its reader says so
            while (line := self._orders.get()) is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def last_words(self) -> str:
        """The last line on its standard error."""
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - MOST_SAID_BYTES))
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    def end(self) -> None:
        """Ends the input of its agents. Kills the remote shell if it does not end; an agent that delivers files continues on its
        node."""
        self._orders.put(None)
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(END_S)
        self._said.close()


class Agents:
    """Starts the agents, and waits until each has a folder on scratch or is lost. `say_left` is called with a node and a text
    about its files on scratch, some time after `name_left`."""

    def __init__(
        self,
        found: JobNodes,
        order: StageOrder,
        say_left: Callable[[StageNode, str], None] = lambda node, text: None,
        *,
        answer_s: float = ANSWER_S,
        silent_s: float = SILENT_S,
    ) -> None:
        self._silent_s = silent_s
        self._say_left = say_left
        self._heard: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self.agents = {name: Agent(name) for name in found.names}
        self.questions = Questions(self._order)
        self._connections: list[Connection] = []
        words = ["env", f"PYTHONPATH={_python_path()}", sys.executable, "-P", "-m", "tailrace.stage.node_agent"]
        try:
            for start in found.starts(words):
                self._start(start)
            message = {"do": "stage", "order": order.to_json(), "command_is_on": os.uname().nodename}
            self._order(message)
            self._collect(self.agents.values(), {"ready", "failed", "same"}, self._begin, answer_s)
        except BaseException:
            self.end()
            raise
        self._end_unused()

    def _start(self, start: Start) -> None:
        reader = Reader()

        def take(connection: Connection, line: str | None) -> None:
            if line is None:
                for name in connection.names:
                    self.questions.lose(name)
                    self._heard.put((name, {"kind": ENDED, "why": connection.last_words()}))
            elif (found := reader.take(line)) is not None:
                self._hear(*found)

        try:
            self._connections.append(Connection(start, take))
        except OSError as error:
            for name in start.names:
                self.agents[name].lost_because = f"{start.words[0]}: {error.strerror}"

    def _hear(self, name: str, message: dict[str, Any]) -> None:
        agent = self.agents.get(name)
        if agent is None:
            return
        if message["kind"] in KINDS:
            self.questions.hear(name, message)
        elif message["kind"] == "left":
            if agent.node is not None and message["text"]:
                self._say_left(agent.node, message["text"])
        else:
            self._heard.put((name, message))

    def _begin(self, agent: Agent, message: Mapping[str, Any]) -> None:
        match message["kind"]:
            case "ready":
                agent.node = StageNode(message["scratch"], message["node"], message["device"], message["inode"])
            case "same":
                agent.is_here = True
            case _:
                agent.lost_because = message["why"]

    def _end_unused(self) -> None:
        """A node that has two names in a launcher's list keeps one folder. An agent that answers too late removes its folder."""
        seen: set[str] = set()
        unused = [agent.name for agent in self.lost]
        for agent in self.agents.values():
            if agent.node is None:
                continue
            if agent.node.name in seen:
                unused.append(agent.name)
                agent.node, agent.is_here = None, True
            else:
                seen.add(agent.node.name)
        if unused:
            self._order({"do": "abandon", "nodes": unused})

    # ---- the run ----------------------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[StageNode]:
        """The nodes that have a scratch folder, also those whose agents were lost later."""
        return [agent.node for agent in self.agents.values() if agent.node is not None]

    @property
    def lost(self) -> list[Agent]:
        return [agent for agent in self.agents.values() if agent.lost_because]

    def _working(self) -> list[Agent]:
        return [agent for agent in self.agents.values() if agent.node is not None and not agent.lost_because]

    def begin_questions(self, own: Files, bundles: Bundles | None) -> None:
        """From here on the questions of processes are answered, until `questions.end()`. `own`: the files of this node."""
        self.questions.begin([agent.name for agent in self.agents.values() if agent.node is not None], own, bundles)

    def name_left(self) -> None:
        """Asks all agents for texts about their files on scratch. Does not wait."""
        self._order({"do": "left"})

    def begin_look(self) -> None:
        self._order({"do": "look"})

    def looks(self) -> dict[str, Mapping[str, Any]]:
        """Waits for the answers of all agents to `begin_look`. Returns them by node."""
        found: dict[str, Mapping[str, Any]] = {}

        def take(agent: Agent, message: Mapping[str, Any]) -> None:
            if message["kind"] == "failed":
                agent.lost_because = message["why"]
            elif agent.node is not None:
                found[agent.node.name] = message

        self._collect(self._working(), {"looked", "failed"}, take, self._silent_s)
        return found

    def begin_delivery(self, doubles: Mapping[str, Sequence[str]]) -> None:
        """`doubles`: for each node, paths whose names another node's files get."""
        nodes = {agent.name: list(doubles.get(agent.node.name, ())) for agent in self._working() if agent.node is not None}
        self._order({"do": "deliver", "nodes": nodes})

    def delivered(self, found: dict[str, Mapping[str, Any]], progress: Callable[[str, int], None]) -> None:
        """Waits for the answers of all agents to `begin_delivery`. Puts them into `found`, by node."""

        def take(agent: Agent, message: Mapping[str, Any]) -> None:
            assert agent.node is not None
            if message["kind"] == "progress":
                progress(agent.node.name, int(message["bytes"]))
            elif message["kind"] == "failed":
                agent.lost_because = message["why"]
            else:
                found[agent.node.name] = message

        self._collect(self._working(), {"delivered", "failed"}, take, self._silent_s)

    def abandon(self) -> None:
        self._order({"do": "abandon", "nodes": list(self.agents)})
        self.end()

    def end(self) -> None:
        connections, self._connections = self._connections, []
        threads = [threading.Thread(target=connection.end) for connection in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _order(self, message: Mapping[str, Any]) -> None:
        """Sends an order to all agents; one that has `node` only where the agent of this name is."""
        line = json.dumps(message).encode() + b"\n"
        for connection in self._connections:
            if message.get("node", connection.names[0]) in connection.names:
                connection.write(line)

    def _collect(
        self, agents: Iterable[Agent], last: set[str], take: Callable[[Agent, Mapping[str, Any]], None], limit_s: float
    ) -> None:
        """Calls `take` with the messages of these agents, until each has sent a message of a kind in `last`, or is lost: its
        connection has ended, or it has sent nothing for `limit_s`."""
        waiting = {agent.name: agent for agent in agents if not agent.lost_because}
        for agent in waiting.values():
            agent.heard_s = time.monotonic()
        while waiting:
            first_s = min(agent.heard_s for agent in waiting.values())
            try:
                name, message = self._heard.get(timeout=max(0.0, first_s + limit_s - time.monotonic()))
            except queue.Empty:
                self._lose_silent(waiting, limit_s)
                continue
            agent = self.agents[name]
            agent.heard_s = time.monotonic()
            if message["kind"] == ENDED:
                if not agent.is_here and not agent.lost_because and (agent.node is not None or name in waiting):
                    agent.lost_because = f"its connection has ended{': ' if message['why'] else ''}{message['why']}"
                waiting.pop(name, None)
            elif name in waiting and message["kind"] != "alive":
                take(agent, message)
                if message["kind"] in last:
                    del waiting[name]

    @staticmethod
    def _lose_silent(waiting: dict[str, Agent], limit_s: float) -> None:
        now_s = time.monotonic()
        for name in [name for name, agent in waiting.items() if now_s - agent.heard_s >= limit_s]:
            waiting.pop(name).lost_because = f"it has said nothing for {limit_s:g} s"


def _python_path() -> str:
    """PYTHONPATH for agents, so that they run this installation."""
    return os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
