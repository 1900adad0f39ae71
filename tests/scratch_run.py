"""Runs of kill_steps with stage = scratch: two ranks, each a node with a name and a scratch of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tailrace

from tests.environment import HANGS_S, open_mpi_environment
from tests.error_run import YIELD, answers_in
from tests.journal import journal_lines
from tests.mpirun import Finished, Mpirun, kill_group, run_within

RANKS = 2
# Each rank has a node's name of its own, where that is possible, and its own scratch.
WRAPPER = """#!/bin/sh
node=n${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
export TMPDIR="$SCRATCH_TOP/$node"
for name in STATE COMMAND FIRED; do eval "value=\\$DRAIN_${name}_$node"; [ -n "$value" ] && export "DRAIN_$name=$value"; done
[ -n "$FAULTS" ] && set -- env LD_PRELOAD="$FAULTS" "$@"  # the library takes itself out of the environment
unshare --uts true 2>/dev/null || exec "$@"
exec unshare --uts sh -c 'hostname "$0"; exec "$@"' "$node" "$@"
"""


@dataclass
class ScratchRun:
    mpirun: Mpirun
    command: list[str]  # `tailrace`
    faults: Path  # tests/faults/drain.c
    top: Path

    def __post_init__(self) -> None:
        self.directory, self.wrapper = self.top / "out", self.top / "wrapper"
        self.wrapper.write_text(WRAPPER)
        self.wrapper.chmod(0o755)
        for rank in range(RANKS):
            (self.top / "scratch" / f"n{rank}").mkdir(parents=True, mode=0o700)

    def options(self, more: str = "") -> str:
        room = "" if "min_free" in more else "min_free = '1 KiB'\n"
        return f"layout = 'scratch'\nranks_per_node = 1\n{room}{more}"

    def start(self, steps: int, more: str = "", faults: Mapping[str, str] | None = None) -> tuple[subprocess.Popen[bytes], Path]:
        """`faults`: variables of tests/faults/drain.c for all ranks, or with _n0 or _n1 at the end for one."""
        answers = Path(tempfile.mkdtemp(dir=self.top))
        words = ["run", self.directory, self.options(more), steps]
        program = self.mpirun.command("kill_steps", RANKS, words)
        at = program.index(str(self.mpirun.build / "tests" / "kill_steps"))
        program.insert(at, str(self.wrapper))
        env = {**os.environ, **open_mpi_environment(), **YIELD, "ANSWERS": str(answers), "SCRATCH_TOP": str(self.top / "scratch")}
        if faults is not None:
            env |= {"FAULTS": str(self.faults), **{f"DRAIN_{name}": value for name, value in faults.items()}}
        with (answers / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                program, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True
            )
        return process, answers

    def end(self, process: subprocess.Popen[bytes], answers: Path) -> tuple[list[list[dict[str, Any]]], str]:
        """What each rank has told, and what was printed."""
        try:
            process.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            pytest.fail("mpirun did not end")
        finally:
            kill_group(process)
        return answers_in(answers, RANKS), (answers / "stderr").read_text()

    def run(self, steps: int, more: str = "", faults: Mapping[str, str] | None = None) -> tuple[list[list[dict[str, Any]]], str]:
        return self.end(*self.start(steps, more, faults))

    def folders(self) -> list[Path]:
        """The outboxes that are on scratch."""
        return sorted((self.top / "scratch").glob("n*/tailrace-*/history.parts"))

    def call(self, *words: object, status: int = 0) -> Finished:
        done = run_within([*self.command, *map(str, words)])
        assert done.returncode == status, done.output
        return done

    def resume(self) -> None:
        for folder in self.folders():
            self.call("drain", "resume", folder)

    def staged(self) -> list[int]:
        (stream,) = tailrace.list_streams(self.directory)
        return [step["step"] for step in stream["staged"]]

    def kinds(self) -> list[str]:
        return [line["kind"] for line in journal_lines(self.directory / "history.parts" / "journal.jsonl")]

    def committed(self) -> int:
        return self.kinds().count("step") if (self.directory / "history.parts" / "journal.jsonl").exists() else 0


def statuses(told: list[list[dict[str, Any]]], call: str) -> set[str]:
    return {answer["status"] for of_rank in told for answer in of_rank if answer.get("call") == call}


def messages(told: list[list[dict[str, Any]]], call: str) -> set[str]:
    return {answer["message"] for of_rank in told for answer in of_rank if answer.get("call") == call}


def until(so: Any) -> None:
    deadline = time.monotonic() + HANGS_S
    while not so():
        assert time.monotonic() < deadline, "never so"
        time.sleep(0.02)
