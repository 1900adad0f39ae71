"""Questions for files of other nodes, part by part: who is asked, waits that end, and the socket of a node."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tailrace.stage.ask_socket import AskSocket, Client, Kind
from tailrace.stage.bundle_words import Move, moved_back
from tailrace.stage.giver import Outcome, Result
from tailrace.stage.questions import OWN, Questions

from tests.clusters import until


class Nodes:
    """Takes the orders of Questions, and is the files of the command's node."""

    def __init__(self, limit_s: float = 600.0) -> None:
        self.orders: list[Mapping[str, Any]] = []
        self.own_files: set[str] = set()
        self.given: list[tuple[str, Callable[[Result], None]]] = []
        self.answers: queue.Queue[bool] = queue.Queue()
        self.names: list[tuple[str, ...]] = []  # of the answers
        self.folders: list[tuple[str, Callable[[Result], None]]] = []
        self.moves: list[tuple[Move, Callable[[Result], None]]] = []
        self.stills = 0
        self.questions = Questions(self.orders.append, limit_s)
        self.questions.begin(["n1", "n2", "n3"], self)

    def has(self, path: str) -> bool:
        return path in self.own_files

    def give(self, path: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        still()
        self.given.append((path, done))

    def names_in(self, folder: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        self.folders.append((folder, done))

    def move(self, move: Move, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        self.moves.append((move, done))

    def ask(self, path: str, asker: str = OWN) -> None:
        def still() -> None:
            self.stills += 1

        def done(is_known: bool, names: Sequence[str]) -> None:
            self.names.append(tuple(names))
            self.answers.put(is_known)

        self.questions.ask(path, asker, done, still)

    def say(self, agent: str, kind: str, **fields: Any) -> None:
        self.questions.hear(agent, {"kind": kind, **fields})

    def has_answered(self) -> list[bool]:
        return [self.answers.get_nowait() for _ in range(self.answers.qsize())]


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    found = Nodes()
    yield found
    found.questions.end()


def test_a_name_does_not_exist_when_all_other_nodes_have_said_so(nodes: Nodes) -> None:
    nodes.ask("a", "n1")
    assert nodes.orders == [{"do": "have", "question": 1, "path": "a", "asker": "n1"}]
    nodes.say("n2", "has", question=1, is_there=False)
    assert nodes.has_answered() == []
    nodes.say("n2", "has", question=1, is_there=False)
    nodes.say("n9", "has", question=1, is_there=False)
    assert nodes.has_answered() == []
    nodes.say("n3", "has", question=1, is_there=False)
    assert nodes.has_answered() == [True]


@pytest.mark.parametrize(("outcome", "is_known"), [("given", True), ("not whole", True), ("failed", False)])
def test_the_first_node_that_has_the_file_delivers_it(nodes: Nodes, outcome: str, is_known: bool) -> None:
    nodes.say("n1", "ask", id=7, path="a")
    nodes.say("n3", "has", question=1, is_there=True)
    nodes.say("n2", "has", question=1, is_there=True)
    assert nodes.orders[1:] == [{"do": "give", "node": "n3", "question": 1, "path": "a"}]
    nodes.say("n3", "giving", question=1)
    nodes.say("n3", "gave", question=1, outcome=outcome, why="why")
    assert nodes.orders[2:] == [
        {"do": "still", "node": "n1", "id": 7},
        {"do": "answer", "node": "n1", "id": 7, "is_known": is_known, "names": []},
    ]
    assert nodes.questions.failures == ({} if is_known else {"n3": "a: why"})


def test_the_node_of_the_command_delivers_its_own_file(nodes: Nodes) -> None:
    nodes.own_files.add("a")
    nodes.ask("a", "n1")
    ((path, done),) = nodes.given
    assert (path, nodes.orders, nodes.stills) == ("a", [], 1)
    done(Result(Outcome.GIVEN))
    done(Result(Outcome.GIVEN))
    assert nodes.has_answered() == [True]
    nodes.ask("a")
    assert nodes.orders[0]["do"] == "have", "its own processes have looked there"


def test_without_the_answer_of_a_lost_node_nothing_is_known(nodes: Nodes) -> None:
    nodes.ask("a")
    nodes.ask("b")
    nodes.say("n1", "has", question=1, is_there=True)
    for agent, number in (("n2", 2), ("n3", 2)):
        nodes.say(agent, "has", question=number, is_there=False)
    nodes.questions.lose("n1")
    assert nodes.has_answered() == [False, False]
    nodes.ask("c")
    for agent in ("n2", "n3"):
        nodes.say(agent, "has", question=3, is_there=False)
    assert nodes.has_answered() == [False]
    nodes.ask("d")
    nodes.say("n3", "has", question=4, is_there=True)
    nodes.say("n3", "gave", question=4, outcome="given", why="")
    assert nodes.has_answered() == [True], "another node has it"
    assert nodes.questions.failures == {"n1": "its agent is lost"}


def test_nobody_waits_for_a_silent_node_until_it_answers_again() -> None:
    nodes = Nodes(limit_s=0.05)
    try:
        nodes.ask("a")
        for agent in ("n2", "n3"):
            nodes.say(agent, "has", question=1, is_there=False)
        assert nodes.answers.get(timeout=60) is False
        assert nodes.questions.failures == {"n1": "it has said nothing for 0.05 s"}
        nodes.questions._limit_s = 600.0
        nodes.ask("b")
        for agent in ("n2", "n3"):
            nodes.say(agent, "has", question=2, is_there=False)
        assert nodes.has_answered() == [False], "at once"
        nodes.say("n1", "has", question=1, is_there=True)
        nodes.ask("c")
        for agent in ("n2", "n3", "n1"):
            assert nodes.has_answered() == []
            nodes.say(agent, "has", question=3, is_there=False)
        assert nodes.has_answered() == [True]
    finally:
        nodes.questions.end()


def test_a_node_that_delivers_and_says_nothing_is_silent() -> None:
    nodes = Nodes(limit_s=0.05)
    nodes.say("n1", "ask", id=1, path="a")
    nodes.say("n2", "has", question=1, is_there=True)
    until(lambda: {"do": "answer", "node": "n1", "id": 1, "is_known": False, "names": []} in nodes.orders, 60)
    assert nodes.questions.failures == {"n2": "it has said nothing for 0.05 s"}
    nodes.questions.end()


def test_the_end_of_the_run_answers_all(nodes: Nodes) -> None:
    nodes.ask("a")
    nodes.questions.end()
    nodes.ask("b")
    assert nodes.has_answered() == [False, False]


def test_a_listing_has_the_names_of_all_other_nodes(nodes: Nodes) -> None:
    nodes.ask("out//", "n1")
    assert nodes.orders == [{"do": "list", "question": 1, "folder": "out", "asker": "n1"}]
    nodes.say("n1", "names", question=1, names=["fown"], why="")
    nodes.say("n2", "names", question=1, names=["fa", "fb"], why="")
    nodes.say("n2", "names", question=1, names=["fc"], why="")
    nodes.say("n3", "names", question=1, names=[], why="")
    assert nodes.has_answered() == []
    ((folder, done),) = nodes.folders
    assert folder == "out"
    done(Result(Outcome.GIVEN, names=("fb", "fd")))
    assert nodes.has_answered() == [True]
    assert nodes.names == [("fa", "fb", "fd")]


def test_a_listing_at_the_node_of_the_command_asks_the_others_and_the_bundles(nodes: Nodes) -> None:
    class Bundles:
        def take(self, path: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
            done(Result(Outcome.GIVEN, names=(f"f{path}",)))

    nodes.questions.begin(["n1"], nodes, Bundles())
    nodes.ask("//")
    assert nodes.orders == [{"do": "list", "question": 1, "folder": "", "asker": OWN}]
    nodes.say("n1", "names", question=1, names=["fa"], why="")
    assert (nodes.has_answered(), nodes.names, nodes.folders) == ([True], [("f//", "fa")], [])


def test_a_listing_without_a_node_is_not_known_to_be_whole(nodes: Nodes) -> None:
    nodes.ask("a//")
    nodes.ask("b//")
    for number in (1, 2):
        nodes.say("n2", "names", question=number, names=["fa"], why="")
    nodes.say("n3", "names", question=1, names=[], why="no memory")
    nodes.say("n3", "names", question=2, names=[], why="")
    nodes.questions.lose("n1")
    assert nodes.has_answered() == [False, False]
    assert nodes.names == [("fa",), ("fa",)]
    assert nodes.questions.failures == {"n1": "its agent is lost", "n3": "no memory"}


def test_a_folder_is_renamed_by_all_other_nodes(nodes: Nodes) -> None:
    nodes.ask("out/a//out/b", "n1")
    asked = {"do": "move", "source": "out/a", "to": "out/b", "is_back": False, "asker": "n1"}
    assert nodes.orders == [{**asked, "question": 1}]
    nodes.say("n2", "moved", question=1, why="")
    nodes.say("n3", "moved", question=1, why="")
    assert nodes.has_answered() == []
    ((move, done),) = nodes.moves
    assert move == Move("out/a", "out/b", is_back=False)
    done(Result(Outcome.GIVEN))
    assert nodes.has_answered() == [True]


def test_a_folder_that_one_node_cannot_rename_gets_its_name_back_on_silent_nodes_too(nodes: Nodes) -> None:
    nodes.questions.begin(["n1", "n2"], nodes)
    nodes.ask("a//b")
    nodes.say("n1", "moved", question=1, why="a cannot be renamed")
    nodes.questions.lose("n2")
    assert nodes.has_answered() == [False]
    assert nodes.questions.failures == {"n1": "a cannot be renamed", "n2": "its agent is lost"}
    nodes.ask(moved_back("a//b"), "n1")
    assert nodes.orders[-1] == {"do": "move", "source": "a", "to": "b", "is_back": True, "question": 2, "asker": "n1"}
    assert nodes.moves[-1][0] == Move("a", "b", is_back=True)


# ---- the socket -----------------------------------------------------------------------------------------------------------------


class Asked:
    """A socket in a folder whose path is longer than the address of a socket."""

    def __init__(self, top: Path) -> None:
        self.folder = top / ("d" * 120)
        self.folder.mkdir(mode=0o700)
        self.questions: queue.Queue[tuple[Kind, str, Client]] = queue.Queue()
        self.socket = AskSocket(str(self.folder), lambda *question: self.questions.put(question))

    def connect(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.settimeout(60)
        opened = os.open(self.folder, os.O_PATH)
        made.connect(f"/proc/self/fd/{opened}/ask")
        os.close(opened)
        return made


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    found = Asked(tmp_path)
    yield found
    found.socket.end()
    assert not list(found.folder.iterdir())


def test_the_socket_takes_questions_and_gives_answers(asked: Asked) -> None:
    path = "d/" * 100 + "\udcff\n" + "x" * 255
    client = asked.connect()
    client.send(b"?" + os.fsencode(path))
    kind, found, answers = asked.questions.get(timeout=60)
    assert (kind, found) == (Kind.OTHERS, path)
    answers.still()
    answers.done(is_known=True)
    answers.done(is_known=False)
    answers.still()
    assert [client.recv(9), client.recv(9), client.recv(9)] == [b"w", b"d", b""]
    client.close()


def test_the_socket_gives_names_in_a_file(asked: Asked) -> None:
    names = ["fa", "l\udcff\n", *(f"f{number:07d}" for number in range(100_000))]
    client = asked.connect()
    client.send(b"lout")
    kind, path, answers = asked.questions.get(timeout=60)
    assert (kind, path) == (Kind.NAMES, "out")
    answers.done(True, names)
    answer, descriptors, _, _ = socket.recv_fds(client, 9, 9)
    client.close()
    assert answer == b"d"
    (descriptor,) = descriptors
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        assert [os.fsdecode(name) for name in file.read().split(b"\0")] == [*names, ""]


def test_the_socket_ignores_what_is_no_question_and_processes_that_end(asked: Asked) -> None:
    for text in (b"", b"a", b"?" * 9000):
        client = asked.connect()
        if text:
            client.send(text)
            assert client.recv(9) == b""
        client.close()
    gone = asked.connect()
    gone.send(b"!gone")
    gone.close()
    asked.questions.get(timeout=60)[2].done(is_known=True)
    last = asked.connect()
    last.send(b"!last")
    assert asked.questions.get(timeout=60)[:2] == (Kind.OWN, "last")
    asked.socket.end()
    assert last.recv(9) == b"u", "who waits at the end gets an answer"
    last.close()


def test_the_socket_ignores_other_users(asked: Asked) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    folder = os.open(asked.folder, os.O_PATH)
    os.fchmod(os.open(asked.folder, os.O_RDONLY), 0o755)
    os.chmod(asked.folder / "ask", 0o777)
    script = f"""
import os, socket
os.setuid(65534)
made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
made.settimeout(60)
made.connect("/proc/self/fd/{folder}/ask")
try:
    made.send(b"?name")
    print(made.recv(9))
except (ConnectionResetError, BrokenPipeError):
    print(b"")
"""
    done = subprocess.run([sys.executable, "-c", script], pass_fds=[folder], capture_output=True, text=True, check=True)
    os.close(folder)
    assert done.stdout == "b''\n"
    assert asked.questions.empty()
