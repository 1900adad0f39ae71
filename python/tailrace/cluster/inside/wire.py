"""Messages between the processes of a cluster: a line of JSON and descriptors, over Unix sockets that keep message boundaries.

The door of a cluster is its supervisor's listening socket. The machine reaches it by an abstract name, which needs no file and is
free again after the supervisor's end. Nodes reach it by a path, because abstract names belong to a network namespace.
"""

from __future__ import annotations

import array
import contextlib
import errno
import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

from .paths import DOOR

PREFIX = "\0tailrace/cluster/"
MOST_BYTES = 1 << 20  # mostly a program's environment
MOST_DESCRIPTORS = 8


def new_socket() -> socket.socket:
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    widen(end)
    return end


def pair() -> tuple[socket.socket, socket.socket]:
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        widen(end)
    return ends


def widen(end: socket.socket) -> None:
    """Enlarges the send buffer: a message is sent whole or not at all, so the largest must fit."""
    forced = 32  # SO_SNDBUFFORCE, beyond the machine's limit
    with contextlib.suppress(PermissionError):  # only root may do so, and the supervisor refuses others anyway
        end.setsockopt(socket.SOL_SOCKET, forced, 2 * MOST_BYTES)


def send(end: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = (), flags: int = 0) -> None:
    text = json.dumps(message).encode()
    if len(text) > MOST_BYTES:  # the other end would receive only a part of it
        raise OSError(
            errno.E2BIG,
            f"a message of {len(text)} bytes: a command and its environment may have {MOST_BYTES}; unset large variables",
        )
    socket.send_fds(end, [text], list(descriptors), flags)


def receive(end: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The message and its descriptors, which programs do not inherit. None: the other end is closed. Raises OSError for other
    bytes."""
    space = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
    data, ancillary, _, _ = end.recvmsg(MOST_BYTES, space, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    if not data:
        return None, list(descriptors)
    try:
        message = json.loads(data)
        if not isinstance(message, dict):
            raise ValueError("not a dictionary")
    except (ValueError, RecursionError) as error:
        for descriptor in descriptors:
            os.close(descriptor)
        raise OSError(errno.EBADMSG, f"not a message: {error}") from None
    return message, list(descriptors)


def peer_of(end: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end; for a door, those that began to listen. The process has the number that it has
    here, 0 where it is not visible."""
    pid, user, _ = struct.unpack("=iII", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, user


def connect(cluster: str) -> socket.socket:
    """Connects to the door of a cluster by its name; on a node, to its own cluster under any name. Raises OSError where none is
    up."""
    end = new_socket()
    try:
        end.connect(DOOR if os.path.exists(DOOR) else f"{PREFIX}{cluster}")
        if peer_of(end)[1] != 0:  # any user may take an abstract name, and the environment and terminal go to the other end
            raise PermissionError(
                errno.EPERM,
                f"the process that listens as cluster '{cluster}' is not root's: end it, or choose another name with -c",
            )
    except OSError:
        end.close()
        raise
    return end


def ask(end: socket.socket, message: dict[str, Any]) -> dict[str, Any]:
    send(end, message)
    reply, _ = receive(end)
    return reply if reply is not None else {"error": "the cluster has ended"}
