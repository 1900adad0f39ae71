"""Starts a program on a node with the caller's standard streams, passes signals on, and ends with the program's status.

As a program it is the remote shell of mpirun: AGENT [options of ssh] NODE WORD... As with ssh, the words are a line for the shell.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from types import FrameType

from . import wire

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
SSH_WITH_VALUE = ("-l", "-p", "-o", "-i", "-F")
NOT_REACHED = 255  # the exit status, as of ssh


def start(
    end: socket.socket,
    node: str,
    command: Sequence[str],
    streams: Sequence[int] = (0, 1, 2),
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    anywhere: bool = False,
) -> None:
    """Requests the start of a program; `wait_for` returns its end. Closing `end` ends the program, too. On a node without
    `directory` it does not start; with `anywhere` it starts in the node's folder for temporary files."""
    message = {"do": "exec", "node": node, "argv": list(command), "env": dict(os.environ if environment is None else environment)}
    wire.send(end, {**message, "cwd": directory or os.getcwd(), "anywhere": anywhere}, streams)


def wait_for(end: socket.socket) -> tuple[int, str]:
    """The exit status, as in a shell, and the reason where the program could not be started."""
    reply, _ = wire.receive(end)
    if reply is None:
        return NOT_REACHED, "the cluster, or the node, has ended"
    return int(reply.get("exit", NOT_REACHED)), str(reply.get("error", ""))


def run(
    cluster: str, node: str, command: Sequence[str], environment: Mapping[str, str] | None = None, anywhere: bool = False
) -> tuple[int, str]:
    """Runs a program on a node and waits for its end. It has this process's standard input, output and error. Signals that would
    end this process are sent to the program instead; those that this process ignores stay ignored."""
    with wire.connect(cluster) as end:

        def pass_on(number: int, frame: FrameType | None) -> None:
            wire.send(end, {"signal": number})

        passed = [number for number in PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, pass_on) for number in passed}
        try:
            start(end, node, command, environment=environment, anywhere=anywhere)
            return wait_for(end)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def main() -> int:
    words = sys.argv[1:]
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in SSH_WITH_VALUE else 1]
    if len(words) < 2:
        print("usage: NODE COMMAND...", file=sys.stderr)
        return 2
    status, reason = run("", words[0], ["/bin/sh", "-c", " ".join(words[1:])], anywhere=True)
    if reason:
        print(f"{words[0]}: {reason}", file=sys.stderr)
    return status
