"""What a power loss may leave of a run: the calls of a program below a directory, and images made from them.

The device has all that was flushed: the bytes of a file up to its last fsync, the names of a directory up to the last fsync of the
directory. Of what came later it has any part: each write whole, in part (pages) or not at all, each change of a name or not.
That is what ext4 without its journal may leave; file systems with a journal leave less. A rename is whole or not done.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.harness.oracle import whole_lines

PAGE = 4096
CALLS = (
    "openat,open,creat,pwritev,pwritev2,pwrite64,write,writev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,unlink,"
    "unlinkat,link,linkat,mkdir,mkdirat,rmdir,symlink,symlinkat,copy_file_range,sendfile"
)
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
DESCRIPTOR = re.compile(r"<((?:\\x[0-9a-f]{2})*)>")


def plain(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal.replace("\\x", ""))


@dataclass(frozen=True)
class Call:
    """One call: `name` is create, mkdir, remove, rename, write, size, sync or told (a line that the program printed)."""

    name: str
    path: str = ""
    to: str = ""
    offset: int = 0
    data: bytes = b""


def record(command: Sequence[str], log: Path) -> None:
    """Runs a command; what it and its children call is in the log."""
    words = ["strace", "-f", "-qq", "-y", "-xx", "-s", str(64 << 20), "-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(log)]
    subprocess.run([*words, *command], check=True, stdout=subprocess.DEVNULL, timeout=240)


def calls_of(log: Path, directory: str) -> list[Call]:
    """The calls below `directory`, in order, and the printed lines that begin with `accepted` or `closed`."""
    recording = Recording(directory)
    for _, name, text, result, opened in whole_lines(log.read_text().splitlines()):
        if not result.startswith(("-", "?")):
            recording.add(name, text.rpartition(")")[0].rstrip(), int(result, 0), opened)
    return recording.calls


class Recording:
    """The calls so far, and the size of each file after them."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.calls: list[Call] = []
        self.sizes: dict[str, int] = {}

    def is_below(self, path: str) -> bool:
        return path == self.directory or path.startswith(self.directory + "/")

    def put(self, call: Call) -> None:
        self.calls.append(call)
        if call.name == "create":
            self.sizes[call.path] = 0
        elif call.name == "write":
            self.sizes[call.path] = max(self.sizes[call.path], call.offset + len(call.data))
        elif call.name == "size":
            self.sizes[call.path] = call.offset
        elif call.name == "rename" and call.path in self.sizes:
            self.sizes[call.to] = self.sizes.pop(call.path)
        elif call.name == "rename":
            old, new = call.path + "/", call.to + "/"
            for path in [path for path in self.sizes if path.startswith(old)]:
                self.sizes[new + path[len(old) :]] = self.sizes.pop(path)
        elif call.name == "remove":
            self.sizes.pop(call.path, None)

    def add(self, name: str, arguments: str, result: int, opened: str) -> None:
        """`opened`: the file that the result is open on."""
        texts = [plain(text) for text, _ in STRING.findall(arguments)]
        path = texts[0].decode(errors="replace") if texts else ""
        if name in ("open", "openat", "creat"):
            path = plain(opened).decode() if opened else path
            if self.is_below(path) and ("O_CREAT" in arguments or name == "creat") and path not in self.sizes:
                self.put(Call("create", path))
            elif self.is_below(path) and "O_TRUNC" in arguments:
                self.put(Call("size", path))
        elif name in ("mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2"):
            base = DESCRIPTOR.search(arguments)
            paths = [text.decode() for text in texts]
            if base is not None:
                paths = [path if path.startswith("/") else f"{plain(base[1]).decode()}/{path}" for path in paths]
            if self.is_below(paths[0]):
                kind = {"m": "mkdir", "u": "remove"}.get(name[0], "rename" if name.startswith("ren") else "remove")
                self.put(Call(kind, paths[0], paths[-1]))
        else:
            self.add_of_descriptor(name, arguments, result, texts)

    def add_of_descriptor(self, name: str, arguments: str, result: int, texts: list[bytes]) -> None:
        if name in ("link", "linkat", "symlink", "symlinkat"):
            if self.is_below(texts[-1].decode(errors="replace")):
                raise AssertionError(f"{name}: not known to the images")
            return
        found = DESCRIPTOR.search(arguments)
        path = plain(found[1]).decode(errors="replace") if found else ""
        if name == "write" and arguments.startswith("1<") and re.fullmatch(rb"(accepted \d+|closed)\n", texts[0]):
            self.put(Call("told", texts[0].decode().strip()))
        if not self.is_below(path) or path.endswith(" (deleted)"):
            return
        numbers = [int(word) for word in re.findall(r"(?<=, )(\d+)(?=,|$)", arguments)]
        if name in ("fsync", "fdatasync"):
            self.put(Call("sync", path))
        elif name == "ftruncate":
            self.put(Call("size", path, offset=numbers[-1]))
        elif name == "fallocate":
            if "KEEP_SIZE" not in arguments:
                self.put(Call("size", path, offset=max(self.sizes[path], numbers[-2] + numbers[-1])))
        elif name in ("pwritev", "pwritev2", "pwrite64"):
            at = numbers[-1] if name != "pwritev2" else numbers[-2]
            self.put(Call("write", path, offset=at, data=b"".join(texts)[:result]))
        elif name in ("write", "writev"):
            self.put(Call("write", path, offset=self.sizes[path], data=b"".join(texts)[:result]))
        else:
            raise AssertionError(f"{name} on {path}: not known to the images")


@dataclass
class FileImage:
    """The bytes on the device, and the changes that may be there."""

    content: bytearray = field(default_factory=bytearray)
    later: list[Call] = field(default_factory=list)

    def change(self, call: Call) -> None:
        if call.name == "size":
            change = call.offset - len(self.content)
            if change < 0:
                del self.content[call.offset :]
            else:
                self.content.extend(bytes(change))
            return
        end = call.offset + len(call.data)
        if len(self.content) < end:
            self.content.extend(bytes(end - len(self.content)))
        self.content[call.offset : end] = call.data

    def sync(self) -> None:
        for call in self.later:
            self.change(call)
        self.later.clear()

    def some(self, rng: random.Random, how: str) -> bytes:
        """`how`: all, none, a first part of the changes, any of them, or any of their pages."""
        copy = FileImage(bytearray(self.content))
        chosen = self.later
        if how == "none":
            chosen = []
        elif how == "first":
            chosen = self.later[: rng.randint(0, len(self.later))]
        elif how == "any":
            chosen = [call for call in self.later if rng.random() < 0.5]
        elif how == "pages":
            chosen = [piece for call in self.later for piece in pages(call) if rng.random() < 0.5]
        for call in chosen:
            copy.change(call)
        return bytes(copy.content)


def pages(call: Call) -> Iterator[Call]:
    """A write of several pages reaches the device page by page."""
    if call.name != "write":
        yield call
        return
    at, end = call.offset, call.offset + len(call.data)
    while at < end:
        to = min((at // PAGE + 1) * PAGE, end)
        yield Call("write", call.path, offset=at, data=call.data[at - call.offset : to - call.offset])
        at = to


Names = dict[str, int | None]  # a path, and its file; None: a directory


class Device:
    """All calls up to a moment: `names` as the program sees them, `durable` as they are on the device at least."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files: list[FileImage] = []
        self.names: Names = {}
        self.durable: Names = {root: None}
        self.later: list[Call] = []
        self.told: list[str] = []
        self.moved: dict[str, str] = {}  # directories: the first name, and the present one
        self.moved_on_device: dict[str, str] = {}

    def do(self, call: Call) -> None:
        if call.name == "told":
            if call.path not in self.told:  # mpirun prints it once more
                self.told.append(call.path)
        elif call.name in ("write", "size"):
            number = self.names[call.path]
            assert number is not None, call.path
            self.files[number].later.append(call)
        elif call.name == "sync":
            number = self.names.get(call.path)
            if number is None:
                self.sync_names(call.path)
            else:
                self.files[number].sync()
        elif call.path != self.root:
            if call.name == "create":
                self.files.append(FileImage())
                call = Call("create", call.path, offset=len(self.files) - 1)
            elif call.name == "rename" and (number := self.names[call.path]) is not None:
                call = Call("rename", call.path, call.to, offset=number + 1)
            elif call.name == "rename":
                self.moved[call.path] = call.to
            change_names(self.names, call)
            self.later.append(call)

    def sync_names(self, directory: str) -> None:
        """A rename between two directories is whole with the first of them that is flushed."""
        kept = []
        for call in self.later:
            directories = {parent(call.path), below(parent(call.path) + "/", self.moved).rstrip("/")}
            if call.name == "rename":
                directories.add(parent(call.to))
            if directory in directories:
                self.change_durable(self.durable, call)
                if call.path in self.moved:
                    self.moved_on_device[call.path] = call.to
            else:
                kept.append(call)
        self.later = kept

    def change_durable(self, names: Names, call: Call) -> None:
        """A directory may have its new name on the device before what was made in it."""
        if call.name != "rename":
            call = Call(call.name, below(call.path, self.moved_on_device), offset=call.offset)
        change_names(names, call)

    def image(self, rng: random.Random, target: Path) -> str:
        """Writes one image into `target`; says how it was chosen."""
        how = rng.choice(["all", "none", "first", "any", "pages"])
        of_names = rng.choice(["all", "none", "first", "any"])
        names = dict(self.durable)
        chosen = {
            "all": self.later,
            "none": [],
            "first": self.later[: rng.randint(0, len(self.later))],
            "any": [call for call in self.later if rng.random() < 0.5],
        }[of_names]
        for call in chosen:
            self.change_durable(names, call)
        target.mkdir(parents=True)
        # The directory of a name that is on the device is there, too: else the name cannot be reached.
        for path, number in sorted(names.items()):
            here = target / path[len(self.root) :].lstrip("/")
            if not here.parent.is_dir():
                continue
            if number is None:
                here.mkdir(exist_ok=True)
            else:
                here.write_bytes(self.files[number].some(rng, how))
        return f"bytes: {how}, names: {of_names}"


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def below(path: str, moved: dict[str, str]) -> str:
    """The path after directories above it were renamed."""
    for old, new in moved.items():
        if path.startswith(old + "/"):
            path = new + path[len(old) :]
    return path


def change_names(names: Names, call: Call) -> None:
    if call.name == "create":
        names[call.path] = call.offset
    elif call.name == "mkdir":
        names[call.path] = None
    elif call.name == "remove":
        names.pop(call.path, None)
    elif call.name == "rename" and call.offset > 0:  # of a file: whatever name it has on the device
        names.pop(call.path, None)
        names[call.to] = call.offset - 1
    elif call.name == "rename":  # of a directory: with what its own names are on the device
        moved = {path: number for path, number in names.items() if path == call.path or path.startswith(call.path + "/")}
        for path in moved:
            del names[path]
        names[call.to] = None
        for path, number in moved.items():
            names[call.to + path[len(call.path) :]] = number
