"""A program that makes many small files, and the ways by which they come to the device: plainly, staged, copied by scripts."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench import harness
from bench.harness import login

PROCESSES, FILE_BYTES = 4, 16 << 10
LIMIT_S = 1200
READERS, PIECE_BYTES = 8, 1 << 20  # of the check
EACH = "cd {scratch}/out && for top in *; do "  # the folders of this node's processes
COMPARED = f'{EACH} diff -r "$top" "{{target}}/out/$top" || exit 1; done'
SYNCED = "(cd {scratch}/out && find * -print0) | (cd {target}/out && xargs -0 sync)"
COPY = f"mkdir -p {{target}}/out && cp -r {{scratch}}/out/. {{target}}/out/ && {SYNCED} && {COMPARED}"
RSYNC = f"mkdir -p {{target}}/out && rsync -a --fsync {{scratch}}/out/ {{target}}/out/ && {COMPARED}"
TAR = "tar -cf {tar} -C {scratch} out && sync {tar} && tar -df {tar} -C {scratch}"


@dataclass(frozen=True)
class Place:
    """Where the processes run: on this machine, or as ranks on the nodes of a cluster."""

    name: str
    disk: Path  # targets are made here
    memory: Path  # scratch; of each node
    has_nodes: bool = False

    def program(self, folder: Path, files: int, syncs: bool, *more: int, file_bytes: int = FILE_BYTES) -> list[str]:
        """The command that makes so many files in a new folder. `more`: steps, and milliseconds of computing behind each."""
        processes = 1 if self.has_nodes else PROCESSES
        each = files * processes // PROCESSES
        words = [str(harness.program("bench_stage")), str(folder), *map(str, (processes, each, file_bytes, int(syncs), *more))]
        return login.on_nodes(words, PROCESSES) if self.has_nodes else words

    def on_each_node(self, script: str) -> list[str]:
        words = ["sh", "-c", script]
        return login.on_nodes(words, login.NODES) if self.has_nodes else words


@dataclass(frozen=True)
class Method:
    """One way to the device. `measure` takes a place, a new folder for the files and their number, and returns the seconds of the
    program, and those until all is there."""

    name: str
    measure: Callable[[Place, Path, int], tuple[float, float]]
    is_claimed: bool = False  # by a bound; the others run once, because they take minutes
    removes: bool = False  # files on the disk
    needs_disk: bool = False  # scratch is on the disk of this machine


def ran(words: list[str], folder: Path) -> str:
    environment = {**harness.mpi_environment({}), "PYTHONPATH": str(harness.ROOT / "python")}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        raise harness.BenchError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def program_s(words: list[str], folder: Path) -> float:
    """Of the process that took longest."""
    return max(map(float, ran(words, folder).split()))


def plain(syncs: bool) -> Method:
    def measure(place: Place, target: Path, files: int) -> tuple[float, float]:
        begin = time.monotonic()
        seconds = program_s(place.program(target / "out", files, syncs), target)
        if not syncs:
            ran(place.on_each_node(f"sync -f {target}"), target)
        return seconds, time.monotonic() - begin

    return Method("with fsync" if syncs else "without fsync", measure, is_claimed=True)


def run_staged(target: Path, keys: str, words: list[str]) -> tuple[float, float]:
    """The seconds of the program, and those until all is at the target. `keys`: further lines of [stage]."""
    (target / "tailrace.toml").write_text(f'[stage]\nfiles = ["out/**"]\nmin_free = "64 MiB"\n{keys}')
    command = [str(harness.BUILD / "bin" / "tailrace"), "run", "--config", "tailrace.toml", "--log", str(target / "log"), "--"]
    begin = time.monotonic()
    seconds = program_s([*command, *words], target)
    return seconds, time.monotonic() - begin


def staged(where: str, sink: str) -> Method:
    def measure(place: Place, target: Path, files: int) -> tuple[float, float]:
        scratch = place.memory if where == "memory" else target.parent / "scratch"
        if not place.has_nodes:
            scratch.mkdir(exist_ok=True)
        return run_staged(target, f'scratch = "{scratch}"\nsink = "{sink}"\n', place.program(Path("out"), files, False))

    on_disk = where == "disk"
    is_claimed = (where, sink) == ("memory", "bundle")
    return Method(f"staged: {where}, {sink}", measure, is_claimed, removes=on_disk, needs_disk=on_disk)


def by_hand(name: str, script: str) -> Method:
    def measure(place: Place, target: Path, files: int) -> tuple[float, float]:
        begin = time.monotonic()
        seconds = program_s(place.program(place.memory / "out", files, False), target)
        filled = script.format(scratch=place.memory, target=target, tar=f"{target}/out-$(hostname).tar")
        ran(place.on_each_node(filled), target)
        durable_s = time.monotonic() - begin
        ran(place.on_each_node(f"rm -r {place.memory}/out"), target)
        return seconds, durable_s

    return Method(f"script with {name}", measure, is_claimed=name == "tar")


METHODS = [
    plain(False),
    plain(True),
    *(staged(where, sink) for where, sink in itertools.product(("disk", "memory"), ("mirror", "bundle"))),
    by_hand("cp", COPY),
    by_hand("tar", TAR),
    *([by_hand("rsync", RSYNC)] if shutil.which("rsync") else []),
]
STAGED = "staged: memory, bundle"


def check(target: Path, files: int, file_bytes: int = FILE_BYTES) -> None:
    """Compares every byte with the program's formula; bundles and tar files are unpacked first, in memory."""
    bundles = sorted(target.glob("*.tar"))
    if bundles:
        target = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        for bundle in bundles:
            ran(["tar", "-xf", str(bundle)], target)
        _compare(target, files, file_bytes)
    finally:
        if bundles:
            shutil.rmtree(target)


def _compare(target: Path, files: int, file_bytes: int) -> None:
    names = list(itertools.product(range(PROCESSES), range(files // PROCESSES)))

    def check_one(name: tuple[int, int]) -> None:
        process, file = name
        path = target / "out" / f"{process}.{file // 1000}" / str(file)
        wanted = _pattern(file_bytes) + np.uint8((process * 131 + file * 17) % 256)
        if not np.array_equal(np.fromfile(path, np.uint8), wanted):
            raise harness.BenchError(f"{path}: other bytes than the program wrote")

    with ThreadPoolExecutor(READERS) as readers:  # on the cluster most of the time is waiting
        for _ in readers.map(check_one, names, chunksize=100):
            pass
    if len(names) != files or sum(len(inner) for _, _, inner in os.walk(target / "out")) != files:
        raise harness.BenchError(f"{target}: other files than the program made")


@cache
def _pattern(file_bytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of the first file of process 0: bench/stage/main.c has the same formula."""
    found = np.empty(file_bytes, np.uint8)
    for begin in range(0, file_bytes, PIECE_BYTES):
        at = np.arange(begin, min(begin + PIECE_BYTES, file_bytes))
        found[begin : begin + len(at)] = (at * 7 + at // 251).astype(np.uint8)
    return found
