"""`tailrace run` with [stage] on several nodes: an agent on each, what is delivered, and what is named when one fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.clusters import until
from tests.fake_nodes import FakeNodes, agents_of, content


@pytest.fixture
def nodes(tmp_path: Path, tailrace_command: list[str]) -> FakeNodes:
    return FakeNodes(tmp_path, tailrace_command)


def test_the_files_of_each_node_are_on_its_scratch_and_then_at_the_target(nodes: FakeNodes) -> None:
    done = nodes.run("""
for name in (f"a.{rank}", f"deep/b.{rank}"):
    os.makedirs(os.path.dirname("out/" + name), exist_ok=True)
    put(name)
    assert here(name)
flag(f"written.{rank}")
wait(f"written.{1 - rank}")
assert not here(f"a.{1 - rank}")
print(node, sorted(name for _, _, names in os.walk("out") for name in names))
""")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{node} ['a.0', 'a.1', 'b.0', 'b.1']" for node in ("n1", "n2")]
    assert nodes.delivered() == {name: content(rank, name) for rank in (0, 1) for name in (f"a.{rank}", f"deep/b.{rank}")}
    assert f"files are staged in {os.uname().nodename}:" in done.stderr
    assert "4 files, 11.7 KiB from 2 nodes" in done.stderr
    assert not nodes.all_folders()
    assert not agents_of(nodes.top)


def test_what_a_killed_process_of_a_node_had_open_is_torn(nodes: FakeNodes) -> None:
    done = nodes.run("""
put(f"whole.{rank}")
half = open(f"out/half.{rank}", "wb", 0)
half.write(b"half")
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
half.close()
""")
    assert done.returncode == 128 + signal.SIGKILL
    whole = {f"whole.{rank}": content(rank, f"whole.{rank}") for rank in (0, 1)}
    assert nodes.delivered() == {**whole, "half.0": b"half", "half.1.torn": b"half"}
    assert "had the file open: out/half.1.torn (of n2)" in done.stderr
    assert not nodes.all_folders()


def test_a_node_without_an_agent_uses_the_target_and_is_named(nodes: FakeNodes) -> None:
    (nodes.top / "down.n2").touch()
    done = nodes.run("put(f'a.{rank}'); print(node, here(f'a.{rank}'))")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["n1 True", "n2 False"]
    assert nodes.delivered() == {f"a.{rank}": content(rank, f"a.{rank}") for rank in (0, 1)}
    assert "n2: no agent is there, so files of its processes go to their target at once" in done.stderr
    assert "n2: no route to host" in done.stderr
    assert "processes on n2 have staged nothing" in done.stderr
    assert not nodes.all_folders()


def test_a_node_whose_scratch_cannot_be_used_uses_the_target(nodes: FakeNodes) -> None:
    (nodes.top / "scratch/n2").rmdir()
    done = nodes.run("put(f'a.{rank}'); print(node, here(f'a.{rank}'))")
    assert done.returncode == 0, done.stderr
    assert nodes.delivered() == {f"a.{rank}": content(rank, f"a.{rank}") for rank in (0, 1)}
    assert f"go to their target at once: scratch = {nodes.top}/scratch/n2: no such folder" in done.stderr


KILLS_AN_AGENT = """
put(f"a.{rank}")
if rank == 1:
    os.kill(int(open("agent").read()), signal.SIGKILL)
    put("later.1")
"""


def test_after_the_death_of_an_agent_its_files_stay_and_can_be_resumed(nodes: FakeNodes) -> None:
    with nodes.start("until(lambda: os.path.exists('agent.ready'))" + KILLS_AN_AGENT) as process:
        until(lambda: len(agents_of(nodes.top)) == 2, 120)
        (nodes.base / "agent").write_text(str(agents_of(nodes.top)["n2"]))
        (nodes.base / "agent.ready").touch()
        _, said = process.communicate(timeout=180)
    assert process.returncode == 1, said
    assert nodes.delivered() == {"a.0": content(0, "a.0")}
    (folder,) = nodes.folders("n2")
    assert "n2: its agent is lost (its connection has ended" in said
    assert f"stays in n2:{folder}, and `tailrace drain resume {folder}` continues on n2" in said
    status = nodes.drain_on("n2", "status", folder)
    assert "was killed before its files were delivered" in status.stdout
    resumed = nodes.drain_on("n2", "resume", folder)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert nodes.delivered() == {"a.0": content(0, "a.0"), **{name: content(1, name) for name in ("a.1", "later.1")}}
    assert nodes.all_folders() == [folder]


@pytest.mark.parametrize("newer", [0, 1])
def test_of_a_name_on_two_nodes_both_files_are_delivered(nodes: FakeNodes, newer: int) -> None:
    long = "x" * 255
    done = nodes.run(f"""
for name in ("same", "torn", "{long}"):
    put(name)
    os.utime("out/" + name, ns=(0, 10**18 + (rank == {newer})))
if rank == 1:
    again = open("out/torn", "r+b")
    os.kill(os.getpid(), signal.SIGKILL)
""")
    other, from_node = 1 - newer, f".from-n{2 - newer}"
    expected = {f"same{end}": content(rank, "same") for rank, end in ((newer, ""), (other, from_node))}
    expected |= {long: content(newer, long), "x" * (250 - len(from_node)) + from_node: content(other, long)}
    torn = {rank: f"torn{'' if rank == newer else from_node}{'.torn' if rank == 1 else ''}" for rank in (0, 1)}
    expected |= {name: content(rank, "torn") for rank, name in torn.items()}
    assert nodes.delivered() == expected
    assert done.returncode == 128 + signal.SIGKILL
    last, first = f"n{newer + 1}", f"n{other + 1}"
    assert f"made on several nodes: out/same: on {last}, {first}; that of {last} was changed last" in done.stderr
    assert f"that of {first} is out/same{from_node}" in done.stderr
    assert not nodes.all_folders()


def test_a_name_on_two_nodes_ends_with_1_and_hides_no_file_of_the_target(nodes: FakeNodes) -> None:
    (nodes.base / "out").mkdir()
    (nodes.base / "out/same.from-n2").write_bytes(b"of an earlier run")
    done = nodes.run("put('same'); os.utime('out/same', (0, 9 - rank))")
    assert done.returncode == 1, done.stderr
    assert nodes.delivered() == {
        "same": content(0, "same"),
        "same.from-n2": b"of an earlier run",
        "same.from-n2.2": content(1, "same"),
    }


@pytest.mark.parametrize(("text", "ending"), [("", ".tar"), ('compression = "zstd:3"\n', ".tar.zst")])
def test_bundles_of_two_nodes_have_the_files_of_each(nodes: FakeNodes, text: str, ending: str) -> None:
    nodes.configure(f'sink = "bundle"\nbundles = "results"\n{text}')
    done = nodes.run("put(f'a.{rank}'); put('same')")
    assert done.returncode == 1, done.stderr
    assert "made on several nodes: out/same" in done.stderr
    bundles = sorted((nodes.base / "results").glob(f"*-000001{ending}"))
    assert [path.name.partition("-")[0] for path in bundles] == ["n1", "n2"]
    for rank, path in enumerate(bundles):
        into = nodes.top / f"extracted.{rank}"
        into.mkdir()
        subprocess.run(["tar", "-xf", path, "-C", into], check=True)
        found = {str(file.relative_to(into / "out")): file.read_bytes() for file in into.rglob("*") if file.is_file()}
        assert found == {name: content(rank, name) for name in (f"a.{rank}", "same")}
    assert not nodes.all_folders()


def test_a_full_target_keeps_what_does_not_fit_on_each_node(
    tmp_path: Path, tailrace_command: list[str], small_device: Path
) -> None:
    nodes = FakeNodes(tmp_path, tailrace_command)
    config = (nodes.base / "tailrace.toml").read_text()
    nodes.base = small_device
    (nodes.base / "tailrace.toml").write_text(config)
    done = nodes.run("put(f'a.{rank}'); open(f'out/large.{rank}', 'wb').write(b'%d' % rank * 900_000)")
    assert done.returncode == 1, done.stderr
    assert "files are not delivered" in done.stderr
    expected = {f"a.{rank}": content(rank, f"a.{rank}") for rank in (0, 1)}
    expected |= {f"large.{rank}": b"%d" % rank * 900_000 for rank in (0, 1)}
    there = nodes.delivered()
    assert {name: expected[name] for name in there} == there, "what is there is whole"
    assert there.keys() != expected.keys()
    subprocess.run(["mount", "-o", "remount,size=8m", small_device], check=True)
    for node in nodes.names:
        for folder in nodes.folders(node):
            assert f"n{node[1]}:{folder}" in done.stderr
            resumed = nodes.drain_on(node, "resume", folder)
            assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert nodes.delivered() == expected


def test_after_a_kill_of_the_command_each_node_can_be_resumed(nodes: FakeNodes) -> None:
    """The second node that is drained does not replace what the first has delivered."""
    script = "put(f'a.{rank}'); put('same'); open(f'written.{rank}', 'w').close(); until(lambda: os.path.exists('end'))"
    with nodes.start(script) as process:
        until(lambda: all((nodes.base / f"written.{rank}").exists() for rank in (0, 1)), 120)
        agents = agents_of(nodes.top)
        assert agents.keys() == {"n1", "n2"}
        process.kill()
        process.wait()
        (nodes.base / "end").touch()
        process.communicate(timeout=180)  # the ranks have ended
    until(lambda: not agents_of(nodes.top), 120)
    assert nodes.delivered() == {}
    for node in nodes.names:
        (folder,) = nodes.folders(node)
        found = nodes.drain_on(node, "scavenge", nodes.top / "scratch" / node)
        assert f"drain resume {folder}" in found.stdout.replace("\n", "")
    (first,), (second,) = map(nodes.folders, nodes.names)
    assert nodes.drain_on("n1", "resume", first).returncode == 0
    resumed = nodes.drain_on("n2", "resume", second)
    assert resumed.returncode == 1, resumed.stdout + resumed.stderr
    assert "made on another node, too: out/same: that of this node is out/same.from-n2" in resumed.stdout
    expected = {"a.0": content(0, "a.0"), "a.1": content(1, "a.1"), "same": content(0, "same")}
    assert nodes.delivered() == {**expected, "same.from-n2": content(1, "same")}
    assert nodes.drain_on("n2", "resume", second).returncode == 0
    assert len(nodes.delivered()) == 4


def test_closed_files_of_each_node_are_copied_while_the_program_runs(nodes: FakeNodes) -> None:
    nodes.configure("while_running = true\n")
    done = nodes.run("""
put(f"a.{rank}")
copies = os.environ["TMPDIR"] + "/tailrace-*/.tailrace-drain/early.jsonl"
until(lambda: any('"copied"' in open(path).read() for path in glob.glob(copies)))
put(f"late.{rank}")
""")
    assert done.returncode == 0, done.stderr
    assert nodes.delivered() == {name: content(rank, name) for rank in (0, 1) for name in (f"a.{rank}", f"late.{rank}")}
    assert "of them 2 files, 5.9 KiB had been copied while the program ran" in done.stderr
    assert not nodes.all_folders()
    assert not list(nodes.base.glob(".tailrace*"))


def test_a_command_that_does_not_start_leaves_nothing_on_any_node(nodes: FakeNodes) -> None:
    (nodes.top / "ssh").symlink_to(nodes.shell)
    (nodes.top / "hosts").write_text("n1\nn1\nn2\n")
    model = nodes.top / "model"
    model.write_text("#!/no-such-program\n")
    model.chmod(0o755)
    environment = {**nodes.environment, "PBS_NODEFILE": str(nodes.top / "hosts"), "PATH": f"{nodes.top}:{os.environ['PATH']}"}
    words = nodes.words([str(model)])
    done = subprocess.run(words, cwd=nodes.base, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "n1:" in done.stderr
    assert not nodes.all_folders()
    assert not agents_of(nodes.top)


def test_a_comparison_has_scratch_on_each_node(nodes: FakeNodes) -> None:
    script = "os.makedirs('out', exist_ok=True); put(f'a.{rank}'); print(node, here(f'a.{rank}'), flush=True)"
    words = ["run", "--compare", "--rounds", "1", "--config", "tailrace.toml", "--", *nodes.launch(nodes.rank_words(script))]
    done = subprocess.run(
        [*nodes.command, *words], cwd=nodes.base, env=nodes.environment, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Different after placed runs" not in done.stdout
    (folder,) = nodes.base.glob("tailrace-compare-*")
    assert sorted((folder / "plain.stdout").read_text().split()) == ["False", "False", "n1", "n2"]
    assert sorted((folder / "placed.stdout").read_text().split()) == ["True", "True", "n1", "n2"]
    staged = json.loads((folder / "placed/nodes.json").read_text())
    assert staged.keys() == {os.uname().nodename, *nodes.names}
    assert not nodes.all_folders()
    assert not agents_of(nodes.top)
