"""The agent of a node: `python -m tailrace.stage.node_agent [NODE]`, started by `tailrace run` on each other node of a job.

It reads orders from its standard input, one JSON object a line, and sends messages on its standard output (agent_lines):

- stage: makes the folder on scratch. Sends `ready` with node, scratch, device and inode. Sends `failed` with the reason, or
  `same` if this is the node of the command.
- look: ends copying, and lists the names on scratch in the folder of the log. Sends `looked`: the fields of Look.
- deliver: has the nodes that are to deliver, and the paths that other nodes deliver. Sends `progress`, then `delivered`: the
  fields of Delivered.
- have, give, answer, still: about files that processes of other nodes do not find (node_questions, questions). Sends `ask`,
  `has`, `giving` and `gave`.
- left: sends a text about the files on scratch at this moment.
- abandon: has the nodes that are to remove their folders.

While it works on an order it sends `alive`. If its input ends, files that no order has delivered stay on scratch, and
`tailrace drain resume` delivers them.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tailrace.json_text import parse_json
from tailrace.launch.job_nodes import SLURM_NODE
from tailrace.stage.agent_lines import lines_of
from tailrace.stage.drain import StageError
from tailrace.stage.node_questions import ORDERS, NodeQuestions
from tailrace.stage.node_staging import Delivered, NodeStaging
from tailrace.stage.order import StageOrder
from tailrace.toml_table import TomlError

ALIVE_S = 2.0
# RATIONALE: a terminal, a connection that ends and the time limit of a job send these signals, while programs on the node still
# write. So only the end of the input ends the agent.
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Message = Mapping[str, Any]


class NodeAgent:
    """`send` sends one message. The agent works on one order at a time, but for `left` and those about files that other nodes
    ask for, which it answers at once."""

    def __init__(self, send: Callable[[Message], None], name: str) -> None:
        self._send, self._name = send, name
        self._questions = NodeQuestions(send, name)
        self._staging: NodeStaging | None = None
        self._work: threading.Thread | None = None

    def serve(self, orders: Iterable[bytes]) -> None:
        for line in orders:
            if not self._obey(parse_json(line.decode())):
                break
        self._questions.end()
        self._wait()  # a delivery that has begun ends, also if the command was killed

    def _obey(self, order: dict[str, Any]) -> bool:
        """Returns False if the agent is to end."""
        match order["do"]:
            case "stage":
                return self._stage(order)
            case "look" if self._staging:
                staging = self._staging
                self._begin(lambda: {"kind": "looked", **dataclasses.asdict(staging.look())})
            case "deliver" if self._staging and self._name in order["nodes"]:
                self._deliver(self._staging, order["nodes"][self._name])
            case kind if kind in ORDERS and self._staging:
                self._questions.obey(order, self._staging)
            case "left" if self._staging:
                self._say_left(self._staging)
            case "abandon" if self._staging and self._name in order["nodes"]:
                self._wait()
                self._staging.abandon()
                return False
        return True  # an order for other nodes, or one that this version does not know

    def _stage(self, order: dict[str, Any]) -> bool:
        if order["command_is_on"] == os.uname().nodename:
            self._send({"kind": "same"})
            return False
        try:
            self._staging = NodeStaging(StageOrder.from_json(order["order"]))
        except (StageError, TomlError, OSError) as error:
            self._send({"kind": "failed", "why": str(error)})
            return False
        record = self._staging.record
        self._staging.begin(self._questions.ask)
        self._send(
            {"kind": "ready", "node": record.name, "scratch": record.scratch, "device": record.device, "inode": record.inode}
        )
        return True

    def _deliver(self, staging: NodeStaging, doubles: list[str]) -> None:
        def work() -> Message:
            try:
                done = staging.deliver(doubles, lambda now: self._send({"kind": "progress", "bytes": now["bytes"]}))
            except (StageError, OSError) as error:
                done = Delivered.stopped(f"files are not delivered: {error}", staging.record.scratch)
            return {"kind": "delivered", **dataclasses.asdict(done)}

        self._begin(work)

    def _say_left(self, staging: NodeStaging) -> None:
        try:
            self._send({"kind": "left", "text": staging.left_text()})
        except (StageError, OSError) as error:
            self._send({"kind": "left", "text": str(error)})

    def _begin(self, work: Callable[[], Message]) -> None:
        self._wait()
        is_done = threading.Event()

        def run() -> None:
            try:
                answer = work()
            except (StageError, OSError) as error:
                answer = {"kind": "failed", "why": str(error)}
            except BaseException as error:
                # RATIONALE: without an answer the command would wait as long as this process says that it is alive.
                answer = {"kind": "failed", "why": f"a fault of the agent: {error!r}"}
                raise
            finally:
                is_done.set()
                self._send(answer)

        def say_alive() -> None:
            while not is_done.wait(ALIVE_S):
                self._send({"kind": "alive"})

        self._work = threading.Thread(target=run)
        self._work.start()
        threading.Thread(target=say_alive, daemon=True).start()

    def _wait(self) -> None:
        if self._work is not None:
            self._work.join()


class Lines:
    """Writes messages to standard output. If the reader is gone, the process continues: it may have files to deliver."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        with self._lock:
            try:
                sys.stdout.write("".join(lines_of(self._name, message)))
                sys.stdout.flush()
            except OSError:
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115  to the end of this process


def main() -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    name = sys.argv[1] if len(sys.argv) > 1 else os.environ.get(SLURM_NODE, os.uname().nodename)
    NodeAgent(Lines(name).send, name).serve(sys.stdin.buffer)


if __name__ == "__main__":
    main()
