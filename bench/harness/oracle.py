"""Reads the output of strace for a run: calls and bytes by file, those of the loader separate."""

from __future__ import annotations

import enum
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# System calls by their effect on a file. Others (reading links, memory, sockets) are not compared.
CLASSES = {
    "read": ("read", "pread64", "readv", "preadv", "preadv2"),
    "write": ("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range"),
    "open": ("open", "openat", "creat", "openat2"),
    "close": ("close",),
    "seek": ("lseek",),
    "look": ("stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2"),
    "sync": ("fsync", "fdatasync", "sync_file_range"),
    "name": (
        *("unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir"),
        *("link", "linkat", "symlink", "symlinkat", "truncate", "ftruncate", "fallocate"),
    ),
}
CLASS_OF = {name: kind for kind, names in CLASSES.items() for name in names}
LOADED = ("prlimit64", "munmap")  # the loader's last calls: it reads the limit of stacks, and unmaps its cache
MAKES = ("clone", "clone3", "vfork", "fork")
WANTED = (*CLASS_OF, *MAKES, "execve", "execveat", "mmap", *LOADED)
LINE = re.compile(r"^(\d+)\s+(?:(\w+)\((.*)|<\.\.\. (\w+) resumed>(.*)|(\+\+\+|---).*)$")
RESULT = re.compile(r"\)\s+= (-?\d+|0x[0-9a-f]+|\?)(?:<(.*?)>)?(?: |$)")
DESCRIPTOR = re.compile(r"^-?\d+<(.*?)>(?:\(deleted\))?(?=[,)\s]|$)")
OF_PROCESS = re.compile(r"^/proc/(self|thread-self|\d+)(/task/\d+)?(?=/|$)|^/proc(?=/net/|/mounts$)")
HERE = re.compile(r"AT_FDCWD<(.*?)>, ")
AT = re.compile(r"(?:AT_FDCWD|\d+)<(.*?)>, ")
OF_TRACER = re.compile(r"O_RDONLY\|O_LARGEFILE\|O_CLOEXEC\s*\)")  # a space stands there where another line came between
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
LIBRARY = re.compile(r"\.(so(\.\d[\w.]*)?|dylib)$")
OF_PROCESSORS = re.compile(r"/(glibc-hwcaps|tls|haswell|avx512_1|x86_64)(/|$)")  # folders in which the loader searches
CACHE = "/etc/ld.so.cache"


def command_of(record: Path, words: Iterable[str], variables: Iterable[str] = ()) -> list[str]:
    """The command that runs `words` under strace, with more variables in the environment of `words` only."""
    given = [word for variable in variables for word in ("-E", variable)]
    return [
        "strace",
        "-f",
        "-y",
        "-s",
        "0",
        "-e",
        "signal=none",
        "-e",
        f"trace={','.join(WANTED)}",
        "-o",
        str(record),
        *given,
        *words,
    ]


@dataclass(frozen=True)
class Seen:
    process: int
    name: str
    kind: str
    path: str
    result: int

    @property
    def bytes(self) -> int:
        return max(self.result, 0) if self.kind in ("read", "write") else 0


class Stage(enum.Enum):
    """What a process does, from one of its lines to the next."""

    VFORKED = enum.auto()  # a child of vfork until execve: it shares its parent's memory
    LOADS = enum.auto()  # from execve on: the loader
    HAS_CACHE = enum.auto()  # the loader, after it opened its cache
    RUNS = enum.auto()  # the program


@dataclass
class Traced:
    """One process while its lines are read."""

    stage: Stage
    program: str = ""
    folder: str = ""  # its working directory, as far as it is known
    left_out: set[int] = field(default_factory=set)  # open descriptors that are not compared


@dataclass
class Oracle:
    calls: list[Seen] = field(default_factory=list)  # of the programs
    loader: list[Seen] = field(default_factory=list)  # of the loader, and of children of vfork before their execve


def read_strace(record: Path, silent: Iterable[str] = ()) -> Oracle:
    """Reads the lines of strace. Programs named in `silent` are left out.

    The loader's calls are: those between execve and the end of its start; those on files named *.so with a version and on its
    cache, which come from dlopen later; and those of children of vfork until execve."""
    lines = list(whole_lines(record.read_text(errors="replace").splitlines()))
    sharing = {int(result) for _, name, text, result, _ in lines if _shares(name, text) and result.isdigit()}
    programs_left_out = frozenset(silent)
    processes: dict[int, Traced] = {}
    oracle = Oracle()
    for pid, name, text, result, decorated in lines:
        of = processes.setdefault(pid, Traced(Stage.VFORKED if pid in sharing else Stage.RUNS))
        if name in ("execve", "execveat"):
            if result == "0":
                quoted = QUOTED.search(text)
                of.program, of.stage = (quoted.group(1) if quoted else ""), Stage.LOADS
            continue
        if (name == "prlimit64" and of.stage is Stage.LOADS) or (name in LOADED and of.stage is Stage.HAS_CACHE):
            of.stage = Stage.RUNS
        if name in MAKES and result.isdigit():
            child = processes.setdefault(int(result), Traced(Stage.VFORKED if int(result) in sharing else Stage.RUNS))
            child.program = of.program
        if here := HERE.search(text):
            of.folder = here.group(1)
        kind = CLASS_OF.get(name)
        if kind is None or result == "?":
            continue
        path = _path_of(name, text, decorated, of.folder)
        if of.stage is Stage.LOADS and path == CACHE:
            of.stage = Stage.HAS_CACHE
        if Path(of.program).name in programs_left_out:
            continue
        if _is_left_out(of, name, kind, text, int(result)):
            continue
        seen = Seen(pid, name, kind, path, int(result))
        apart = of.stage is not Stage.RUNS or path == CACHE or _is_loaders(path, kind, text)
        (oracle.loader if apart else oracle.calls).append(seen)
    return oracle


def _is_loaders(path: str, kind: str, text: str) -> bool:
    """The loader examines libraries by descriptor, and searches folders; a program that searches for a library names it."""
    if kind == "look":
        return bool(OF_PROCESSORS.search(path) or (LIBRARY.search(path) and DESCRIPTOR.match(text)))
    return bool(LIBRARY.search(path))


def _is_left_out(of: Traced, name: str, kind: str, text: str, result: int) -> bool:
    """Whether a call is on a descriptor of O_PATH, which has no data and which the C library opens by itself, too; or on a file
    that the tracer reads itself: a program before it is started, or what the kernel says."""
    if kind == "open" and (OF_TRACER.search(text) or ("O_PATH" in text and result >= 0)):
        of.left_out.add(result)
        return True
    number = text.split("<", 1)[0]
    if not number.isdigit() or int(number) not in of.left_out:
        return False
    if name == "close":
        of.left_out.remove(int(number))
    return name in ("close", "pread64", "read")


def _shares(name: str, text: str) -> bool:
    return name == "vfork" or (name.startswith("clone") and "CLONE_VFORK" in text)


def whole_lines(lines: Iterable[str]) -> Iterator[tuple[int, str, str, str, str]]:
    """(process, system call, its arguments, its result, the file that the result is open on), in the order of their ends."""
    begun: dict[int, str] = {}
    for line in lines:
        match = LINE.match(line)
        if match is None or match.group(6):
            continue
        pid = int(match.group(1))
        name, text = match.group(2) or match.group(4), match.group(3) or match.group(5) or ""
        if match.group(2) and text.endswith("<unfinished ...>"):
            begun[pid] = text.removesuffix("<unfinished ...>")
            continue
        if match.group(4):
            text = begun.pop(pid, "") + text
        results = list(RESULT.finditer(text))
        if results:
            yield pid, name, text, results[-1].group(1), results[-1].group(2) or ""


def _path_of(name: str, text: str, decorated: str, here: str) -> str:
    """The file of a call; of two descriptors, the one that is written."""
    if name == "copy_file_range":
        text = text.split(", ", 2)[-1]
    if CLASS_OF[name] == "open" and decorated:
        return real(decorated)
    of_descriptor = DESCRIPTOR.match(text)
    quoted = QUOTED.search(text)
    if of_descriptor and quoted and CLASS_OF[name] == "look" and not quoted.group(1):
        return real(of_descriptor.group(1))  # AT_EMPTY_PATH
    if (of_descriptor and not quoted) or name in ("read", "write", "close", "lseek", "pread64", "pwrite64"):
        return real(of_descriptor.group(1)) if of_descriptor else ""
    if quoted is None or not quoted.group(1):
        return ""
    folder = AT.search(text[: quoted.start()])
    return real(os.path.join(folder.group(1) if folder else here, quoted.group(1)))


def real(name: str) -> str:
    """A name that is the same in logs and in strace's lines. Links are followed as far as they still exist. Files in /proc of
    different processes get the same name."""
    name = name.removesuffix("(deleted)").rstrip() if name.endswith("(deleted)") else name
    if not name.startswith("/"):
        return name
    return OF_PROCESS.sub("/proc/PROCESS", name) if name.startswith("/proc/") else os.path.realpath(name)


def is_compared(path: str, kind: str) -> bool:
    return path.startswith("/") or kind not in ("open", "close", "look")


def key_of(path: str, kind: str) -> tuple[str, str]:
    """Calls on names have no file, except in shared memory, where all calls have whole names."""
    return ("" if kind == "name" and not path.startswith("/dev/shm/") else path, kind)


def totals(calls: Iterable[Seen]) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """(file, kind) -> calls, and bytes. Calls on names have no file, because strace does not show the folder of relative names. For
    pipes and sockets only bytes are compared, because other calls open and close them, too."""
    number: Counter[tuple[str, str]] = Counter()
    moved: Counter[tuple[str, str]] = Counter()
    for call in calls:
        if is_compared(call.path, call.kind):
            number[key_of(call.path, call.kind)] += 1
        if call.bytes:
            moved[call.path, call.kind] += call.bytes
    return number, moved
