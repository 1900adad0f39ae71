"""`[stage]` on several nodes: a folder with files of several nodes is renamed, as programs do when a checkpoint is complete."""

from __future__ import annotations

import os
import signal
import tarfile
from pathlib import Path

import pytest

from tests.clusters import until
from tests.fake_nodes import FakeNodes, agents_of, content

OWN = os.uname().nodename
NODES = ("n1", "n2", OWN)


@pytest.fixture
def nodes(tmp_path: Path, tailrace_command: list[str]) -> FakeNodes:
    found = FakeNodes(tmp_path, tailrace_command)
    found.hosts = NODES
    return found


# Each step is written below one name, and gets its own when all ranks are done. Rank 1 writes its log through the rename.
STEPS = """
for step in range(3):
    os.makedirs("out/unfinished/inner", exist_ok=True)
    log = open("out/unfinished/log", "wb", 0) if rank == 1 else None
    put(f"unfinished/r{rank}")
    put(f"unfinished/inner/r{rank}")
    if log:
        log.write(b"first, ")
    flag(f"written.{step}.{rank}")
    for other in range(3):
        wait(f"written.{step}.{other}")
    if rank == step:
        os.rename("out/unfinished", f"out/step{step}")
        assert not os.path.exists("out/unfinished")
    until(lambda: os.path.exists(f"out/step{step}"))
    assert os.path.exists(f"out/step{step}/r{rank}"), "whoever sees the new name finds all files"
    assert here(f"step{step}/inner/r{rank}"), "no file leaves its scratch"
    flag(f"seen.{step}.{rank}")
    for other in range(3):
        wait(f"seen.{step}.{other}")
    assert not os.path.exists(f"out/unfinished/r{rank}")
    assert sorted(os.listdir(f"out/step{step}")) == sorted(["inner", "r0", "r1", "r2"] + ["log"] * (rank == 1))
    flag(f"listed.{step}.{rank}")
    for other in range(3):
        wait(f"listed.{step}.{other}")
    if log:
        log.write(b"last")
        log.close()
mine, rank = rank, (rank + 1) % 3
assert get(f"step2/r{rank}") == content(f"unfinished/r{rank}"), "another node's file under its new name"
"""


def expected() -> dict[str, bytes]:
    files = {}
    for step in range(3):
        for rank in range(3):
            files[f"step{step}/r{rank}"] = content(rank, f"unfinished/r{rank}")
            files[f"step{step}/inner/r{rank}"] = content(rank, f"unfinished/inner/r{rank}")
        files[f"step{step}/log"] = b"first, last"
    return files


@pytest.mark.parametrize("more", ["", "while_running = true\n", 'sink = "bundle"\n'])
def test_a_folder_with_files_of_all_nodes_gets_its_new_name_on_all(nodes: FakeNodes, more: str) -> None:
    nodes.configure(more)
    done = nodes.run(STEPS)
    assert done.returncode == 0, done.stderr
    found = nodes.delivered()
    for bundle in [name for name in found if name.endswith(".tar")]:
        with tarfile.open(nodes.base / "out" / bundle) as archive:
            found |= {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]
    for path in nodes.base.glob("*.tar"):
        with tarfile.open(path) as archive:
            files = [one for one in archive.getmembers() if one.isfile() and one.name.startswith("out/")]
            found |= {one.name.removeprefix("out/"): archive.extractfile(one).read() for one in files}  # type: ignore[union-attr]
    assert {name: found.get(name) for name in expected()} == expected()
    assert not (nodes.base / "out/unfinished").exists()
    assert not nodes.all_folders()
    assert not agents_of(nodes.top)


def test_a_torn_file_is_torn_in_a_folder_that_another_node_has_renamed(nodes: FakeNodes) -> None:
    done = nodes.run("""
import subprocess
if rank == 0:
    os.makedirs("out/old")
    flag("made")
    wait("torn")
    os.rename("out/old", "out/new")
elif rank == 1:
    wait("made")
    put("old/whole")
    child = "import os, signal; half = open('out/old/half', 'wb', 0); half.write(b'half'); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", child])
    flag("torn")
""")
    assert done.returncode == 1, done.stderr
    assert nodes.delivered() == {"new/half.torn": b"half", "new/whole": content(1, "old/whole")}


@pytest.mark.parametrize("name", ["with spaces", "line\nbreak", "ü ' \" \\", "\udcff\udcfe", "x" * 255])
def test_folders_of_any_name(nodes: FakeNodes, name: str) -> None:
    done = nodes.run(f"""
name = {name!r}
if rank == 0:
    os.makedirs("out/" + name)
    flag("made")
wait("made")
put(f"{{name}}/r{{rank}}")
flag(f"written.{{rank}}")
if rank == 0:
    wait("written.1")
    wait("written.2")
    os.rename("out/" + name, "out/a" + name[1:])
    flag("renamed")
wait("renamed")
assert here(glob.escape("a" + name[1:]) + f"/r{{rank}}")
""")
    assert done.returncode == 0, done.stderr
    assert nodes.delivered() == {f"a{name[1:]}/r{rank}": content(rank, f"{name}/r{rank}") for rank in range(3)}


REFUSED = """
import ctypes, errno
def code_of(old, new, flags=0):
    libc = ctypes.CDLL(None, use_errno=True)
    if flags:
        return ctypes.get_errno() if libc.renameat2(-100, old.encode(), -100, new.encode(), flags) else 0
    try:
        os.rename(old, new)
    except OSError as error:
        return error.errno
    return 0
def check(expected, *words):
    code = code_of(*words)
    assert code == expected, (words, code)
if rank == 0:
    os.makedirs("out/old/inner")
    os.makedirs("out/full")
    open("out/full/file", "w").close()
    os.makedirs("out/full elsewhere")
    os.makedirs("out/other")
    os.makedirs(TOP + "/outside")
    flag("made")
else:
    wait("made")
    if rank == 1:
        put("full elsewhere/r1")
put(f"old/r{rank}")
put(f"old/inner/r{rank}")
flag(f"written.{rank}")
for other in range(3):
    wait(f"written.{other}")
if rank == 0:
    check(errno.ENOTEMPTY, "out/old", "out/full")
    check(errno.ENOTEMPTY, "out/old", "out/full elsewhere")
    check(errno.ENOENT, "out/old", "out/absent/new")
    check(errno.EINVAL, "out/old", "out/old/inner/new")
    check(0, "out/old/", "out/old")
    check(errno.EXDEV, "out/old", TOP + "/outside/new")
    check(errno.EEXIST, "out/old", "out/other", 1)
    check(errno.EINVAL, "out/old", "out/other", 2)
    check(errno.ENOTDIR, "out/other", "out/full/file")
    assert ctypes.CDLL(None).rename(b"out/old/r0", None) == ctypes.CDLL(None).rename(b"out/old", None) == -1
    flag("refused")
wait("refused")
assert here(f"old/r{rank}") and here(f"old/inner/r{rank}"), "each node has its files under their old names"
flag(f"kept.{rank}")
if rank == 2:
    for other in range(3):
        wait(f"kept.{other}")
    check(0, "out/old", "out/other")  # an empty folder is replaced
    check(0, "out/other/inner", "out/full/moved")  # into another folder
"""


def test_where_a_folder_must_not_be_renamed_all_files_keep_their_names(nodes: FakeNodes) -> None:
    """The errors are those of a file system."""
    done = nodes.run(REFUSED)
    assert done.returncode == 0, done.stderr
    files = {f"other/r{rank}": content(rank, f"old/r{rank}") for rank in range(3)}
    files |= {f"full/moved/r{rank}": content(rank, f"old/inner/r{rank}") for rank in range(3)}
    assert nodes.delivered() == {**files, "full/file": b"", "full elsewhere/r1": content(1, "full elsewhere/r1")}


STOPPED = """
if rank == 0:
    os.makedirs("out/old")
    flag("made")
wait("made")
put(f"old/r{rank}")
flag(f"written.{rank}")
if rank == 0:
    wait("stopped")
    try:
        os.rename("out/old", "out/new")
        print("renamed")
    except OSError as error:
        print(error.strerror)
    assert here("old/r0")
    flag("done")
wait("done")
"""


def rename_without(nodes: FakeNodes, number: signal.Signals) -> tuple[int, str, str]:
    with nodes.start(STOPPED) as process:
        until(lambda: all((nodes.top / f"written.{rank}").exists() for rank in range(3)), 120)
        agent = agents_of(nodes.top)["n2"]
        os.kill(agent, number)
        try:
            if number is signal.SIGKILL:
                until(lambda: "n2" not in agents_of(nodes.top), 120)
            (nodes.top / "stopped").touch()
            until(lambda: (nodes.top / "done").exists() or process.poll() is not None, 120)
        finally:
            if number is signal.SIGSTOP:
                os.kill(agent, signal.SIGCONT)
        out, err = process.communicate(timeout=180)
    return process.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.full)])
def test_without_the_agent_of_a_node_the_folder_keeps_its_name_on_all(nodes: FakeNodes, number: signal.Signals) -> None:
    """A folder that is complete by its name must not lack the files of one node."""
    status, out, err = rename_without(nodes, number)
    assert out == "Device or resource busy\n", err
    assert status == 1, err
    found = nodes.delivered()
    assert not [name for name in found if name.startswith("new")]
    assert found["old/r0"] == content(0, "old/r0")
    assert found["old/r2"] == content(2, "old/r2")
    why = "its agent is lost" if number is signal.SIGKILL else "it has said nothing for 15 s"
    said = "n1: 1 name did not exist for processes there, or were folders that they listed or renamed, but other nodes may have had"
    assert f"{said} more: out/old (n2: {why})" in err
