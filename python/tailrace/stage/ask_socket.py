"""The Unix socket of a node's agent, to which processes of the node send the names of files that they do not find."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from enum import Enum

SOCKET_FILE = "ask"
MOST_BYTES = 1 + 2 * 4096 + 2  # of a question: its kind and one or two paths (src/preload/ask.hpp)
MOST_WAITING = 4096
SEND_S = 1.0  # limit for a process to send its question after it has connected
NO_DESCRIPTOR_S = 0.01  # pause if this process cannot open more files
CREDENTIALS = struct.Struct("3i")  # process, user, group


class Kind(Enum):
    """What a process asks for. The values are those of src/preload/ask.hpp."""

    OTHERS = b"?"  # another node is to deliver the file
    OWN = b"!"  # this node is to deliver the file
    BELOW = b"/"  # all files below the folder are to be taken out of bundles
    REMOVED = b"x"  # the file is about to be removed or renamed: it is in no bundle any more
    NAMES = b"l"  # the names of the files in the folder that other nodes or bundles have
    MOVE = b"m"  # other nodes are to rename a folder on their scratch
    MOVE_BACK = b"M"  # the nodes that have done so are to undo it


class Client:
    """A process that waits for an answer. Its methods are thread-safe, and never block."""

    def __init__(self, connection: socket.socket, ended: Callable[[Client], None]) -> None:
        self._connection, self._ended = connection, ended
        self._lock = threading.Lock()
        self._is_done = False

    def still(self) -> None:
        """Says that a node delivers the file, and that the process should continue to wait."""
        with self._lock:
            if not self._is_done:
                self._send(b"w")

    def done(self, is_known: bool, names: Sequence[str] = ()) -> None:
        """The last answer. `is_known`: all nodes have answered. `names`: those that were asked for, each after a letter
        (names_text). Only the first call counts."""
        with self._lock:
            if self._is_done:
                return
            self._is_done = True
            self._send(b"d" if is_known else b"u", names)
            self._connection.close()
        self._ended(self)

    def _send(self, answer: bytes, names: Sequence[str] = ()) -> None:
        flags = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
        with contextlib.suppress(OSError):  # the process has ended, or does not wait any more
            if not names:
                self._connection.send(answer, flags)
                return
            # A file in memory, because a packet has a limit.
            with os.fdopen(os.memfd_create("tailrace-names"), "wb") as file:
                file.write(names_text(names))
                file.flush()
                socket.send_fds(self._connection, [answer], [file.fileno()], flags)


def names_text(names: Sequence[str]) -> bytes:
    """As the preload reads it: a letter and a name, which ends with a zero byte. f: a file; l: a symbolic link."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


Ask = Callable[[Kind, str, Client], None]


class AskSocket:
    """Listens until `end`, and calls `ask` with each question, in one thread. `folder` belongs to this user and is closed to
    others. Raises OSError."""

    def __init__(self, folder: str, ask: Ask) -> None:
        self._path, self._ask = os.path.join(folder, SOCKET_FILE), ask
        self._waiting: set[Client] = set()
        self._lock = threading.Lock()
        self._is_over = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            # RATIONALE: the address of a socket has at most 107 bytes, and the path of scratch may be longer.
            self._socket.bind(f"/proc/self/fd/{opened}/{SOCKET_FILE}")
            self._socket.listen(MOST_WAITING)
        except BaseException:
            self._socket.close()
            raise
        finally:
            os.close(opened)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._is_over:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if not self._is_over:
                    threading.Event().wait(NO_DESCRIPTOR_S)
                continue
            try:
                self._take(connection)
            except OSError:  # the process has ended
                connection.close()

    def _take(self, connection: socket.socket) -> None:
        _, user, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        connection.settimeout(SEND_S)
        question, _, flags, _ = connection.recvmsg(MOST_BYTES)
        may_ask = user in (0, os.geteuid()) and not flags & socket.MSG_TRUNC
        kinds = [kind for kind in Kind if may_ask and kind.value == question[:1]]
        if not kinds:
            connection.close()
            return
        client = Client(connection, self._forget)
        with self._lock:
            self._waiting.add(client)
        self._ask(kinds[0], os.fsdecode(question[1:]), client)

    def _forget(self, client: Client) -> None:
        with self._lock:
            self._waiting.discard(client)

    def end(self) -> None:
        """Removes the socket. Processes that still wait get the answer that not all nodes have answered."""
        self._is_over = True
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join()
        self._socket.close()
        with self._lock:
            waiting = list(self._waiting)
        for client in waiting:
            client.done(is_known=False)
