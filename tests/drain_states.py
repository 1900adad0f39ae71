"""The drain's states, read from its own table; and folders of files whose names and contents are hard to carry."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.environment import ROOT

STATE_FOLDER = ".tailrace-drain"
ALL_STATES = re.findall(r'^TAILRACE_DRAIN_STATE\((\w+), "', (ROOT / "src/stage/states.def").read_text(), re.MULTILINE)
STATES = [state for state in ALL_STATES if not state.startswith("early_")]
EARLY_STATES = [state for state in ALL_STATES if state.startswith("early_")]  # of copies that are made while a program runs
NAMES = [
    b"plain",
    b"with space",
    b"new\nline",
    "späte Zürich é".encode(),
    b"\xff\xfe not text",
    b"x" * 255,
    b"-dash",
    b"deep/" * 12 + b"y" * 200,
    b"% %41",
]

Content = dict[bytes, bytes]  # path to bytes; of a symbolic link "-> " and what it says


def make_files(folder: Path, rng: random.Random, count: int = 12) -> Content:
    root = os.fsencode(folder)
    made: Content = {}
    names = NAMES + [f"data/{k % 3}/file.{k:04}".encode() for k in range(count)]
    for name in names:
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        content = rng.randbytes(rng.choice([0, 1, 511, 512, 513, 5000, 20000]))
        with open(path, "wb") as file:
            file.write(content)
        os.utime(path, ns=(10**9, rng.randrange(10**9, 17 * 10**17)))
        made[name] = content
    os.symlink("plain", os.path.join(root, b"link"))
    made[b"link"] = b"-> plain"
    os.link(os.path.join(root, b"plain"), os.path.join(root, b"second name"))
    made[b"second name"] = made[b"plain"]
    return made


def files_below(folder: Path) -> Content:
    found: Content = {}
    root = os.fsencode(folder)
    for parent, folders, names in os.walk(root):
        if parent == root:
            folders[:] = [name for name in folders if not name.startswith(STATE_FOLDER.encode())]
        for name in names:
            path = os.path.join(parent, name)
            relative = os.path.relpath(path, root)
            found[relative] = b"-> " + os.readlink(path) if os.path.islink(path) else Path(os.fsdecode(path)).read_bytes()
    return found


def delivered(target: Path, sink: str) -> Content:
    """By names; of a file in several bundles that of the last."""
    if not target.exists() or sink == "mirror":
        return files_below(target)
    found: Content = {}
    for bundle in sorted(target.glob("*.tar*")):
        with open_bundle(bundle) as tar:
            for member in tar:
                name = os.fsencode(member.name)
                if member.issym():
                    found[name] = b"-> " + os.fsencode(member.linkname)
                elif member.isreg() or member.islnk():
                    found[name] = tar.extractfile(member).read()  # type: ignore[union-attr]
    return found


def open_bundle(bundle: Path) -> tarfile.TarFile:
    """A compressed bundle as the program zstd decompresses it."""
    if bundle.suffix != ".zst":
        return tarfile.open(bundle, encoding="utf-8", errors="surrogateescape")
    plain = subprocess.run(["zstd", "--quiet", "--decompress", "--stdout", bundle], check=True, capture_output=True).stdout
    return tarfile.open(fileobj=io.BytesIO(plain), encoding="utf-8", errors="surrogateescape")


@dataclass
class DrainCase:
    program: Path
    faults: Path
    scratch: Path
    target: Path
    sink: str = "mirror"  # or bundle, or zstd: bundles that are compressed
    options: tuple[str, ...] = ("--files", "7")
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def fired(self) -> bool:
        return self.marker.exists()

    @property
    def marker(self) -> Path:
        return self.scratch.parent / "fired"

    def drain(self, **fault: str) -> subprocess.CompletedProcess[str]:
        """`fault`: variables of tests/faults/drain.c, in lower case."""
        return self.call("copy", *self.form, *self.options, **fault)

    @property
    def form(self) -> tuple[str, ...]:
        return ("--sink", "bundle", "--compression", "zstd") if self.sink == "zstd" else ("--sink", self.sink)

    def beside(self, quiet: str = "0", **fault: str) -> subprocess.CompletedProcess[str]:
        """Copies once what a program that runs has closed."""
        if not (self.scratch / STATE_FOLDER / "journal.jsonl").exists():
            assert self.call("announce").returncode == 0
        return self.call("beside", "--once", "--quiet", quiet, **fault)

    def early_copies(self) -> list[Path]:
        return [path for path in self.target.glob(".tailrace-drain-*/*/*") if path.name != "lock"]

    def give(self, groups: Sequence[Sequence[bytes]], **fault: str) -> subprocess.CompletedProcess[str]:
        """Delivers groups of files while a program would run."""
        names = "".join(os.fsdecode(name) + "\0" for group in groups for name in (*group, b""))
        return self.call("give", "--parent", str(os.getpid()), names=names, **fault)

    def call(self, verb: str, *options: str, names: str = "", **fault: str) -> subprocess.CompletedProcess[str]:
        variables = {f"DRAIN_{key.upper()}": value for key, value in fault.items()}
        if fault:
            variables |= {"LD_PRELOAD": str(self.faults), "DRAIN_FIRED": str(self.marker)}
        return subprocess.run(
            [self.program, verb, self.scratch, self.target, *options],
            env={**os.environ, **self.environment, **variables},
            input=names,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=120,
            check=False,
        )

    def nothing_lost_nothing_half(self, made: Content) -> None:
        """Each file is whole on scratch, or set aside there, or whole at the target; what is at the target is whole."""
        at_target, on_scratch = delivered(self.target, self.sink), files_below(self.scratch)
        aside = list(files_below(self.scratch / STATE_FOLDER / "removing").values())
        for name, content in at_target.items():
            assert content == made[name], f"{name!r} at the target is not what was written"
        for name, content in made.items():
            assert name in at_target or on_scratch.get(name) == content or content in aside, f"{name!r} is lost"
