"""One checked function for each system call that Python 3.11 does not have."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_BIND = 4096
MS_REC = 16384
MS_SLAVE = 1 << 19

PR_SET_NAME = 15

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str = "none", flags: int = 0, options: str = "") -> None:
    words = [word.encode() for word in (source, target, kind)]
    _checked(_libc.mount(*words, ctypes.c_ulong(flags), options.encode()), f"mount {source} at {target}")


def bind(source: str, target: str) -> None:
    mount(source, target, flags=MS_BIND)


def mount_memory(target: str, size_bytes: int) -> None:
    mount("tmpfs", target, "tmpfs", options=f"size={size_bytes},mode=755")


def name_process(name: str) -> None:
    """Sets the name that `ps` shows."""
    _checked(_libc.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0), "prctl")
