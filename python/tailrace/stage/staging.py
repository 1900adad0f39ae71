"""Staging of one run by [stage]: makes a folder on the scratch of each node, prints messages about them, and delivers the files."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.launch.job_nodes import nodes_of
from tailrace.place.compiled import write_rules
from tailrace.place.stage_rules import StageNode, StageRecord, StageRules
from tailrace.plain_text import quoted
from tailrace.quantities import bytes_text, number_of
from tailrace.stage import given_names, name_lists
from tailrace.stage.agents import Agent, Agents
from tailrace.stage.ask_socket import Client
from tailrace.stage.delivery import OfNode, Progress, Say, said_of_delivery
from tailrace.stage.drain import StageError, Stop
from tailrace.stage.earlier_bundles import EarlierBundles, write_names
from tailrace.stage.job_end import JobEnd
from tailrace.stage.node_staging import INTERRUPTED, MOST_NAMED, Delivered, Look, NodeStaging
from tailrace.stage.order import StageOrder
from tailrace.stage.questions import OWN
from tailrace.stage.scratch_folder import restore_times

PAUSE_S = 0.1  # between looks for a request to stop
_REPLACED = "they replace files that are at their target"
NODES_FILE = "nodes.json"  # in the folder of the log: the scratch of each node


def without_record(config: Path) -> str:
    return (
        f"{config}: [stage] needs the record of the run, which shows the files that a killed program left torn: remove --no-trace"
    )


class Staging:
    """From here on the folders are there and their target is noted, until `deliver` or `abandon`. `log`: the folder of the run's
    log. `command`: its words and `folder` say on which other nodes ranks will be. Raises StageError."""

    def __init__(
        self, rules: StageRules, config: Path, log: Path | None, command: Sequence[str], say: Say, folder: str = "."
    ) -> None:
        if log is None:
            raise StageError(without_record(config))
        self.rules, self._say = rules, say
        self.log = log.resolve()
        self._found = nodes_of(command, folder=folder)
        order = StageOrder.of(rules, self.log, is_one_of_several=bool(self._found.names))
        self._own = NodeStaging(order)
        self._looks: dict[str, Look] = {}  # by node, when the program has ended
        self._look_problem = ""
        self._job_text, self._job_end = "", JobEnd(self.name_left)
        self._bundles: EarlierBundles | None = None  # set if files are delivered in bundles
        try:
            self._agents = Agents(self._found, order, self._say_left)
        except BaseException:
            self._own.abandon()
            raise
        self._note_nodes()

    def _note_nodes(self) -> None:
        if not self._agents.nodes:
            return
        nodes = {node.name: node.scratch for node in self._nodes()}
        try:
            write_rules(self.log / NODES_FILE, (json.dumps(nodes, indent=2) + "\n").encode())
        except OSError as error:
            self.abandon()
            raise StageError(f"{self.log}: {NODES_FILE} could not be written: {error.strerror}") from None

    def _nodes(self) -> list[StageNode]:
        return [self._own.record, *self._agents.nodes]

    @property
    def record(self) -> StageRecord:
        """The record of [stage] in the rules file of the run."""
        return StageRecord(self.rules, tuple(self._nodes()))

    def begin(self) -> None:
        """Called before the program starts. Starts the copying process if [stage] has while_running. Raises StageError."""
        if self.rules.sink == "bundle":
            asks = bool(self._agents.nodes) and self.rules.ask_other_nodes
            write_names(self.log, self.rules.bundles, asks_other_nodes=asks)
            self._bundles = EarlierBundles(self.rules.bundles, self.rules.base)
        self._own.begin(self._ask)
        self._agents.begin_questions(self._own, self._bundles)
        self._job_end.begin()

    def _ask(self, path: str, client: Client) -> None:
        self._agents.questions.ask(path, OWN, client.done, client.still)

    def abandon(self) -> None:
        """Removes the folders and their files: the command did not start, or its files are not needed."""
        self._job_end.end()
        self._end_questions()
        self._own.abandon()
        self._agents.abandon()

    # ---- what is said -----------------------------------------------------------------------------------------------------------

    def said_before(self) -> list[str]:
        own = self._own.record.scratch
        others = self._agents.nodes
        if self._found.problem:
            said = [f"files are staged on this node only: {self._found.problem}"]
        else:
            said = [_no_agent(agent) for agent in self._agents.lost]
        if not others:
            return [
                f"files are staged in {own}; if this command is killed, `tailrace drain resume {quoted(own)}` delivers them",
                *said,
            ]
        named = ", ".join(f"{node.name}:{node.scratch}" for node in self._nodes()[:MOST_NAMED])
        more = f" and on {len(others) + 1 - MOST_NAMED:,} more nodes" if len(others) >= MOST_NAMED else ""
        return [
            f"files are staged in {named}{more}; {self.log / NODES_FILE} has all. If this command is killed, "
            "`tailrace drain resume FOLDER` on each node delivers those of its folder",
            *said,
        ]

    def _say_left(self, node: StageNode, text: str) -> None:
        remedy = f"`tailrace drain resume {quoted(node.scratch)}` on {node.name} delivers what is left there"
        self._say(f"{self._job_text}: not at its target yet: {node.name}:{node.scratch}: {text}; {remedy}")

    def name_left(self, left_s: float) -> None:
        """Says what is on scratch at all nodes, `left_s` seconds before the job ends. Does not wait for other nodes."""
        self._job_text = f"the job ends in {left_s:.0f} s" if left_s > 0 else "the job's time is over"
        self._agents.name_left()
        try:
            if text := self._own.left_text():
                self._say_left(self._own.record, text)
        except (StageError, OSError) as error:
            self._say(str(error))

    def _end_questions(self) -> None:
        self._agents.questions.end()
        if self._bundles is not None:
            self._bundles.end()

    def _look(self) -> None:
        """Once, when the program has ended: at all nodes at the same time."""
        if self._looks or self._look_problem:
            return
        self._end_questions()
        self._agents.begin_look()
        try:
            self._looks[self._own.node] = self._own.look()
            for node, message in self._agents.looks().items():
                self._looks[node] = Look(**_of(message))
        except (StageError, OSError) as error:
            self._look_problem = f"files are not delivered: {error}"
        except KeyboardInterrupt:
            self._look_problem = INTERRUPTED

    def said_after(self, nodes_without_scratch: Iterable[str]) -> list[str]:
        """Messages before the delivery: which files were not on scratch, and why."""
        said: list[str] = []
        min_free = bytes_text(self.rules.min_free_bytes)
        self._look()
        for node in self._nodes():
            look = self._looks.get(node.name, Look())
            begin, where = (f"{node.name}: ", f"{node.name}:{node.scratch}") if self._agents.nodes else ("", node.scratch)
            if look.at_target:
                said.append(
                    f"{begin}{look.at_target:,} files of [stage] were made at their target, because scratch had less than "
                    f"{min_free} free (min_free), or was full: {look.first_at_target}{', ...' if look.at_target > 1 else ''}"
                    f"{self._room_remedy}"
                )
            if look.is_full:
                said.append(
                    f"{where} is full, so writes to files on it may have failed (ENOSPC): set min_free in [stage] to more than "
                    f"{min_free}"
                )
            if look.room_files:
                said.append(
                    f"{begin}{number_of(look.room_files, 'file')}, {bytes_text(look.room_bytes)} had been delivered while the "
                    f"program ran, because scratch had less than {bytes_text(self.rules.make_room_bytes)} free (make_room)"
                )
            if look.room_stopped_because:
                said.append(f"{begin}make_room has stopped after several errors, the last one: {look.room_stopped_because}")
            if look.given_files:
                said.append(
                    f"{begin}{number_of(look.given_files, 'file')}, {bytes_text(look.given_bytes)} had been delivered while the "
                    f"program ran, because {'processes of other nodes wanted them' if self._agents.nodes else _REPLACED}"
                )
        if self._bundles is not None and self._bundles.files:
            taken = f"{number_of(self._bundles.files, 'file')}, {bytes_text(self._bundles.bytes)}"
            said.append(f"{taken} of earlier runs were taken out of their bundles in {self.rules.bundles}; they stay beside them")
        said += self._unanswered()
        return said + [self._without_scratch(node) for node in nodes_without_scratch]

    @property
    def _room_remedy(self) -> str:
        may_have = self.rules.sink == "mirror" and not self.rules.make_room_bytes and not self.rules.while_running
        return "; make_room in [stage] delivers closed files while the program runs, so that scratch has room" if may_have else ""

    def _unanswered(self) -> list[str]:
        """For each node: names that its processes did not find, or folders that they listed, although another node may have had
        them, or more files in them."""
        why = "; ".join(f"{agent}: {text}" for agent, text in sorted(self._agents.questions.failures.items())[:MOST_NAMED])
        return [
            f"{node}: {number_of(look.unanswered, 'name')} did not exist for processes there, or were folders that they listed or "
            f"renamed, but other nodes may have had more: {look.first_unanswered}{', ...' if look.unanswered > 1 else ''} "
            f"({why or 'the agent of this node did not answer'})"
            for node, look in sorted(self._looks.items())
            if look.unanswered
        ]

    def _without_scratch(self, node: str) -> str:
        if self._agents.lost or self._found.problem:
            reasons = [f"{agent.name}: {agent.lost_because}" for agent in self._agents.lost[:MOST_NAMED]]
            why = f"no agent of this command was there ({'; '.join(reasons) or self._found.problem})"
        elif self._found.names:
            why = f"the nodes of this command are {', '.join(self._found.names[:MOST_NAMED])} and {self._own.node}, by its words"
        else:
            why = (
                f"this command does not say that it has ranks there, so it has scratch on {self._own.node} alone: "
                "name nodes by --host or --hostfile of the launcher, or run it in a job of Slurm"
            )
        return f"processes on {node} have staged nothing and read nothing from scratch: {why}"

    # ---- the end ----------------------------------------------------------------------------------------------------------------

    def remedy_texts(self) -> list[str]:
        """The commands that deliver what is on scratch, each with its node."""
        several = bool(self._agents.nodes)
        return [f"`tailrace drain resume {quoted(node.scratch)}`{f' on {node.name}' if several else ''}" for node in self._nodes()]

    def deliver(self, say: Say, stop: Stop | None = None) -> list[str]:
        """Delivers the files of all nodes. Prints and returns a text for each file that is torn, not delivered, or delivered under
        another name; files that are not delivered stay on scratch. Empty if there is none. `stop` ends it early on this node, and
        does not wait for the others: their agents continue while they can."""
        try:
            return self._deliver(say, stop or Stop())
        finally:
            self._job_end.end()
            self._agents.end()

    def _deliver(self, say: Say, stop: Stop) -> list[str]:
        try:
            self._look()
            if self._look_problem:
                raise StageError(self._look_problem)
            given = self._given()
            doubles = self._doubles(given)
        except StageError as error:
            stopped = [self._of_node(node, Delivered.stopped(str(error), node.scratch)) for node in self._nodes()]
            return said_of_delivery(stopped, self.rules.target, 0.0, {}, say)
        progress = Progress(sum(look.staged_bytes for look in self._looks.values()), say)
        others = self._deliver_elsewhere(doubles, progress) if not stop.is_requested else None
        note_own = functools.partial(progress.note, self._own.node)
        own = self._own.deliver(_second(doubles, self._own.node), lambda now: note_own(int(now["bytes"])), stop)
        found = {self._own.node: own, **(others.wait(stop) if others is not None else {})}
        has_begun = others is not None
        done = [self._of_node(node, found.get(node.name) or self._not_heard(node, has_begun=has_begun)) for node in self._nodes()]
        self._restore_times()
        return said_of_delivery(done, self.rules.target, progress.seconds, doubles, say, given) + self._unanswered()

    def _of_node(self, node: StageNode, delivered: Delivered) -> OfNode:
        return OfNode(node, delivered, is_one_of_several=bool(self._agents.nodes))

    def _deliver_elsewhere(self, doubles: Mapping[str, Sequence[str]], progress: Progress) -> _Elsewhere:
        self._agents.begin_delivery({node.name: _second(doubles, node.name) for node in self._agents.nodes})
        return _Elsewhere(self._agents, progress)

    def _given(self) -> dict[str, str]:
        """Names that were delivered while the program ran, and by which nodes."""
        return given_names.read(self.log, self.rules.base) if self._agents.nodes else {}

    def _doubles(self, given: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Of nodes that answer: paths that several have made, and which."""
        if not self._agents.nodes:
            return {}
        lists = name_lists.read(self.log)
        return name_lists.doubles({node: names for node, names in lists.items() if node in self._looks}, given)

    def _not_heard(self, node: StageNode, *, has_begun: bool) -> Delivered:
        agent = next(agent for agent in self._agents.agents.values() if agent.node is node)
        if agent.lost_because:
            return Delivered.stopped(f"its agent is lost ({agent.lost_because})", node.scratch)
        look = self._looks.get(node.name, Look())
        if not look.staged_files:
            return Delivered()
        files = f"{number_of(look.staged_files, 'file')}, {bytes_text(look.staged_bytes)}"
        later = "; it may still do so, and then removes the folder" if has_begun else ""
        return Delivered.stopped(f"interrupted before its agent has delivered {files}{later}", node.scratch)

    def _restore_times(self) -> None:
        """Of folders at the target, in which files were made."""
        times: dict[str, int] = {}
        for look in self._looks.values():
            for folder, time_ns in look.folder_times.items():
                times[folder] = max(times.get(folder, 0), time_ns)
        restore_times(times)


class _Elsewhere:
    """Waits for the agents' answers beside this thread, which delivers its own node's files."""

    def __init__(self, agents: Agents, progress: Progress) -> None:
        self._found: dict[str, Mapping[str, Any]] = {}
        self._thread = threading.Thread(target=agents.delivered, args=(self._found, progress.note), daemon=True)
        self._thread.start()

    def wait(self, stop: Stop) -> dict[str, Delivered]:
        """By node; of all, but when the user interrupts it."""
        with contextlib.suppress(KeyboardInterrupt):
            while self._thread.is_alive() and not stop.is_requested:
                self._thread.join(PAUSE_S)
        return {node: Delivered(**_of(message)) for node, message in list(self._found.items())}


def _of(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "kind"}


def _second(doubles: Mapping[str, Sequence[str]], node: str) -> list[str]:
    """Paths of this node that another one delivers under their names."""
    return [path for path, nodes in doubles.items() if node in nodes[1:]]


def _no_agent(agent: Agent) -> str:
    return f"{agent.name}: no agent is there, so files of its processes go to their target at once: {agent.lost_because}"
