"""Starts a program on a node with the caller's standard streams, passes signals on, and ends as it ends.

As a program it is the remote shell of mpirun: AGENT [options of ssh] NODE WORD...; the words are a line for the shell, as with ssh.
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
NOT_REACHED = 255  # what ssh says


def start(
    end: socket.socket,
    node: str,
    command: Sequence[str],
    streams: Sequence[int] = (0, 1, 2),
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    anywhere: bool = False,
) -> None:
    """Asks for the program; `wait_for` gives its end. Closing `end` ends it too. Where the node lacks the folder, the program does
    not start; with `anywhere` it does, in the node's folder for temporary files."""
    message = {"do": "exec", "node": node, "argv": list(command), "env": dict(os.environ if environment is None else environment)}
    wire.send(end, {**message, "cwd": directory or os.getcwd(), "anywhere": anywhere}, streams)


def wait_for(end: socket.socket) -> tuple[int, str]:
    """The exit status as a shell has it, and why it could not be started."""
    answer, _ = wire.receive(end)
    if answer is None:
        return NOT_REACHED, "the cluster, or the node, has ended"
    return int(answer.get("exit", NOT_REACHED)), str(answer.get("error", ""))


def run(
    cluster: str, node: str, command: Sequence[str], environment: Mapping[str, str] | None = None, anywhere: bool = False
) -> tuple[int, str]:
    """In the foreground, with our own streams; signals that end us go to the program, but those that we ignore."""
    with wire.connect(cluster) as end:

        def pass_on(number: int, frame: FrameType | None) -> None:
            wire.send(end, {"signal": number})

        heard = [number for number in PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, pass_on) for number in heard}
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
