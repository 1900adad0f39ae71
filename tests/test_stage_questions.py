"""`[stage]` on several nodes: a process finds a closed file that is on the scratch of another node, while the program runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.clusters import until
from tests.fake_nodes import FakeNodes, agents_of, content

OWN = os.uname().nodename
ODD_NAMES = ("plain", "line\nbreak", "ü ' \" \\", "\udcff\udcfe", "x" * 255, "deep/er/file")


@pytest.fixture
def nodes(tmp_path: Path, tailrace_command: list[str]) -> FakeNodes:
    return FakeNodes(tmp_path, tailrace_command)


def given(nodes: FakeNodes, name: str) -> bytes:
    return Path(os.fsencode(nodes.base / "out" / name).decode(errors="surrogateescape")).read_bytes()


@pytest.mark.parametrize("hosts", [("n1", "n2"), ("n1", OWN), (OWN, "n1")])
def test_a_closed_file_of_another_node_is_found_under_any_name(nodes: FakeNodes, hosts: tuple[str, ...]) -> None:
    """Also where one of both is the node of the command."""
    nodes.hosts = hosts
    done = nodes.run(f"""
names = {ODD_NAMES!r}
os.makedirs("out/deep/er", exist_ok=True)
if rank == 0:
    for name in names:
        put(name)
        assert here("plain")
    flag("written")
    wait("read")
    for name in names:
        assert get(name) == content(name), "its own node reads it at the target"
    assert not here("plain")
else:
    wait("written")
    rank = 0
    for name in names:
        assert not here(glob.escape(name))
        assert os.stat("out/" + name).st_size == len(content(name))
        assert os.access("out/" + name, os.R_OK)
        assert get(name) == content(name)
    flag("read")
""")
    assert done.returncode == 0, done.stderr
    assert {name: given(nodes, name) for name in ODD_NAMES} == {name: content(0, name) for name in ODD_NAMES}
    assert f"{hosts[0]}: {len(ODD_NAMES)} files, " in done.stderr
    assert "had been delivered while the program ran, because processes of other nodes wanted them" in done.stderr
    assert not nodes.all_folders()
    assert not agents_of(nodes.top)
    assert not list(nodes.base.glob(".tailrace*"))


def test_a_name_that_no_node_has_does_not_exist(nodes: FakeNodes) -> None:
    """A file that is open for writing on another node does not exist yet, and one that a killed process had open never does."""
    done = nodes.run("""
import subprocess
def fails(call, *words):
    try:
        call(*words)
    except FileNotFoundError:
        return True
    return False
if rank == 0:
    open_file = open("out/open", "wb", 0)
    open_file.write(b"half")
    child = "import os, signal; half = open('out/torn', 'wb', 0); half.write(b'half'); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", child])
    flag("opened")
    wait("looked")
    open_file.close()
    flag("closed")
else:
    wait("opened")
    for name in ("out/never", "out/open", "out/torn"):
        assert fails(open, name) and fails(os.stat, name) and fails(os.unlink, name) and fails(os.rename, name, "out/new"), name
        assert not os.path.exists(name) and not os.access(name, os.F_OK), name
    flag("looked")
    wait("closed")
    assert get("open") == b"half"
    os.rename("out/open", "out/renamed")
""")
    assert done.returncode == 1, done.stderr
    assert nodes.delivered() == {"renamed": b"half", "torn.torn": b"half"}
    assert "torn, because its process was killed" in done.stderr
    assert "did not exist" not in done.stderr
    assert not nodes.all_folders()


def test_a_file_that_another_node_removes_or_renames_is_gone(nodes: FakeNodes) -> None:
    done = nodes.run("""
if rank == 0:
    for name in ("removed", "renamed", "kept"):
        put(name)
    flag("written")
    wait("done")
    assert sorted(os.listdir("out")) == ["kept", "new"]
else:
    wait("written")
    os.unlink("out/removed")
    os.rename("out/renamed", "out/new")
    flag("done")
""")
    assert done.returncode == 0, done.stderr
    assert nodes.delivered() == {"kept": content(0, "kept"), "new": content(0, "renamed")}


@pytest.mark.parametrize("hosts", [("n1", "n2"), ("n1", OWN), (OWN, "n1")])
def test_listings_have_the_closed_files_of_other_nodes(nodes: FakeNodes, hosts: tuple[str, ...]) -> None:
    """By each way to list, without delivering one of them. A folder with such files is not empty."""
    nodes.hosts = hosts
    done = nodes.run(f"""
import subprocess
names = sorted({[name for name in ODD_NAMES if "/" not in name]!r})
if rank == 0:
    os.makedirs("out/deep/er", exist_ok=True)
    for name in [*names, "deep/er/file"]:
        put(name)
    open_file = open("out/open", "wb")
    flag("written")
    wait("listed")
    assert all(here(glob.escape(name)) for name in [*names, "deep/er/file"]), "a listing delivers nothing"
    open_file.close()
    flag("closed")
else:
    wait("written")
    put("own")
    everything = sorted([*names, "own", "deep"])
    assert sorted(os.listdir("out")) == everything
    os.symlink("out", "shortcut")
    assert sorted(os.listdir("shortcut")) == everything
    assert sorted(entry.name for entry in os.scandir("out") if entry.is_file()) == sorted([*names, "own"])
    assert glob.glob("out/pl*n") == ["out/plain"]
    assert [(folder, sorted(files)) for folder, _, files in sorted(os.walk("out"))] == [
        ("out", sorted([*names, "own"])), ("out/deep", []), ("out/deep/er", ["file"])]
    assert subprocess.run(["ls", "out/deep/er"], capture_output=True, text=True).stdout == "file\\n"
    found = subprocess.run(["find", "out", "-name", "pl*n"], capture_output=True, text=True).stdout
    assert found == "out/plain\\n", found
    try:
        os.rmdir("out/deep/er")
        assert False, "it has a file on another node"
    except OSError as error:
        assert error.errno == 39, error
    flag("listed")
    wait("closed")
    subprocess.run(["rm", "-r", "out/deep"], check=True)
    assert sorted(os.listdir("out")) == sorted([*names, "own", "open"])
""")
    assert done.returncode == 0, done.stderr
    assert set(nodes.delivered()) >= {"own", "open", "plain"}
    assert not (nodes.base / "out/deep").exists()
    assert not nodes.all_folders()


@pytest.mark.parametrize("while_running", [False, True])
def test_after_each_rewriting_other_nodes_read_the_new_file(nodes: FakeNodes, while_running: bool) -> None:
    nodes.configure(f"while_running = {str(while_running).lower()}\n")
    done = nodes.run("""
def rewrite(text):
    open("out/file", "w").write(text)
def replace(text):
    open("out/new", "w").write(text)
    os.replace("out/new", "out/file")
def make_again(text):
    os.unlink("out/file")
    rewrite(text)
def append(text):
    open("out/file", "a").write(text)
turns = [(0, rewrite), (0, rewrite), (0, replace), (1, rewrite), (0, make_again), (1, replace), (1, append), (0, replace)]
for number, (writer, write) in enumerate(turns):
    if rank == writer:
        before = open("out/file").read() if write is append else ""
        write(f"text {number}")
        flag(f"written.{number}")
        wait(f"read.{number}")
    else:
        wait(f"written.{number}")
        found = open("out/file").read()
        assert found.endswith(f"text {number}"), (number, found)
        flag(f"read.{number}")
""")
    assert done.returncode == 0, done.stderr
    assert nodes.delivered() == {"file": b"text 7"}
    assert not nodes.all_folders()
    assert not list(nodes.base.glob(".tailrace*"))


def test_many_names_are_asked_for_at_once(nodes: FakeNodes) -> None:
    """By threads of all nodes, the same and different names, in the middle of many that do not exist."""
    nodes.hosts = ("n1", "n2", OWN)
    done = nodes.run("""
from concurrent.futures import ThreadPoolExecutor
COUNT = 60
for number in range(COUNT):
    put(f"f.{rank}.{number}")
flag(f"written.{rank}")
for other in range(3):
    wait(f"written.{other}")
def look(number):
    assert not os.path.exists(f"out/absent.{rank}.{number}")
    own = rank
    for other in range(3):
        with open(f"out/f.{other}.{number}", "rb") as file:
            text = file.read()
        name = f"f.{other}.{number}"
        assert text == bytes((other * 31 + at * 7 + len(name)) % 251 for at in range(3000 + len(name))), name
with ThreadPoolExecutor(8) as threads:
    list(threads.map(look, range(COUNT)))
flag(f"read.{rank}")
for other in range(3):
    wait(f"read.{other}")
""")
    assert done.returncode == 0, done.stderr
    names = [(rank, f"f.{rank}.{number}") for rank in range(3) for number in range(60)]
    assert nodes.delivered() == {name: content(rank, name) for rank, name in names}
    assert not nodes.all_folders()


def test_of_a_name_on_two_nodes_the_file_that_was_read_has_the_name(nodes: FakeNodes) -> None:
    nodes.hosts = ("n1", "n2", OWN)
    done = nodes.run("""
if rank < 2:
    put("same")
    flag(f"written.{rank}")
    wait("read")
else:
    wait("written.0")
    wait("written.1")
    found = get("same")
    rank = 0
    first = found == content("same")
    rank = 1
    assert first or found == content("same")
    print(0 if first else 1)
    flag("read")
""")
    assert done.returncode == 1, done.stderr
    first = int(done.stdout)
    other = 1 - first
    assert nodes.delivered() == {"same": content(first, "same"), f"same.from-n{other + 1}": content(other, "same")}
    assert f"out/same: on n{first + 1}, n{other + 1}; that of n{first + 1} was delivered while the program ran" in done.stderr


def test_a_file_for_a_bundle_that_was_asked_for_has_its_own_name(nodes: FakeNodes) -> None:
    nodes.configure('sink = "bundle"\nbundles = "results"\n')
    done = nodes.run("""
if rank == 0:
    put("asked"); put("not"); flag("written"); wait("read")
else:
    wait("written"); get("asked"); flag("read")
""")
    assert done.returncode == 0, done.stderr
    assert nodes.delivered() == {"asked": content(0, "asked")}
    (bundle,) = (nodes.base / "results").glob("*.tar")
    assert bundle.name.startswith("n1-")
    assert b"out/not" in bundle.read_bytes()
    assert b"out/asked" not in bundle.read_bytes()


def test_without_questions_each_node_sees_its_own_files(nodes: FakeNodes) -> None:
    nodes.configure("ask_other_nodes = false\n")
    done = nodes.run("""
put(f"a.{rank}")
flag(f"written.{rank}")
wait(f"written.{1 - rank}")
print(os.path.exists(f"out/a.{1 - rank}"))
flag(f"read.{rank}")
wait(f"read.{1 - rank}")
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "False"]


KILLED = """
if rank == 0:
    put("a.0"); flag("written"); wait("read")
else:
    wait("written")
    wait("stopped")
    print(os.path.exists("out/a.0"), os.path.exists("out/never"), os.listdir("out"))
    flag("read")
"""


@pytest.mark.parametrize(("node", "said"), [("n1", "n2: 3 names did not exist for processes there, or were folders"), ("n2", "")])
def test_a_process_does_not_wait_for_an_agent_that_was_killed(nodes: FakeNodes, node: str, said: str) -> None:
    """That of the file's node (n1), and that of its own node (n2), whose counts nobody reads then."""
    with nodes.start(KILLED) as process:
        until(lambda: (nodes.top / "written").exists(), 120)
        os.kill(agents_of(nodes.top)[node], signal.SIGKILL)
        until(lambda: node not in agents_of(nodes.top), 120)
        (nodes.top / "stopped").touch()
        out, err = process.communicate(timeout=180)
    assert process.returncode == 1, err
    assert out.split() == ["False", "False", "[]"]
    assert said in err
    assert f"{node}: its agent is lost" in err
    if said:
        assert "but other nodes may have had more: out/a.0, ... (n1: its agent is lost)" in err


@pytest.mark.full
@pytest.mark.parametrize(
    ("node", "why"), [("n1", "n1: it has said nothing for 15 s"), ("n2", "the agent of this node did not answer")]
)
def test_a_process_waits_for_a_silent_agent_until_its_time_is_over(nodes: FakeNodes, node: str, why: str) -> None:
    """15 s for that of another node (n1), 30 s for that of its own (n2), once for both names."""
    with nodes.start(KILLED) as process:
        until(lambda: (nodes.top / "written").exists(), 120)
        agent = agents_of(nodes.top)[node]
        os.kill(agent, signal.SIGSTOP)
        try:
            (nodes.top / "stopped").touch()
            until(lambda: (nodes.top / "read").exists(), 120)
        finally:
            os.kill(agent, signal.SIGCONT)
        out, err = process.communicate(timeout=180)
    assert process.returncode == 1, err
    assert out.split() == ["False", "False", "[]"]
    said = (
        "n2: 3 names did not exist for processes there, or were folders that they listed or renamed, but other nodes may have had"
    )
    assert f"{said} more: out/a.0, ... ({why})" in err, err
    assert nodes.delivered() == {"a.0": content(0, "a.0")}
