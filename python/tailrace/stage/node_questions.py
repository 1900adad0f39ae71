"""Questions at the agent of a node: those of its processes go to the command, and those of the command are answered here."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from tailrace.stage.ask_socket import Client
from tailrace.stage.bundle_words import Move
from tailrace.stage.giver import Result
from tailrace.stage.node_staging import NodeStaging

ORDERS = {"have", "give", "list", "move", "answer", "still"}


class NodeQuestions:
    """`send` sends a message to the command; `name` is the agent's name there."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None], name: str) -> None:
        self._send, self._name = send, name
        self._clients: dict[int, Client] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def ask(self, path: str, client: Client) -> None:
        with self._lock:
            number = next(self._numbers)
            self._clients[number] = client
        self._send({"kind": "ask", "id": number, "path": path})

    def obey(self, order: Mapping[str, Any], staging: NodeStaging) -> None:
        """Obeys an order of ORDERS, at once."""
        match order["do"]:
            case "have" if order["asker"] != self._name:
                is_there = staging.has(order["path"])
                self._send({"kind": "has", "question": order["question"], "is_there": is_there})
            case "give" if order["node"] == self._name:
                self._give(staging, order["path"], order["question"])
            case "list" if order["asker"] != self._name:
                self._list(staging, order["folder"], order["question"])
            case "move" if order["asker"] != self._name:
                self._move(staging, Move(order["source"], order["to"], bool(order["is_back"])), order["question"])
            case "answer" if order["node"] == self._name:
                with self._lock:
                    client = self._clients.pop(order["id"], None)
                if client is not None:
                    client.done(order["is_known"], order["names"])
            case "still" if order["node"] == self._name:
                with self._lock:
                    client = self._clients.get(order["id"])
                if client is not None:
                    client.still()

    def _give(self, staging: NodeStaging, path: str, question: int) -> None:
        def done(result: Result) -> None:
            self._send({"kind": "gave", "question": question, "outcome": result.outcome.value, "why": result.why})

        staging.give(path, done, lambda: self._send({"kind": "giving", "question": question}))

    def _list(self, staging: NodeStaging, folder: str, question: int) -> None:
        def done(result: Result) -> None:
            self._send({"kind": "names", "question": question, "names": result.names, "why": result.why})

        staging.names_in(folder, done, lambda: self._send({"kind": "giving", "question": question}))

    def _move(self, staging: NodeStaging, move: Move, question: int) -> None:
        def done(result: Result) -> None:
            self._send({"kind": "moved", "question": question, "why": result.why})

        staging.move(move, done, lambda: self._send({"kind": "giving", "question": question}))

    def end(self) -> None:
        """The command has ended, so no question will be answered."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.done(is_known=False)
