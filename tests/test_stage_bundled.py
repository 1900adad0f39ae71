"""Files that an earlier run has delivered in bundles: a program finds them under their names, as if they were there."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.stage.earlier_bundles import EarlierBundles
from tailrace.stage.giver import Outcome, Result
from tailrace.stage.over_target import at_target

from tests.fake_nodes import FakeNodes, content
from tests.test_stage_run import SHOW, STAGE, Staged, lying

BUNDLES = STAGE + 'sink = "bundle"\nbundles = "results"\n'
NAMES = [f"r{number:02d}" for number in range(20)]
WRITE = f"""
import os
os.makedirs("out/d", exist_ok=True)
os.makedirs("out/f", exist_ok=True)
for name in {NAMES!r}:
    with open("out/" + name, "w") as file:
        file.write("old " + name + chr(10))
    os.chmod("out/" + name, 0o640)
    os.utime("out/" + name, (10**9, 10**9 + 7))
for name in ("d/x", "d/y", "f/z"):
    with open("out/" + name, "w") as file:
        file.write("old " + name)
"""

# Each call on another file that is in a bundle alone. What it prints is compared with a folder in which all files are.
CALLS = (
    SHOW
    + """
import stat
def facts(path):
    is_ = os.stat(path)
    return stat.filemode(is_.st_mode), is_.st_size, int(is_.st_mtime), is_.st_nlink
show("read", lambda: get("out/r00"))
show("facts", lambda: facts("out/r01"))
show("append", lambda: put("out/r02", "more", "a") or get("out/r02"))
show("truncate", lambda: put("out/r03", "new") or get("out/r03"))
show("exclusive", lambda: put("out/r04", "new", "x"))
show("update", lambda: put("out/r05", "NEW", "r+") or get("out/r05"))
show("rename", lambda: os.rename("out/r06", "out/moved"))
show("moved", lambda: (get("out/moved"), os.path.exists("out/r06")))
put("out/temporary", "replaced")
show("rename onto", lambda: os.rename("out/temporary", "out/r07") or get("out/r07"))
show("remove", lambda: os.remove("out/r08"))
show("removed", lambda: (os.path.exists("out/r08"), os.access("out/r08", os.R_OK)))
show("link onto", lambda: os.link("out/r00", "out/r09"))
show("link from", lambda: os.link("out/r10", "out/linked"))
show("mkdir onto", lambda: os.mkdir("out/r11"))
show("symlink onto", lambda: os.symlink("r00", "out/r12"))
show("chmod", lambda: os.chmod("out/r13", 0o600) or facts("out/r13"))
show("utime", lambda: os.utime("out/r14", (5, 5)) or facts("out/r14"))
show("truncate path", lambda: os.truncate("out/r15", 3) or get("out/r15"))
os.remove("out/r16")
show("made again", lambda: put("out/r16", "again", "x") or get("out/r16"))
show("by a descriptor", lambda: os.read(os.open("r17", os.O_RDONLY, dir_fd=os.open("out", os.O_PATH)), 99))
show("absent", lambda: get("out/absent"))
show("new", lambda: put("out/new", "new", "x") or get("out/new"))
os.makedirs("out/d/deep", exist_ok=True)
show("rename folder", lambda: os.rename("out/d", "out/e"))
show("file in it", lambda: (get("out/e/x"), os.path.exists("out/d/x")))
show("folder onto", lambda: (os.mkdir("out/new folder"), os.rename("out/new folder", "out/f")))
show("as a folder", lambda: os.listdir("out/r18"))
"""
)
LOOK = """
import os
for name in sorted(os.environ["NAMES"].split()):
    path = "out/" + name
    print(name, repr(open(path).read()) if os.path.lexists(path) else "-")
"""
ALL = [*NAMES, "d/x", "d/y", "e/x", "e/y", "f/z", "moved", "temporary", "linked", "absent", "new"]


@pytest.fixture
def staged(tmp_path: Path, tailrace_command: list[str]) -> Staged:
    return Staged(tmp_path, tailrace_command)


@pytest.fixture
def bundled(staged: Staged) -> Staged:
    """After a run whose files are in a bundle."""
    staged.configure(BUNDLES)
    done = run(staged, [sys.executable, "-c", WRITE])
    assert done.returncode == 0, done.stderr
    assert lying(staged.base / "out").keys() == {"d", "f"}
    return staged


def run(staged: Staged, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Each run has a log of its own."""
    staged.log = staged.base.parent / f"log{len(list(staged.base.parent.glob('log*')))}"
    return staged.run(words)


def bundles_of(staged: Staged) -> list[Path]:
    return sorted((staged.base / "results").glob("*.tar*"))


@pytest.mark.parametrize("more", ["", 'compression = "zstd"\n'], ids=["plain", "zstd"])
def test_a_restart_is_read_out_of_a_bundle(staged: Staged, more: str) -> None:
    staged.configure(BUNDLES + more)
    assert run(staged, [sys.executable, "-c", WRITE]).returncode == 0
    done = run(staged, ["sh", "-c", "cat out/r03 out/r07; test -e out/none || echo none; cat out/r03"])
    assert (done.stdout, done.returncode) == ("old r03\nold r07\nnone\nold r03\n", 0), done.stderr
    assert lying(staged.base / "out").keys() == {"d", "f", "r03", "r07"}
    assert "2 files, 16 B of earlier runs were taken out of their bundles" in done.stderr
    assert not staged.folders()


def test_programs_see_what_they_see_without_bundles(bundled: Staged, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for script in (WRITE, CALLS):
        without = subprocess.run([sys.executable, "-c", script], cwd=plain, capture_output=True, text=True, check=True, timeout=60)
    done = run(bundled, [sys.executable, "-c", CALLS])
    assert (done.stdout, done.returncode) == (without.stdout, 0), done.stderr
    look = ["env", f"NAMES={' '.join(ALL)}", sys.executable, "-c", LOOK]
    later = run(bundled, look)
    plainly = subprocess.run(look, cwd=plain, capture_output=True, text=True, check=True, timeout=60)
    assert later.stdout == plainly.stdout, later.stderr
    # Nobody who reads without this run's help sees an older file than the program.
    for path in (bundled.base / "out").rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (plain / path.relative_to(bundled.base)).read_bytes()
    assert not bundled.folders()


def test_what_was_removed_does_not_come_back(bundled: Staged) -> None:
    assert run(bundled, ["rm", "out/r00", "out/r01"]).returncode == 0
    again = run(bundled, ["sh", "-c", "ls out/r00; echo new > out/r01; cat out/r02"])
    assert (again.stdout, "out/r00" in again.stderr) == ("old r02\n", True)
    assert len(bundles_of(bundled)) == 2  # r01 was new: nothing had the name
    assert run(bundled, ["cat", "out/r01"]).stdout == "new\n"
    assert not (bundled.base / "out/r00").exists()


def test_the_bundles_of_a_folder_have_what_no_later_run_has_taken(bundled: Staged, tmp_path: Path) -> None:
    """One that was written anew is in two bundles, and only the later copy counts."""
    (old,) = bundles_of(bundled)
    assert run(bundled, ["sh", "-c", "rm out/r00 out/r01; echo new > out/r01; cat out/d/x"]).returncode == 0
    results = bundled.base / "results"

    def ask(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*bundled.command, *map(str, words)], capture_output=True, text=True, check=False, timeout=60)

    listed = json.loads(ask("ls", results, "--json").stdout)
    names = {one["name"]: one["bundle"] for one in listed["files"] if one["type"] == "file"}
    assert {"out/r00", "out/d/x"}.isdisjoint(names)
    assert "out/d/y" in names
    assert names["out/r01"] != names["out/r02"]
    assert listed["taken"] == 3
    assert "3 files were taken out by later runs, and passed over" in ask("ls", results).stderr
    done = ask("extract", results, "--all", "--into", tmp_path / "all")
    assert "3 files were taken out by later runs, and passed over" in done.stdout, done.stderr
    assert (tmp_path / "all/out/r01").read_text() == "new\n"
    assert not (tmp_path / "all/out/r00").exists()
    assert not (tmp_path / "all/out/d/x").exists()
    refused = ask("extract", results, "out/r00", "--into", tmp_path / "one")
    assert refused.returncode != 0
    assert "out/r00 was taken out of its bundle" in refused.stderr
    assert "name the bundle itself" in refused.stderr
    assert ask("extract", old, "out/r00", "--into", tmp_path / "one").returncode == 0
    assert (tmp_path / "one/out/r00").read_text() == "old r00\n"


def test_a_removed_folder_does_not_come_back(bundled: Staged) -> None:
    done = run(bundled, ["sh", "-c", "rmdir out/d; rm -rf out/d; mkdir out/d; cat out/d/x; echo new > out/d/y; cat out/f/z"])
    assert done.stdout == "old f/z"
    assert "out/d" in done.stderr
    assert "not empty" in done.stderr
    again = run(bundled, ["sh", "-c", "cat out/d/y out/d/x"])
    assert again.stdout == "new\n"
    assert "out/d/x" in again.stderr


def test_listings_have_names_that_are_in_bundles_alone(bundled: Staged) -> None:
    show = """
import glob, os
print(sorted(os.listdir("out")), sorted(glob.glob("out/r0*")), sorted(os.listdir("out/d")))
with os.scandir("out") as entries:
    print(sorted(entry.name for entry in entries if entry.is_file()))
print(sorted(sorted(names) for _, _, names in os.walk("out")))
"""
    os.symlink("r00", bundled.base / "out/link")
    (bundled.base / "out/own").touch()
    done = run(bundled, [sys.executable, "-c", f"import os; open('out/new', 'w').close(); os.remove('out/r01')\n{show}"])
    names = sorted({*NAMES, "link", "new", "own"} - {"r01"})
    first = [sorted([*names, "d", "f"]), [f"out/{name}" for name in names if name.startswith("r0")], ["x", "y"]]
    assert done.stdout.splitlines() == [" ".join(map(str, first)), str(names), str(sorted([sorted(names), ["x", "y"], ["z"]]))]
    assert done.returncode == 0, done.stderr
    # A listing takes nothing out of a bundle, but scandir's is_file() does for a link alone.
    assert lying(bundled.base / "out").keys() <= {"d", "f", "link", "own", "r00"}
    assert run(bundled, ["ls", "out/d"]).stdout == "x\ny\n"
    assert lying(bundled.base / "out/d") == {}


def test_a_file_that_was_extracted_by_hand_and_removed_does_not_come_back(bundled: Staged) -> None:
    subprocess.run(["tar", "-xf", bundles_of(bundled)[0], "-C", bundled.base, "out/r00", "out/r01", "out/r02"], check=True)
    done = run(bundled, ["sh", "-c", "rm out/r00; mv out/r01 out/moved; cat out/r02 out/r03; ls out/r00 out/r01"])
    assert done.stdout == "old r02\nold r03\n", done.stderr
    again = run(bundled, ["sh", "-c", "ls out | grep -v '^r[01]'; ls out/r00 out/r01; cat out/moved"])
    assert again.stdout == "d\nf\nmoved\nold r01\n", again.stderr


def test_names_of_any_bytes(staged: Staged) -> None:
    names = ["two words", "line\nbreak", "é 100%25", "-", "x" * 255]
    script = f"import os\nos.makedirs('out', exist_ok=True)\nfor name in {names!r}: open('out/' + name, 'w').write(name)"
    staged.configure(BUNDLES)
    assert run(staged, [sys.executable, "-c", script]).returncode == 0
    read = f"import os\nprint(sorted(os.listdir('out')) == sorted({names!r}))\n"
    read += f"for name in {names!r}: print(os.path.exists('out/' + name) and open('out/' + name).read() == name)"
    done = run(staged, [sys.executable, "-c", f"{read}\nos.remove('out/' + {names[1]!r})"])
    assert (done.stdout, done.returncode) == ("True\n" * 6, 0), done.stderr
    assert run(staged, [sys.executable, "-c", read]).stdout == "False\nTrue\nFalse\nTrue\nTrue\nTrue\n"
    assert {path.name for path in (staged.base / "out").iterdir()} == set(names) - {names[1]}


def test_many_processes_want_the_same_files(bundled: Staged) -> None:
    script = f"""
import multiprocessing, random
NAMES = {NAMES!r}
def read(seed):
    names = NAMES * 10
    random.Random(seed).shuffle(names)
    return all(open("out/" + name).read() == "old " + name + chr(10) for name in names)
if __name__ == "__main__":
    with multiprocessing.Pool(8) as pool:
        print(pool.map(read, range(8)))
"""
    program = bundled.base / "many.py"
    program.write_text(script)
    done = run(bundled, [sys.executable, str(program)])
    assert done.stdout == f"{[True] * 8}\n", done.stderr
    assert lying(bundled.base / "out").keys() == {"d", "f", *NAMES}


def test_a_file_of_two_drains_is_told(bundled: Staged, tmp_path: Path) -> None:
    """Nobody knows which one is the later."""
    other = tmp_path / "other"
    (other / "out").mkdir(parents=True)
    (other / "out/r05").write_text("another")
    assert bundled.drain("copy", str(other), str(bundled.base / "results"), "--bundle").returncode == 0
    done = run(bundled, ["sh", "-c", "cat out/r04 out/r05"])
    assert done.stdout == "old r04\n"
    assert "out/r05 is in" in done.stderr
    assert "two drains have made" in done.stderr
    assert done.returncode == 1
    subprocess.run(["tar", "-xf", bundles_of(bundled)[0], "-C", bundled.base, "out/r05"], check=True)
    assert run(bundled, ["cat", "out/r05"]).returncode == 0


def test_a_damaged_bundle_is_named_before_the_program_starts(bundled: Staged) -> None:
    (bundle,) = bundles_of(bundled)
    data = bytearray(bundle.read_bytes())
    data[-100] ^= 1
    bundle.write_bytes(data)
    done = run(bundled, ["touch", "ran"])
    assert done.returncode != 0
    assert str(bundle) in done.stderr
    assert not (bundled.base / "ran").exists()
    assert not bundled.folders()


def test_damaged_bytes_are_not_given(bundled: Staged) -> None:
    (bundle,) = bundles_of(bundled)
    data = bytearray(bundle.read_bytes())
    at = data.index(b"old r06")
    data[at] ^= 1
    bundle.write_bytes(data)
    done = run(bundled, ["cat", "out/r06", "out/r05"])
    assert (done.stdout, done.returncode) == ("old r05\n", 1)
    assert "checksum" in done.stderr
    assert lying(bundled.base / "out").keys() == {"d", "f", "r05"}


def test_a_folder_that_cannot_be_written_is_told(bundled: Staged) -> None:
    (bundled.base / "results" / "tailrace-taken").mkdir()
    done = run(bundled, ["cat", "out/r06"])
    assert "tailrace-taken" in done.stderr
    assert done.returncode != 0


def test_a_helper_that_is_killed_is_told_and_started_again(bundled: Staged) -> None:
    bundles = EarlierBundles(str(bundled.base / "results"), str(bundled.base))
    results: queue.Queue[Result] = queue.Queue()

    def taken(name: str) -> Result:
        bundles.take(name, results.put, lambda: None)
        return results.get(timeout=60)

    assert taken("out/r00") == Result(Outcome.GIVEN)
    subprocess.run(["pkill", "-KILL", "-f", f"tailraced take {bundled.base}/results"], check=True)
    assert taken("out/r01").outcome is Outcome.FAILED
    assert taken("out/r01") == taken("out/none") == Result(Outcome.GIVEN)
    bundles.end()
    assert lying(bundled.base / "out").keys() == {"d", "f", "r00", "r01"}
    assert list(bundles.failures) == ["out/r01"]


def test_a_full_target_gives_no_half_file(bundled: Staged, small_device: Path) -> None:
    bundles = EarlierBundles(str(bundled.base / "results"), str(small_device))
    results: queue.Queue[Result] = queue.Queue()
    with open(small_device / "filler", "wb") as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1 << 16))
            filler.flush()
    bundles.take("out/r00", results.put, lambda: None)
    assert "No space left" in results.get(timeout=60).why
    bundles.end()
    assert not list(small_device.rglob("r00"))


def test_a_file_that_replaces_one_of_the_target_is_not_in_a_bundle(staged: Staged) -> None:
    """A bundle would have the new one while everybody reads the old one."""
    (staged.base / "out").mkdir()
    for name in ("a", "b"):
        (staged.base / "out" / name).write_text("old")
    staged.configure(BUNDLES)
    done = run(staged, ["sh", "-c", "echo new > out/a; echo 1 > out/c; mv out/c out/b; echo 2 > out/d"])
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_text() for path in (staged.base / "out").iterdir()} == {"a": "new\n", "b": "1\n"}
    (bundle,) = bundles_of(staged)
    names = subprocess.run(["tar", "-tf", bundle], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in names if not name.endswith("/")} == {"out/d"}


def test_a_killed_run_delivers_over_the_target_when_it_is_resumed(staged: Staged) -> None:
    (staged.base / "out").mkdir()
    (staged.base / "out/b").write_text("old")
    staged.configure(BUNDLES)
    # The program puts a file in the place of the folder for bundles, so the drain at the end stops.
    results = staged.base / "results"
    done = run(staged, ["sh", "-c", "echo 2 > out/d; echo 3 > out/e; rm -rf results; echo in the way > results"])
    assert done.returncode == 1
    (folder,) = staged.folders()
    results.unlink()
    (staged.base / "out/e").write_text("made at the target without this run")
    assert staged.drain("resume", str(folder)).returncode == 0
    assert (staged.base / "out/e").read_text() == "3\n"
    names = subprocess.run(["tar", "-tf", bundles_of(staged)[0]], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in names if not name.endswith("/")} == {"out/d"}


@pytest.mark.parametrize("asks", ["true", "false"])
def test_nodes_take_files_of_each_other_out_of_bundles(tmp_path: Path, tailrace_command: list[str], asks: str) -> None:
    nodes = FakeNodes(tmp_path, tailrace_command)
    nodes.configure(f'sink = "bundle"\nbundles = "results"\nask_other_nodes = {asks}\n')
    first = nodes.run("put(f'a.{rank}'); put(f'b.{rank}')")
    assert first.returncode == 0, first.stderr
    nodes.log = tmp_path / "later"
    later = nodes.run("""
for name in ("a.0", "a.1", "b.0"):
    print(node, name, len(open("out/" + name, "rb").read()), os.path.exists("out/none"))
os.makedirs("out", exist_ok=True)
put(f"c.{rank}")
""")
    assert later.returncode == 0, later.stderr
    expected = [f"{node} {name} {len(content(0, name))} False" for node in nodes.names for name in ("a.0", "a.1", "b.0")]
    assert sorted(later.stdout.splitlines()) == expected, later.stderr
    assert nodes.delivered() == {name: content(int(name[-1]), name) for name in ("a.0", "a.1", "b.0")}
    assert not nodes.all_folders()


@pytest.mark.parametrize("others", [0, 2000])
def test_names_at_the_target_are_found_by_listings_and_by_looks(tmp_path: Path, others: int) -> None:
    """A folder with few files of the run, one with many, one with many others, one that is absent, one that is a file."""
    wanted = {f"few/{n}" for n in range(5)} | {f"many/{n}" for n in range(50)}
    for folder in ("few", "many"):
        (tmp_path / folder).mkdir()
    for path in wanted | {f"many/other{n}" for n in range(others)}:
        (tmp_path / path).touch()
    (tmp_path / "many" / "link").symlink_to("nothing")
    (tmp_path / "file").touch()
    asked = [f"{folder}/{n}" for folder in ("few", "many", "absent", "file") for n in range(100)]
    assert set(at_target(str(tmp_path), [*asked, "few/link", "many/link", "top"])) == wanted | {"many/link"}
