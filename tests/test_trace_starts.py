"""Ways of starting a child: each process is in the logs, or is named. Held against strace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.harness import starts
from bench.harness.starts import Way


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for above in (folder, folder.parent):
        above.chmod(0o755)
    return starts.compile_programs(folder)


# These once escaped.
ESCAPED = ("cleared, popen", "cleared, system", "cleared, execv", "execve by number", "cleared, wordexp", "perl")
OTHERS = [way for way in starts.WAYS if way.name not in ESCAPED]


def hold(way: Way, programs: Path, folder: Path) -> None:
    started = starts.run(way, programs, folder)
    assert started.status == 0, (folder / "out").read_text()
    assert started.written == starts.BYTES
    assert started.images
    assert [(image.process, image.program) for image in started.missing] == []
    assert started.found == way.expected


@pytest.mark.parametrize("way", [way for way in starts.WAYS if way.name in ESCAPED], ids=lambda way: way.name)
def test_a_child_that_escaped_is_recorded_or_named(way: Way, programs: Path, tmp_path: Path, needs: Any) -> None:
    needs("strace", "perl")
    hold(way, programs, tmp_path)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("way", OTHERS, ids=lambda way: way.name)
def test_each_process_is_recorded_or_named(way: Way, programs: Path, tmp_path: Path, needs: Any) -> None:
    needs("strace", "mpirun.openmpi")
    hold(way, programs, tmp_path)


LINES = """\
10 execve("/bin/dash", ["dash"], 0x0) = 0
10 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x1) = 11
10 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD, parent_tid=[0]) = 12
12 vfork( <unfinished ...>
13 execve("/no/static", ["static"], 0x0) = 0
12 <... vfork resumed>) = 13
13 clone(child_stack=NULL, flags=SIGCHLD) = 14
10 +++ exited with 0 +++
"""


@pytest.mark.fast
def test_the_comparison_finds_a_process_without_a_log(tmp_path: Path) -> None:
    record = tmp_path / "strace"
    record.write_text(LINES)
    images = starts.images_of(record)
    assert [(image.process, image.program, image.is_silent) for image in images] == [
        (10, "/bin/dash", False),
        (11, "", False),
        (13, "", True),
        (13, "/no/static", False),
        (14, "", False),
    ]
    starts.account(images, [], [])
    assert [image.process for image in images if not image.is_accounted_for] == [10, 11, 13, 14]
    named = starts.Unrecorded("host", 13, 10, "/bin/dash", "/no/static")
    starts.account(images, [], [named])
    assert [image.process for image in images if not image.is_accounted_for] == [10, 11]  # 14 is what 13 started


@pytest.mark.fast
def test_a_launcher_is_no_process_to_account_for(tmp_path: Path) -> None:
    record = tmp_path / "strace"
    record.write_text(
        '10 execve("/usr/bin/mpirun", ["mpirun"], 0x0) = 0\n10 clone(flags=SIGCHLD) = 11\n11 execve("/a", [], 0x0) = 0\n'
    )
    assert [image.program for image in starts.images_of(record)] == ["/a"]


def test_names_of_ways_differ() -> None:
    assert len({way.name for way in starts.WAYS}) == len(starts.WAYS) >= 25
