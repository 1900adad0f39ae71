"""The log of an unchanged program has every call of every thread and child, even when the program is killed."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tailrace.trace import Run, launch
from tailrace.trace.log import HEADER, Log, LogError, read_log, read_run

from tests.environment import HANGS_S

BUDGET = 64 << 20


class Runs:
    """Runs programs with the tracer, in a new folder."""

    def __init__(self, tmp_path: Path, case: Path) -> None:
        self.case = str(case)
        self.work, self.logs = tmp_path / "work", tmp_path / "logs"
        self.work.mkdir()
        self.logs.mkdir()

    def environment(self, budget: int = BUDGET) -> dict[str, str]:
        return launch.traced_environment(self.logs, budget)

    def run(self, *words: str, budget: int = BUDGET) -> None:
        subprocess.run(words, env=self.environment(budget), cwd=self.work, check=True, timeout=HANGS_S)

    def run_case(self, what: str, *words: str, budget: int = BUDGET) -> list[Log]:
        self.run(self.case, what, str(self.work), *words, budget=budget)
        return self.read()

    def read(self) -> list[Log]:
        logs, damaged = read_run(self.logs)
        assert not damaged
        return logs


@pytest.fixture
def runs(tmp_path: Path, build_dir: Path) -> Runs:
    return Runs(tmp_path, build_dir / "tests" / "trace_case")


def called(log: Log) -> Iterator[tuple[str, str, int, int, int]]:
    for event in log.events:
        name = Path(log.name_of(int(event["file"]))).name
        yield log.calls[int(event["call"])].name, name, int(event["offset"]), int(event["bytes"]), int(event["result"])


def count(log: Log, call: str, name: str = "") -> int:
    return sum(1 for found in called(log) if found[0] == call and name in ("", found[1]))


def test_every_call_is_recorded_with_its_arguments_and_result(runs: Runs) -> None:
    (log,) = runs.run_case("calls")
    found = [call for call in called(log) if call[0] != "chdir"]
    opened = found[0][4]
    assert found == [
        ("open", "a.dat", -1, 0, opened),
        ("write", "a.dat", -1, 100, 100),
        ("pwrite", "a.dat", 1000, 200, 200),
        ("pwritev", "a.dat", 5000, 30, 30),
        ("lseek", "a.dat", 50, 0, 50),
        ("read", "a.dat", -1, 4096, 4096),
        ("pread", "a.dat", 1000, 64, 64),
        ("fsync", "a.dat", -1, 0, 0),
        ("ftruncate", "a.dat", 2000, 0, 0),
        ("dup", "a.dat", -1, 0, opened + 1),
        ("write", "a.dat", -1, 1, 1),
        ("close", "a.dat", -1, 0, 0),
        ("close", "a.dat", -1, 0, 0),
        ("stat", "a.dat", -1, 0, 0),
        ("open", "b.dat", -1, 0, -2),
        ("mkdir", "folder", -1, 0, 0),
        ("rename", "a.dat", -1, 0, 0),
        ("unlink", "c.dat", -1, 0, 0),
        ("rmdir", "folder", -1, 0, 0),
        ("fopen", "s.txt", -1, 0, 0),
        ("fprintf", "s.txt", -1, 0, 6),
        ("fwrite", "s.txt", -1, 24, 24),
        ("fclose", "s.txt", -1, 0, 0),
        ("flush", "s.txt", -1, 30, 30),
    ]
    rename = log.events[[call[0] for call in called(log)].index("rename")]
    assert log.name_of(int(rename["detail"])) == str(runs.work / "folder/c.dat")
    times = log.events[["begin_ns", "end_ns"]]
    assert (times["begin_ns"] <= times["end_ns"]).all()
    assert (np.diff(times["begin_ns"].astype(np.int64)) >= 0).all()
    assert log.ended
    assert log.header["program"] == runs.case
    assert log.header["begin_ns"] <= times["begin_ns"][0]
    assert times["end_ns"][-1] <= log.header["end_ns"]


def test_descriptors_of_syscall_and_files_without_a_name(runs: Runs) -> None:
    (log,) = runs.run_case("by-number")
    written = [(name, size) for call, name, _, size, _ in called(log) if call == "write"]
    assert [size for _, size in written] == [7, 2, 1, 3]
    assert [name for name, _ in written[1:]] == ["two", "one", "three"]
    assert written[0][0].startswith("#"), "the kernel's name, not that of the folder"


def test_the_programs_dlerror_is_kept(runs: Runs) -> None:
    (log,) = runs.run_case("loader")
    assert count(log, "fopen", "first") == 1


def test_each_thread_has_its_own_chunks(runs: Runs) -> None:
    (log,) = runs.run_case("threads", "5000")
    for thread in range(8):
        mine = [event for event in called(log) if event[1] == f"thread.{thread}" and event[0] == "pwrite"]
        assert [offset for _, _, offset, _, _ in mine] == [8 * i for i in range(5000)]
    assert len(set(log.threads)) == 9  # with the first


def test_threads_continue_in_chunks_of_ended_threads(runs: Runs) -> None:
    threads = 3000
    (log,) = runs.run_case("short-threads", str(threads), budget=1 << 20)
    pwrites = log.events[log.events["call"] == next(number for number, call in log.calls.items() if call.name == "pwrite")]
    assert log.header["dropped_events"] == 0
    assert pwrites["offset"].tolist() == [8 * i for i in range(threads)]
    of_pwrites = log.threads[np.isin(log.events["call"], pwrites["call"])]
    assert len(set(of_pwrites)) == threads, "each event is its own thread's"
    assert log.header["chunks"] < 13  # the names need six; two are reserved


def test_children_have_their_own_logs(runs: Runs) -> None:
    logs = runs.run_case("children")
    pwrites = Counter({log.header["process"]: count(log, "pwrite", "children.dat") for log in logs})
    assert sorted(pwrites.values()) == [0, 2, 10, 20], "true, parent, child of fork, child of clone"
    programs = Counter(Path(log.header["program"]).name for log in logs)
    assert programs == {"trace_case": 3, "true": 1}
    parent = next(log for log in logs if pwrites[log.header["process"]] == 2)
    assert all(log.header["parent"] in (parent.header["process"], os.getpid()) for log in logs)


def test_a_program_that_closes_all_descriptors_is_still_recorded(runs: Runs) -> None:
    (log,) = runs.run_case("close-all", "3000")
    assert (count(log, "pwrite", "closed"), count(log, "pwrite", "again")) == (3000, 3000)


def test_calls_of_signal_handlers_are_recorded(runs: Runs) -> None:
    (log,) = runs.run_case("signals", "4000")
    assert (count(log, "pwrite", "signals"), count(log, "pwrite", "handler")) == (4000, 1200)


def test_a_program_without_descriptors_left_is_recorded_again_when_it_has_some(runs: Runs) -> None:
    (log,) = runs.run_case("descriptors", "5000")
    written = [event for event in called(log) if event[0] == "pwrite"]
    assert sum(1 for event in written if event[4] == 3) == 5000
    lost = 5000 - sum(1 for event in written if event[4] == 2)
    assert 0 < lost == log.header["dropped_events"]


def test_a_file_size_limit_does_not_change_the_program(runs: Runs) -> None:
    limit = 256 << 10
    words = [runs.case, "threads", str(runs.work), "5000"]

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    subprocess.run(words, env=runs.environment(), cwd=runs.work, check=True, timeout=HANGS_S, preexec_fn=limited)
    (log,) = runs.read()
    assert log.path.stat().st_size <= limit
    assert log.header["dropped_events"] > 0


def test_exceptions_and_ends_of_threads_pass_through(runs: Runs, build_dir: Path) -> None:
    runs.run(str(build_dir / "tests" / "unwind_case"), str(runs.work))
    assert len(runs.read()) == 1


def test_unknown_paths_and_missing_programs(runs: Runs) -> None:
    (log,) = runs.run_case("places")
    events = [(call, name, result) for call, name, _, _, result in called(log) if call in ("chdir", "exec")]
    assert events[1:] == [
        ("chdir", "below", 0),
        ("chdir", "absent", -errno.ENOENT),
        ("exec", "program", 0),
        ("exec", "program", -errno.ENOENT),
        ("chdir", "work", 0),
    ]
    below = next(name for name in map(log.name_of, map(int, log.events["file"])) if name.endswith("below"))
    assert below == str(runs.work / "below")


@pytest.mark.parametrize("number", [*range(10), *(pytest.param(number, marks=pytest.mark.full) for number in range(10, 100))])
def test_a_killed_program_loses_at_most_its_last_record(runs: Runs, rng: random.Random, number: int) -> None:
    process = subprocess.Popen([runs.case, "count", str(runs.work)], env=runs.environment(1 << 30))
    counted = runs.work / "count"
    while not counted.exists() or counted.stat().st_size == 0:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = int(np.fromfile(counted, np.uint64, 1)[0])
    (log,) = runs.read()
    assert done <= count(log, "pwrite") <= done + 1
    assert not log.ended


def test_logs_are_read_without_being_trusted(runs: Runs, rng: random.Random) -> None:
    (log,) = runs.run_case("calls")
    whole = log.path.read_bytes()
    used = HEADER.itemsize + 64 * 200
    for _ in range(400):
        damaged = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.2 else whole)
        for _ in range(rng.choice((0, 1, 2, 20))):
            if damaged:
                damaged[rng.randrange(min(used, len(damaged)))] = rng.randrange(256)
        log.path.write_bytes(damaged)
        with contextlib.suppress(LogError):  # and no other error
            Run.read(log.path.parent)


@pytest.mark.parametrize("damage", [b"", b"x" * 10_000, b"TRTRACE\n\x09" + bytes(10_000)])
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "x.trace"
    path.write_bytes(damage)
    with pytest.raises(LogError, match=r"x\.trace"):
        read_log(path)


def test_the_program_runs_where_no_log_can_be_made(runs: Runs) -> None:
    shutil.rmtree(runs.logs)
    runs.run(runs.case, "calls", str(runs.work))
    assert not runs.logs.exists()


def test_a_full_disk_does_not_change_the_program(runs: Runs, small_device: Path) -> None:
    environment = {**runs.environment(1 << 30), launch.FOLDER_KEY: str(small_device)}
    subprocess.run([runs.case, "threads", str(runs.work), "100000"], env=environment, check=True, timeout=HANGS_S)
    (log,) = read_run(small_device)[0]
    assert log.header["dropped_events"] > 0
    assert len(log.events) > 0


@pytest.mark.parametrize("words", [["cat", "/etc/passwd"], ["tar", "cf", "etc.tar", "/etc/apt"], ["cp", "-r", "/etc/apt", "copy"]])
def test_the_program_opens_no_further_files(runs: Runs, words: list[str], needs: Any) -> None:
    """Compares the names that strace sees opened, without those of the loader."""
    needs("strace")
    seen = runs.work.parent / "strace"
    subprocess.run(["strace", "-f", "-e", "trace=open,openat,creat", "-o", str(seen), *words], cwd=runs.work, check=True)
    shutil.rmtree(runs.work)
    runs.work.mkdir()
    runs.run(*words)
    (log,) = runs.read()
    opened = Counter(Path(name).name for call, name, *_ in called(log) if call in ("open", "fopen", "opendir"))
    of_kernel = Counter(
        Path(line.split('"')[1]).name for line in seen.read_text().splitlines() if '"' in line and " = -1 " not in line
    )
    loader = {name for name in of_kernel if ".so" in name or "locale" in name or "LC_" in name or "gconv" in name}
    inner = {"nsswitch.conf", "group", "passwd"} if words[0] == "tar" else set()
    missing = {name: number for name, number in (of_kernel - opened).items() if name not in loader | inner}
    assert not missing


def test_ranks_are_recorded_and_their_launcher_is_not(runs: Runs, needs: Any) -> None:
    needs("mpirun")
    words = launch.traced_command(["mpirun", "-n", "2", runs.case, "calls"])
    folders = [runs.work / str(rank) for rank in range(2)]
    for folder in folders:
        folder.mkdir()
    script = f"exec {runs.case} calls {runs.work}/$OMPI_COMM_WORLD_RANK"
    environment = {**runs.environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run([*words[:-2], "--oversubscribe", "sh", "-c", script], env=environment, check=True, timeout=HANGS_S)
    logs = [log for log in runs.read() if Path(log.header["program"]).name == "trace_case"]
    assert sorted(log.header["rank"] for log in logs) == [0, 1]
    assert all(log.header["ranks"] == 2 for log in logs)
    assert not any("orte" in log.header["program"] for log in runs.read())


def test_run_keeps_output_and_status(runs: Runs, tailrace_command: list[str]) -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    command = [*tailrace_command, "run", "--log", str(runs.logs), "--", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert done.stderr.startswith("err\n")
    shown = subprocess.run(
        [*tailrace_command, "trace", "show", str(runs.logs)], capture_output=True, text=True, check=True, timeout=HANGS_S
    )
    assert "open" in shown.stdout
