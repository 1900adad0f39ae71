"""The memory limit of a member: all its processes, also those that the command left running, and shared pages once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble, EnsembleError, cgroup
from tailrace.ensemble.memory import MemoryWatch, used_bytes
from tailrace.ensemble.results import member_lines
from tailrace.ensemble.values import Limits

from tests.ensembles import marked_processes, table_of, write_ensemble

MIB = 1 << 20
SHARED_MIB, CHILDREN = 64, 3
NO_PID = 1 << 30
# Children that have the pages of their parent. All wait for the end of the input.
FORKS = f"""
import os, sys
data = b"1" * ({SHARED_MIB} << 20)
children = []
for _ in range({CHILDREN}):
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    children.append(child)
print(os.getpid(), *children, flush=True)
sys.stdin.read()
"""


def test_pages_that_processes_share_count_once_above_the_limit() -> None:
    if not os.path.exists("/proc/self/smaps_rollup"):
        pytest.skip("this kernel has no /proc/PID/smaps_rollup")
    with subprocess.Popen([sys.executable, "-S", "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 1 + CHILDREN
        alone = used_bytes(pids[:1], 1 << 60)
        assert used_bytes(pids, 1 << 60) > len(pids) * SHARED_MIB * MIB
        watch = MemoryWatch()
        with watch.joined(2 * SHARED_MIB * MIB):
            assert not watch.is_over(lambda: pids)
        assert SHARED_MIB * MIB < watch.peak_bytes < 2 * alone
        with watch.joined(SHARED_MIB * MIB):
            assert watch.is_over(lambda: pids)
        assert used_bytes([*pids, NO_PID], 1 << 60) > 0
        assert used_bytes([NO_PID], 0) == 0


def can_make_groups() -> bool:
    try:
        cgroup.place()
    except cgroup.NoGroupError:
        return False
    return True


needs_groups = pytest.mark.skipif(not can_make_groups(), reason="no control group can be made here")


@pytest.mark.parametrize("by", ["watch", pytest.param("cgroup", marks=needs_groups)])
@pytest.mark.parametrize("way", ["memory", "late memory"])
def test_a_member_above_its_memory_limit_is_ended(tmp_path: Path, way: str, by: str) -> None:
    """Its child is the one that takes the memory, while the command runs or when it has ended."""
    limits = f'timeout_s = 300\nlinger_s = 300\ngrace_s = 0.2\nmemory_mib = 60\nmemory_by = "{by}"'
    ensemble = Ensemble(write_ensemble(tmp_path, [way, "good", way, "good"], limits))
    ensemble.run()
    rows = table_of(ensemble.folder.out)
    assert [rows[number]["reason"] for number in range(4)] == ["memory", "", "memory", ""]
    assert "[limits] memory_mib = 60" in rows[0]["message"]
    assert ("the kernel ended it" in rows[0]["message"]) == (by == "cgroup")
    assert rows[1]["result"] == "1.5"
    assert marked_processes(ensemble.folder.run) == []
    kept_by = {line["facts"]["memory_limit"] for line in member_lines(ensemble.folder)}
    assert kept_by == {"watched" if by == "watch" else f"cgroup version {cgroup.place().version.number}"}


@needs_groups
def test_a_fast_allocation_cannot_pass_the_limit_of_the_kernel(tmp_path: Path) -> None:
    """The program takes 1 GiB in less than the 50 ms between two looks, and writes down how far it came."""
    (tmp_path / "fast.py").write_text(
        "import mmap\n"
        "memory = mmap.mmap(-1, 1 << 30)\n"
        "with open('reached.txt', 'w', buffering=1) as file:\n"
        "    for mib in range(1024):\n"
        "        memory[mib << 20 : (mib + 1) << 20] = bytes(1 << 20)\n"
        "        file.write(f'{mib}\\n')\n"
    )
    path = tmp_path / "ensemble.toml"
    path.write_text(
        f"command = ['{sys.executable}', '-S', '{tmp_path}/fast.py', '{{k}}']\n"
        "[parameters]\nsampler = 'random'\nmembers = 1\n[parameters.ranges]\nk = [0, 1]\n"
        "[limits]\nmemory_mib = 200\nmemory_by = 'cgroup'\n[keep]\ndirectory = 'failed'\n"
    )
    ensemble = Ensemble(path)
    ensemble.run()
    assert table_of(ensemble.folder.out)[0]["reason"] == "memory"
    (reached,) = ensemble.folder.out.rglob("reached.txt")
    assert 100 < int(reached.read_text().split()[-1]) < 200


@needs_groups
def test_groups_are_removed(tmp_path: Path) -> None:
    place = cgroup.place()
    abandoned = place.above / f"{cgroup.PREFIX}999999999"
    abandoned.mkdir()
    try:
        path = write_ensemble(tmp_path, ["good", "good"], 'memory_mib = 600\nmemory_by = "cgroup"')
        subprocess.run([sys.executable, "-m", "tailrace", "ensemble", "run", str(path)], check=True, capture_output=True)
        left = {int(found.name[len(cgroup.PREFIX) :]) for found in place.above.glob(f"{cgroup.PREFIX}[0-9]*")}
        assert not [number for number in left if not os.path.exists(f"/proc/{number}")]  # other tests may run an ensemble
    finally:
        if abandoned.exists():
            abandoned.rmdir()


class Model:
    """The files of a group of version 2 to which a user's processes may be added, as cgroups(7) describes them."""

    def __init__(self, folder: Path, controllers: str = "cpu memory pids", processes: str = f"{os.getpid()}\n") -> None:
        self.own = folder / "sys/fs/cgroup/user.slice/app.scope"
        (folder / "proc/self").mkdir(parents=True)
        (folder / "proc/self/cgroup").write_text("0::/user.slice/app.scope\n")
        (folder / "proc/self/mountinfo").write_text(
            "22 1 0:20 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
        )
        self.leaf, self.group = self.own / cgroup.LEAF, self.own / f"{cgroup.PREFIX}{os.getpid()}"
        for path in (self.leaf, self.group):
            path.mkdir(parents=True)
            (path / cgroup.PROCESSES).touch()
        for name, text in {
            cgroup.PROCESSES: processes,
            "cgroup.controllers": controllers,
            "cgroup.subtree_control": "",
        }.items():
            (self.own / name).write_text(text)
        for name in ("memory.max", "memory.swap.max", "memory.oom.group"):
            (self.group / name).touch()
        self.set_kills(3)

    def set_kills(self, kills: int) -> None:
        (self.group / "memory.events").write_text(f"low 0\nmax 7\noom 1\noom_kill {kills}\n")
        (self.group / "memory.stat").write_text("anon 4096\nfile 8192\n")


@pytest.fixture
def uncached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    monkeypatch.setattr(cgroup, "place", cgroup.place.__wrapped__)
    return tmp_path


def test_version_2_moves_the_parent_aside_and_limits_members(uncached: Path) -> None:
    model = Model(uncached)
    assert cgroup.prepare(Limits(memory_mib=60)) == "60 MiB, kept by the kernel (cgroup version 2)"
    assert (model.own / "cgroup.subtree_control").read_text() == "+memory"
    assert (model.leaf / cgroup.PROCESSES).read_text() == str(os.getpid())
    group = cgroup.MemoryGroup(cgroup.Place(cgroup.V2, model.own, model.leaf))
    with group.joined(60 * MIB):
        assert (model.group / cgroup.PROCESSES).read_text() == str(os.getpid())
        assert (model.group / "memory.max").read_text().startswith(str(60 * MIB))
        assert (model.group / "memory.oom.group").read_text() == "1"
    assert not group.has_killed()
    model.set_kills(4)
    assert group.is_over(list)
    assert group.peak_bytes == 4096


def test_a_worker_of_version_2_finds_the_group_of_its_parent(uncached: Path) -> None:
    model = Model(uncached)
    (uncached / "proc/self/cgroup").write_text(f"0::/user.slice/app.scope/{cgroup.LEAF}\n")
    assert cgroup.place() == cgroup.Place(cgroup.V2, model.own, model.leaf)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ({"controllers": "cpu pids"}, "has no memory controller"),
        ({"processes": "1\n"}, "has other processes, such as 1 (try: systemd-run --user --scope -p Delegate=yes COMMAND)"),
    ],
)
def test_where_no_group_can_be_made_memory_is_watched_and_the_reason_is_named(
    uncached: Path, model: dict[str, str], text: str
) -> None:
    Model(uncached, **model)
    said = cgroup.prepare(Limits(memory_mib=60))
    assert said.startswith("60 MiB, watched every 50 ms; no control group: ")
    assert text in said
    with pytest.raises(EnsembleError, match="memory_by"):
        cgroup.prepare(Limits(memory_mib=60, memory_by="cgroup"))


def test_status_says_how_memory_is_limited(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good"], 'memory_mib = 600\nmemory_by = "watch"')
    Ensemble(path).run()
    words = [sys.executable, "-m", "tailrace", "ensemble", "status", str(path)]
    shown = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "memory limit of a member: 600 MiB, watched every 50 ms" in shown.stdout
