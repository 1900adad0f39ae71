"""Keepers, one for each thread that runs members."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tailrace.ensemble.values import MemberError

PROGRAM = Path(__file__).with_name("keeper.py")
VARIABLE = "TAILRACE_MEMBER"  # marks all processes of a member, also those that have left its session

_of_thread = threading.local()


class Keeper:
    """A keeper process. It ends when this object does, or when this process is killed."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Waits for the member. Raises MemberError where the keeper was killed; the member's processes have ended then, too."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            os.write(stdin.fileno(), json.dumps(request).encode() + b"\n")
            line = stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            self.close()
            end_processes_of(request["environment"][VARIABLE])
            raise MemberError("lost", f"its keeper ended with status {self.process.returncode}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def keeper_of_thread() -> Keeper:
    found: Keeper | None = getattr(_of_thread, "keeper", None)
    if found is None or found.process.poll() is not None:
        found = _of_thread.keeper = Keeper()
    return found


def end_processes_of(mark: str) -> int:
    """Kills all processes whose environment has this mark, or one that begins with it and `/`. Returns how many there were."""
    wanted = f"{VARIABLE}={mark}".encode()
    ended = 0
    for _ in range(20):  # a process may start another one while this looks
        found = [pid for pid in _pids() if _is_marked(pid, wanted)]
        if not found:
            break
        ended = max(ended, len(found))
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    return ended


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _is_marked(pid: int, wanted: bytes) -> bool:
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z" and any(word == wanted or word.startswith(wanted + b"/") for word in content.split(b"\0"))
