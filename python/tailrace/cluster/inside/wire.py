"""Messages between the processes of a cluster: a line of JSON and descriptors, over Unix sockets that keep messages apart.

The door of a cluster is its supervisor's listening socket. From the machine it is reached by an abstract name, which leaves no file
and is free again when the supervisor is gone; from the nodes by a path, as abstract names belong to a network namespace.
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
MOST_BYTES = 1 << 20  # the environment of a program is the largest part
MOST_DESCRIPTORS = 8


def new_socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    widen(made)
    return made


def pair() -> tuple[socket.socket, socket.socket]:
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        widen(end)
    return ends


def widen(end: socket.socket) -> None:
    """A message is sent whole or not at all, so the largest must fit."""
    forced = 32  # SO_SNDBUFFORCE, beyond the machine's limit
    with contextlib.suppress(PermissionError):  # of who is not root, and not let in
        end.setsockopt(socket.SOL_SOCKET, forced, 2 * MOST_BYTES)


def send(end: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = (), flags: int = 0) -> None:
    text = json.dumps(message).encode()
    if len(text) > MOST_BYTES:  # the other end would see a part of it
        raise OSError(errno.E2BIG, f"a message of {len(text)} bytes: a command and its environment may have {MOST_BYTES}")
    socket.send_fds(end, [text], list(descriptors), flags)


def receive(end: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """None: the other end is closed. Descriptors are not inherited by programs. OSError for what is no message."""
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
    """Process (as we number them; 0 where we cannot see it) and user at the other end: of a door, who has begun to listen."""
    pid, user, _ = struct.unpack("=iII", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, user


def connect(cluster: str) -> socket.socket:
    """The door of a cluster by its name; on a node, of its cluster, whatever the name. Raises OSError where none is up."""
    end = new_socket()
    try:
        end.connect(DOOR if os.path.exists(DOOR) else f"{PREFIX}{cluster}")
        if peer_of(end)[1] != 0:  # anybody may take an abstract name, and we hand over our environment and our terminal
            raise PermissionError(errno.EPERM, f"who listens as cluster '{cluster}' is not root")
    except OSError:
        end.close()
        raise
    return end


def ask(end: socket.socket, message: dict[str, Any]) -> dict[str, Any]:
    send(end, message)
    answer, _ = receive(end)
    return answer if answer is not None else {"error": "the cluster has ended"}
