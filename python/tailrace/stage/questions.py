"""Questions of a run's processes for files that they do not find, for the names in folders that they list, and for folders that
they rename. The command sends each question to all other nodes. It orders the first that has the file to deliver it, and answers
the node that has asked. If no node has it, it may be in a bundle of an earlier run. Names are collected from all nodes and bundles,
and all nodes rename the folder. Every wait has a limit."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from tailrace.stage.bundle_words import Move, is_listing, is_of_bundles, listed_folder, move_of
from tailrace.stage.giver import Outcome, Result

ASK_S = 15.0  # limit for the answer of a node, and for its next word while it delivers a file
KINDS = {"ask", "has", "gave", "giving", "names", "moved"}  # of messages of agents
LOST = "its agent is lost"
OWN = ""  # instead of an agent's name: the node of the command
BUNDLES = "bundles"  # the same: the bundles of earlier runs

Order = Callable[[Mapping[str, Any]], None]
Done = Callable[[bool, Sequence[str]], None]


class Files(Protocol):
    """The files of the command's node: a Giver."""

    def has(self, path: str) -> bool: ...
    def give(self, path: str, done: Callable[[Result], None], still: Callable[[], None]) -> None: ...
    def names_in(self, folder: str, done: Callable[[Result], None], still: Callable[[], None]) -> None: ...
    def move(self, move: Move, done: Callable[[Result], None], still: Callable[[], None]) -> None: ...


class Bundles(Protocol):
    """The bundles of earlier runs: an EarlierBundles."""

    def take(self, path: str, done: Callable[[Result], None], still: Callable[[], None]) -> None: ...


@dataclass
class _Question:
    path: str
    asker: str
    done: Done
    still: Callable[[], None]
    waits_for: set[str]
    is_known: bool  # whether all nodes that have been passed over have answered
    heard_s: float = field(default_factory=time.monotonic)
    giver: str | None = None
    names: set[str] = field(default_factory=set)  # of the answers to a listing


class Questions:
    """`order` sends an order to all agents. Agents are known by their names."""

    def __init__(self, order: Order, limit_s: float = ASK_S) -> None:
        self._order, self._limit_s = order, limit_s
        self._lock = threading.RLock()
        self._own: Files | None = None
        self._bundles: Bundles | None = None
        self._nodes: set[str] = set()
        self._lost: set[str] = set()
        self._silent: set[str] = set()
        self._open: dict[int, _Question] = {}
        self._numbers = itertools.count(1)
        self._is_over = threading.Event()
        self.failures: dict[str, str] = {}  # by agent: why it did not answer, or did not deliver

    def begin(self, nodes: Iterable[str], own: Files, bundles: Bundles | None = None) -> None:
        """From here on questions are answered, until `end`. `nodes`: the names of the agents."""
        with self._lock:
            self._nodes, self._own, self._bundles = set(nodes), own, bundles
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> None:
        """Answers all that wait."""
        self._is_over.set()
        with self._lock:
            self._own = None
            waiting, self._open = list(self._open.values()), {}
        for question in waiting:
            question.done(False, ())

    def ask(self, path: str, asker: str, done: Done, still: Callable[[], None]) -> None:
        """Calls `done` when the file is at its target, or no other node has a closed file of this name (True), or when a node that
        may have it does not answer (False). Until then calls `still` now and then. `path` may be other words of bundle_words:
        `done` gets the names of a listing, each after the letter of Result.names. A folder that is renamed: True means that no
        other node has it under its old name."""
        with self._lock:
            own = self._own
            if own is None:
                done(False, ())
                return
            others = set() if is_of_bundles(path) else self._nodes - {asker}
            missing = others & (self._silent | self._lost)
            question = _Question(path, asker, done, still, others - missing, not missing)
            number = next(self._numbers)
            self._open[number] = question
            if is_listing(path) or move_of(path) is not None:
                self._ask_all(number, question, own)
                return
            if asker != OWN and not is_of_bundles(path) and own.has(path):
                question.giver = OWN
                own.give(path, lambda result: self._gave(OWN, number, result), lambda: self._still(number))
                return
            if others:
                self._order({"do": "have", "question": number, "path": path, "asker": asker})
            self._end_if_answered(number, question)

    def hear(self, agent: str, message: Mapping[str, Any]) -> None:
        """Takes a message whose kind is in KINDS."""
        number = int(message.get("question", 0))
        with self._lock:
            self._silent.discard(agent)
            match message["kind"]:
                case "ask":
                    self._ask_for(agent, int(message["id"]), str(message["path"]))
                case "names":
                    self._answers(agent, number, message["names"], str(message["why"]))
                case "moved":
                    self._answers(agent, number, (), str(message["why"]))
                case "has":
                    self._has(agent, number, bool(message["is_there"]))
                case "gave":
                    self._gave(agent, number, Result(Outcome(message["outcome"]), str(message["why"])))
                case "giving":
                    self._still(number)

    def lose(self, agent: str) -> None:
        """The connection to the agent has ended."""
        with self._lock:
            self._lost.add(agent)
            if not self._is_over.is_set():
                self.failures.setdefault(agent, LOST)
            for number, question in list(self._open.items()):
                self._pass_over(agent, number, question, LOST)

    # ---- under the lock ---------------------------------------------------------------------------------------------------------

    def _ask_for(self, agent: str, identity: int, path: str) -> None:
        answer = {"node": agent, "id": identity}
        self.ask(
            path,
            agent,
            lambda is_known, names: self._order({"do": "answer", **answer, "is_known": is_known, "names": names}),
            lambda: self._order({"do": "still", **answer}),
        )

    def _has(self, agent: str, number: int, is_there: bool) -> None:
        question = self._open.get(number)
        if question is None or question.giver is not None:
            return
        question.waits_for.discard(agent)
        if is_there:
            question.giver, question.heard_s = agent, time.monotonic()
            self._order({"do": "give", "node": agent, "question": number, "path": question.path})
        else:
            self._end_if_answered(number, question)

    def _ask_all(self, number: int, question: _Question, own: Files) -> None:
        """Each node but that of the asker has something to answer or to do."""
        move, folder = move_of(question.path), listed_folder(question.path)
        if self._nodes - {question.asker}:  # a silent node may be able to read its orders later
            about = {"do": "move", **asdict(move)} if move else {"do": "list", "folder": folder}
            self._order({**about, "question": number, "asker": question.asker})
        if question.asker == OWN:
            self._end_if_answered(number, question)
            return
        question.waits_for.add(OWN)

        def done(result: Result) -> None:
            self._answers(OWN, number, result.names, result.why)

        if move:
            own.move(move, done, lambda: self._still(number))
        else:
            own.names_in(folder, done, lambda: self._still(number))

    def _answers(self, agent: str, number: int, names: Iterable[str], why: str) -> None:
        with self._lock:
            question = self._open.get(number)
            if question is None or agent not in question.waits_for:
                return
            question.waits_for.discard(agent)
            question.names.update(names)
            if why:
                self.failures[self._said_of(agent)] = why
                question.is_known = False
            self._end_if_answered(number, question)

    def _gave(self, agent: str, number: int, result: Result) -> None:
        with self._lock:
            if (question := self._open.get(number)) is None:
                return
            if result.outcome is Outcome.FAILED:
                self.failures[self._said_of(agent)] = f"{question.path}: {result.why}"
            self._finish(number, question, result.outcome is not Outcome.FAILED)

    def _said_of(self, agent: str) -> str:
        return {OWN: "this node", BUNDLES: "bundles of earlier runs"}.get(agent, agent)

    def _still(self, number: int) -> None:
        with self._lock:
            if (question := self._open.get(number)) is not None:
                question.heard_s = time.monotonic()
                question.still()

    def _pass_over(self, agent: str, number: int, question: _Question, why: str) -> None:
        """Does not wait for this agent any more."""
        if question.giver == agent:
            self.failures[agent] = why
            self._finish(number, question, False)
        elif agent in question.waits_for:
            self.failures[agent] = why
            question.waits_for.discard(agent)
            question.is_known = False
            self._end_if_answered(number, question)

    def _end_if_answered(self, number: int, question: _Question) -> None:
        if question.giver is not None or question.waits_for:
            return
        if self._bundles is None or move_of(question.path) is not None:
            self._finish(number, question, question.is_known)
            return
        question.giver = BUNDLES
        self._bundles.take(question.path, lambda result: self._taken(number, question, result), lambda: self._still(number))

    def _taken(self, number: int, question: _Question, result: Result) -> None:
        with self._lock:
            if number not in self._open:
                return
            if result.outcome is Outcome.FAILED:
                self.failures[self._said_of(BUNDLES)] = result.why
            question.names.update(result.names)
            self._finish(number, question, question.is_known and result.outcome is not Outcome.FAILED)

    def _finish(self, number: int, question: _Question, is_known: bool) -> None:
        del self._open[number]
        question.done(is_known, sorted(question.names))

    # ---- the limit --------------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._is_over.wait(self._limit_s / 4):
            with self._lock:
                late_s = time.monotonic() - self._limit_s
                for number, question in list(self._open.items()):
                    if question.heard_s > late_s or question.giver in (OWN, BUNDLES):
                        continue
                    for agent in [question.giver] if question.giver is not None else sorted(question.waits_for - {OWN}):
                        self._silent.add(agent)
                        self._pass_over(agent, number, question, f"it has said nothing for {self._limit_s:g} s")
