"""Nodes that share this machine: each has its own host name and its own folder for temporary files. A remote shell reaches them,
and a launcher starts a rank on each. Needs root, as CI has."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SHELL = """#!/bin/sh
# SHELL NODE LINE: with as little of the caller's environment as ssh passes on. TOP/down.NODE: no agent can be started there.
while case "$1" in -*) true;; *) false;; esac; do [ "$1" = -o ] && shift; shift; done  # options of ssh
node=$1; shift
case "$*" in *node_agent*) if [ -e {top}/down.$node ]; then echo "$node: no route to host" >&2; exit 255; fi;; esac
exec unshare --uts sh -c 'hostname "$0"; exec env -i PATH="$PATH" TMPDIR={top}/scratch/"$0" sh -c "$1"' "$node" "$*"
"""
LAUNCHER = """#!{python}
# Knows those words of Open MPI's that the tests use. A rank on each node.
import os, shlex, subprocess, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("mpirun (Open MPI) 4.1.4")
    sys.exit()
passed, hosts, shell = [], [], ""
while words[0].startswith("-"):
    option, value = words.pop(0), words.pop(0)
    if option == "-x":
        passed.append(f"{{value}}={{os.environ[value]}}")
    elif option == "--host":
        hosts = value.split(",")
    elif option == "--mca":
        shell = words.pop(0)
ranks = []
for rank, host in enumerate(hosts):
    line = shlex.join(["env", f"OMPI_COMM_WORLD_RANK={{rank}}", *passed, *words])
    ranks.append(subprocess.Popen([shell, host, f"cd {{shlex.quote(os.getcwd())}} && exec {{line}}"]))
statuses = [rank.wait() for rank in ranks]
sys.exit(max(status if status >= 0 else 128 - status for status in statuses))
"""


class FakeNodes:
    """A folder of a run with [stage], and nodes n1 and n2 beside the one that the command runs on."""

    names = ("n1", "n2")

    def __init__(self, top: Path, command: list[str]) -> None:
        self.top, self.command = top, command
        self.hosts: tuple[str, ...] = self.names  # the node of each rank
        self.base, self.log = top / "run", top / "log"
        self.base.mkdir()
        for node in (*self.names, os.uname().nodename):
            (top / "scratch" / node).mkdir(parents=True, mode=0o700)
        self.shell, self.launcher = top / "shell", top / "mpirun"
        self.shell.write_text(SHELL.format(top=shlex.quote(str(top))))
        self.launcher.write_text(LAUNCHER.format(python=sys.executable))
        for program in (self.shell, self.launcher):
            program.chmod(0o755)
        if subprocess.run([self.shell, "n1", "true"], capture_output=True, check=False).returncode != 0:
            pytest.skip("only root may give a process a host name of its own")
        self.environment = {**os.environ, "TMPDIR": str(top / "scratch" / os.uname().nodename)}
        self.configure()

    def configure(self, text: str = "") -> None:
        (self.base / "tailrace.toml").write_text(f'[stage]\nfiles = ["out/**"]\nscratch = "$TMPDIR"\nmin_free = "1 B"\n{text}')

    def launch(self, rank_words: list[str]) -> list[str]:
        return [str(self.launcher), "--host", ",".join(self.hosts), "--mca", "plm_rsh_agent", str(self.shell), *rank_words]

    def words(self, command: list[str]) -> list[str]:
        return [*self.command, "run", "--config", str(self.base / "tailrace.toml"), "--log", str(self.log), "--", *command]

    def rank_words(self, script: str) -> list[str]:
        return [sys.executable, "-c", RANK.format(top=str(self.top)) + script]

    def start(self, script: str) -> subprocess.Popen[str]:
        (self.base / "out").mkdir(exist_ok=True)
        return subprocess.Popen(
            self.words(self.launch(self.rank_words(script))),
            cwd=self.base,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """The script of each rank knows `rank`, `node`, `put` and more of RANK."""
        with self.start(script) as process:
            stdout, stderr = process.communicate(timeout=180)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def folders(self, node: str) -> list[Path]:
        return sorted((self.top / "scratch" / node).glob("tailrace-*"))

    def all_folders(self) -> list[Path]:
        return sorted((self.top / "scratch").glob("*/tailrace-*"))

    def delivered(self) -> dict[str, bytes]:
        out = self.base / "out"
        return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}

    def drain_on(self, node: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        line = shlex.join([*self.command, "drain", *map(str, words)])
        return subprocess.run([self.shell, node, line], capture_output=True, text=True, check=False, timeout=120)


def agents_of(top: Path) -> dict[str, int]:
    """Processes of agents by their nodes: their scratch is below this folder."""
    found = {}
    for number in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            variables = Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        is_ours = any(variable.startswith(b"TMPDIR=" + os.fsencode(top) + b"/") for variable in variables)
        if is_ours and b"tailrace.stage.node_agent" in words:
            found[os.fsdecode(words[words.index(b"tailrace.stage.node_agent") + 1])] = int(number)
    return found


# What each rank begins with. Files are written in pieces, so that a rank has some open for a while.
RANK = """
import glob, os, signal, sys, time
sys.dont_write_bytecode = True
TOP = {top!r}
rank, node = int(os.environ["OMPI_COMM_WORLD_RANK"]), os.uname().nodename
def content(name):
    return bytes((rank * 31 + position * 7 + len(name)) % 251 for position in range(3000 + len(name)))
def put(name):
    with open("out/" + name, "wb") as file:
        for at in range(0, len(content(name)), 1000):
            file.write(content(name)[at : at + 1000])
def here(name):
    return glob.glob(os.environ["TMPDIR"] + "/tailrace-*/out/" + name) != []
def flag(name):
    open(TOP + "/" + name, "w").close()
def wait(name):
    until(lambda: os.path.exists(TOP + "/" + name))
def get(name):
    with open("out/" + name, "rb") as file:
        return file.read()
def until(so):
    end = time.monotonic() + 120
    while not so():
        assert time.monotonic() < end, "never so"
        time.sleep(0.02)
"""


def content(rank: int, name: str) -> bytes:
    """What `put(name)` of a rank writes."""
    return bytes((rank * 31 + position * 7 + len(name)) % 251 for position in range(3000 + len(name)))
