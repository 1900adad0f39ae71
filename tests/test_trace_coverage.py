"""The tracer records everything: compared with the kernel's counts, and with strace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tailrace.trace import launch
from tailrace.trace.coverage import Coverage, coverage_of
from tailrace.trace.log import HEADER, read_run

from bench import coverage as bench
from bench.harness import oracle
from tests.environment import ROOT
from tests.trace_logs import events_of, write_log

FEW = ("C, descriptors", "C, streams", "fortified, streams", "fork", "killed")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("coverage") / "posix"
    subprocess.run(["gcc", "-O1", "-pthread", str(ROOT / "bench/coverage/posix.c"), "-o", str(made)], check=True)
    return made


def run(tmp_path: Path, *words: str, budget: int = 64 << 20) -> list[Coverage]:
    work, logs = tmp_path / "work", tmp_path / "logs"
    work.mkdir()
    logs.mkdir()
    subprocess.run(words, env=launch.traced_environment(logs, budget), cwd=work, check=False, timeout=60)
    found, damaged = read_run(logs)
    assert not damaged
    return coverage_of(found)


@pytest.mark.parametrize("what", ["descriptors", "streams", "threads", "children", "maps", "later"])
def test_every_byte_that_the_kernel_counted_is_in_the_logs(tmp_path: Path, case: Path, what: str) -> None:
    for of in run(tmp_path, str(case), what):
        assert of.kernel is not None
        assert (of.rest.read_bytes, of.rest.written_bytes) == (0, 0), of
        assert of.bytes_seen == 1


def test_files_that_the_c_library_reads_each_time_are_counted_each_time(tmp_path: Path) -> None:
    script = "import os, h5py; [os.cpu_count() for _ in range(20)]; h5py.File('x.h5', 'w')['x'] = [1.0]"
    found = run(tmp_path, sys.executable, "-c", script)
    assert [(of.rest.read_bytes, of.rest.written_bytes) for of in found] == [(0, 0)] * len(found), found


def test_every_call_that_the_kernel_counted_is_in_the_logs(tmp_path: Path, case: Path) -> None:
    (of,) = run(tmp_path, str(case), "descriptors")
    assert (of.rest.read_calls, of.rest.write_calls) == (0, 0), of


def test_children_are_not_counted_with_their_parent(tmp_path: Path, case: Path) -> None:
    parent, *children = run(tmp_path, str(case), "children")
    assert [of.descriptors.written_bytes for of in (parent, *children)] == [0, 50000, 50000]
    assert parent.kernel is not None
    assert parent.kernel.written_bytes == 0


def test_unknown_counts_are_reported(tmp_path: Path, case: Path) -> None:
    (of,) = run(tmp_path, str(case), "killed")
    assert of.kernel is None
    assert [each.kind for each in of.unseen] == ["killed"]


def test_mapped_files_are_reported(tmp_path: Path, case: Path) -> None:
    (of,) = run(tmp_path, str(case), "maps")
    (mapped,) = [each for each in of.unseen if each.kind == "mmap"]
    assert str(tmp_path / "work") in mapped.text


def test_a_spent_budget_is_reported(tmp_path: Path, case: Path) -> None:
    (of,) = run(tmp_path, str(case), "threads", budget=1 << 17)
    assert [each.kind for each in of.unseen] == ["counted"]
    assert "budget was spent" in of.unseen[0].text
    assert (of.is_whole, of.bytes_seen) == (True, 1)


def test_the_command_reports_the_coverage(tmp_path: Path, case: Path, tailrace_command: list[str]) -> None:
    run(tmp_path, str(case), "streams")
    command = [*tailrace_command, "coverage", str(tmp_path / "logs")]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (shown.returncode, "100.0 %" in shown.stdout) == (0, True), shown.stdout
    answer = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=True).stdout)
    assert answer["processes"][0]["bytes_seen"] == 1
    absent = subprocess.run([*command[:-1], str(tmp_path)], capture_output=True, text=True, timeout=60, check=False)
    assert absent.returncode == 2


@pytest.mark.parametrize("kind", [pytest.param(k, id=k.name, marks=[] if k.name in FEW else pytest.mark.full) for k in bench.KINDS])
def test_logs_and_strace_have_the_same_calls(kind: bench.Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: Any) -> None:
    needs("strace")
    monkeypatch.setattr(bench, "SCRATCH", tmp_path)
    result = bench.run_kind(kind)
    assert not result.calls.missing
    assert not result.moved.missing


LINES = """\
10 execve("/bin/true", ["true"], 0x0) = 0
10 openat(AT_FDCWD</tmp>, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3</etc/ld.so.cache>
10 close(3</etc/ld.so.cache>) = 0
10 read(3</no/libc.so.6>, ""..., 832) = 832
10 munmap(0x1, 100) = 0
10 openat(AT_FDCWD</no>, "a b", O_RDWR) = 3</no/a b>
10 vfork( <unfinished ...>
11 close(3</no/a b>) = 0
11 execve("/bin/false", ["false"], 0x0) = -1 ENOENT (No such file or directory)
10 <... vfork resumed>) = 11
10 pread64(3</no/a b>,  <unfinished ...>
12 write(4</no/c>, ""..., 7) = 7
10 <... pread64 resumed>""..., 100, 0) = 42
10 unlink("/no/d") = -1 ENOENT (No such file or directory)
10 +++ exited with 0 +++
"""


def test_the_oracle_reads_strace(tmp_path: Path) -> None:
    record = tmp_path / "strace"
    record.write_text(LINES)
    found = oracle.read_strace(record)
    assert [(call.process, call.kind, call.path, call.result) for call in found.calls] == [
        (10, "open", "/no/a b", 3),
        (12, "write", "/no/c", 7),
        (10, "read", "/no/a b", 42),
        (10, "name", "/no/d", -1),
    ]
    assert len(found.loader) == 4


@pytest.mark.fast
def test_children_are_those_of_the_same_host_that_ended_before_the_parent(tmp_path: Path) -> None:
    """The parent has two threads, so that the kernel's counts are those of the process with its children."""
    rows = events_of([{"call": "open", "begin_ns": 5}] * 2 * 1024)
    moved = np.zeros(1, HEADER)["at_end"].dtype

    def counts(written: int) -> Any:
        made = np.zeros(1, moved)
        made["written_bytes"] = written
        return made[0]

    def log(name: str, written: int, **header: Any) -> None:
        write_log(tmp_path / f"{name}.trace", rows[:1], [], at_end=counts(written), **header)

    write_log(tmp_path / "parent.trace", rows, [], threads=2, process=7, begin_ns=10, end_ns=100, at_end=counts(1000))
    log("child", 100, process=8, parent=7, begin_ns=20, end_ns=40)
    log("child as another program", 150, process=8, parent=7, begin_ns=40, end_ns=50)
    log("on another host", 200, process=9, parent=7, begin_ns=20, end_ns=50, host=b"n2")
    log("before", 300, process=6, parent=7, begin_ns=1, end_ns=5)
    log("later", 400, process=5, parent=7, begin_ns=50, end_ns=200)
    (parent,) = [found for found in coverage_of(read_run(tmp_path)[0]) if found.process == 7]
    assert parent.kernel is not None
    assert parent.kernel.written_bytes == 1000 - 150


@pytest.fixture
def incomplete(tmp_path: Path) -> Path:
    """A run of one process, of whose 10000 bytes the log has 9990, and that read 5 bytes less than the log has."""
    counts = np.zeros(1, np.zeros(1, HEADER)["at_end"].dtype)
    counts["written_bytes"] = 10000
    row = {"begin_ns": 5, "end_ns": 6, "descriptor": 3}
    rows = events_of([{**row, "call": "pwrite", "result": 9990}, {**row, "call": "read", "result": 5}])
    write_log(tmp_path / "a.trace", rows, [], end_ns=100, thread_at_end=counts[0], program=b"/no/model")
    return tmp_path


@pytest.mark.fast
def test_no_figure_is_negative_and_one_sentence_says_why(incomplete: Path) -> None:
    (of,) = coverage_of(read_run(incomplete)[0])
    assert (of.rest.written_bytes, of.rest.read_bytes, of.surplus.read_bytes, of.surplus.written_bytes) == (10, 0, 5, 0)
    assert of.bytes_seen == 0.999
    assert not of.is_whole
    assert "0 bytes read and 10 bytes written are not in the log: the C library" in of.why_not_whole


@pytest.mark.parametrize(("within", "status"), [("0%", 1), ("0.1%", 1), ("0.2%", 0), ("all", 2), ("101%", 2), ("0.2", 2)])
def test_a_share_of_missing_bytes_can_be_accepted(incomplete: Path, tailrace_command: list[str], within: str, status: int) -> None:
    command = [*tailrace_command, "coverage", str(incomplete), "--within", within]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert shown.returncode == status, shown.stdout + shown.stderr
    assert ("0.15 % of the bytes are missing, which --within 0.2% accepts" in shown.stdout) == (status == 0)
    assert ("-5" in shown.stdout, "100.0 %" in shown.stdout) == (False, False)


BECOMES_ANOTHER_USER = """
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    const int file = open("made", O_CREAT | O_WRONLY, 0644);
    if (write(file, "text", 4) != 4 || setuid(65534) != 0) return 1;
    return write(file, "text", 4) != 4;
}
"""


def test_a_process_that_may_not_read_its_counts_has_no_negative_ones(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may become another user")
    (tmp_path / "user.c").write_text(BECOMES_ANOTHER_USER)
    subprocess.run(["gcc", "user.c", "-o", "user"], cwd=tmp_path, check=True)
    (of,) = run(tmp_path, str(tmp_path / "user"))
    assert (of.kernel, of.surplus.bytes, of.descriptors.written_bytes) == (None, 0, 8)
    assert [each.kind for each in of.unseen] == ["not readable"]


@pytest.mark.fast
def test_calls_of_which_only_the_number_is_known_are_missing(tmp_path: Path, tailrace_command: list[str]) -> None:
    began = np.zeros(1, np.zeros(1, HEADER)["at_begin"].dtype)
    began["read_bytes"] = 832
    about: dict[str, Any] = {"end_ns": 100, "dropped_events": 7, "reasons": 8, "program": b"/no/model"}
    write_log(tmp_path / "a.trace", events_of([]), [], at_begin=began[0], **about)
    (of,) = coverage_of(read_run(tmp_path)[0])
    assert not of.is_whole
    assert "process 1 (model): 7 calls are only counted by file: the process may no longer open its log" in of.why_not_whole
    shown = subprocess.run([*tailrace_command, "coverage", str(tmp_path)], capture_output=True, text=True, timeout=60, check=False)
    assert (shown.returncode, "7 calls are only counted" in shown.stdout) == (1, True), shown.stdout
