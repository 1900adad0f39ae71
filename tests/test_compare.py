"""`tailrace run --compare`: the files of both ways, what is refused, and what the times say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tailrace.compare.copies as copies_module
from tailrace.compare.comparison import DURABLE, IN_CALLS, PROGRAM, Measure, verdict_text
from tailrace.compare.contents import Contents
from tailrace.compare.copies import Copies
from tailrace.compare.differences import difference_of
from tailrace.compare.kept import lines_to_keep
from tailrace.compare.outputs import Directories, Entry, Outputs
from tailrace.machine import facts

CONFIG = '[[place.tree]]\nfiles = "data/{stream}.{rank:number}.{step:number}"\nto = "{rank}/{stream}"\n'
MODEL = """
import os, sys
os.makedirs("data", exist_ok=True)
for rank in range(2):
    for step in range(4):
        open(f"data/u.{rank}.{step}", "w").write(f"{rank} {step}")
os.remove("data/u.0.0")
os.rename("data/u.0.1", "data/u.1.9")
open("input", "a").write("more")
open("process", "w").write(str(os.getpid()))
"""
SEES_TREE = 'open("data/seen", "w").write(str(os.path.isdir("data/1")))\n'


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "tailrace.toml").write_text(CONFIG)
    (folder / "input").write_text("as it was")
    (folder / "model.py").write_text(MODEL)
    return folder


def compare(
    command: list[str], here: Path, *options: str, words: tuple[str, ...] = (sys.executable, "model.py"), status: int = 0
) -> str:
    line = [*command, "run", "--compare", "--rounds", "1", *options, "--", *words]
    done = subprocess.run(line, cwd=here, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status < 2 else " ".join(done.stderr.split())


@pytest.mark.parametrize("trace", ["--trace", "--no-trace"])
def test_both_ways_leave_the_same_files(tailrace_command: list[str], here: Path, trace: str) -> None:
    found: dict[str, Any] = json.loads(compare(tailrace_command, here, "--json", trace))
    files = found["files"]
    assert files["identical"]
    assert files["not_comparable"] == ["process"]
    assert files["same"] == len(["data", "input", "model.py", "tailrace.toml"]) + 7
    assert found["directories"]["plain"]["entries"] == {".": 5, "data": 7}
    assert found["directories"]["placed"]["entries"] == {".": 5, "data/0/u": 2, "data/1/u": 5}
    assert set(found["measures"]) == {DURABLE, PROGRAM} | ({IN_CALLS} if trace == "--trace" else set())
    assert found["measures"][DURABLE]["interval"] is None
    ((durable_s, _),), ((program_s, _),) = (found["measures"][name]["runs"] for name in (DURABLE, PROGRAM))
    assert durable_s > program_s > 0
    assert found["verdict"].startswith("Undecided")
    assert found["keep"] == "", "one round does not say that it is faster"
    kept = {path.name for path in here.iterdir()}
    assert kept == {"input", "model.py", "tailrace.toml", "tailrace-compare-1"}, "the working folder is as before"
    assert (here / "input").read_text() == "as it was"
    inner = {path.name for path in Path(found["folder"]).iterdir()}
    assert {"plain", "placed", "comparison.json"} <= inner
    assert not {"copy", "lock", "bundled"} & inner


def test_what_differs_is_named(tailrace_command: list[str], here: Path) -> None:
    (here / "model.py").write_text(MODEL + SEES_TREE)
    said = compare(tailrace_command, here, "--no-trace", status=1)
    assert "Different after placed runs (1): data/seen" in said


def test_a_command_that_writes_to_the_users_folder_is_refused(tailrace_command: list[str], here: Path) -> None:
    (here / "model.py").write_text(f'open("{here}/result", "w").write("x")\n')
    said = compare(tailrace_command, here, status=2)
    assert "name its files by relative paths" in said
    assert not (here / "tailrace-compare-1/copy").exists()


def test_refusals_say_why(tailrace_command: list[str], here: Path, tmp_path: Path) -> None:
    said = compare(tailrace_command, here, words=("sh", "-c", "echo no input >&2; exit 3"), status=2)
    assert "the plain run of the command ended with 3: compare a command that ends with 0; it said last: no input" in said
    assert "no such program" in compare(tailrace_command, here, words=("./none",), status=2)
    other = tmp_path / "other.toml"
    other.write_text(CONFIG)
    assert f"change to {tmp_path}" in compare(tailrace_command, here, "--config", str(other), status=2)
    (here / "far.toml").write_text(CONFIG.replace("data/", "../data/"))
    assert "outside of the working folder" in compare(tailrace_command, here, "--config", "far.toml", status=2)
    (here / "data/0/u").mkdir(parents=True)
    (here / "data/0/u/u.0.5").write_text("placed before")
    assert "tailrace tree undo --config tailrace.toml" in compare(tailrace_command, here, status=2)
    assert "none.toml: no such file" in compare(tailrace_command, here, "--remedy", "none.toml", status=2)
    assert "go with --compare" in compare_without(tailrace_command, here)


def compare_without(command: list[str], here: Path) -> str:
    done = subprocess.run(
        [*command, "run", "--rounds", "3", "true"], cwd=here, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    return " ".join(done.stderr.replace("│", " ").split())


def test_the_verdict_is_of_files_on_the_device_and_has_the_program_beside() -> None:
    alike = Measure(DURABLE, tuple((1.0 + k / 100, 1.0 + (k * 3 % 7) / 100) for k in range(7)))
    assert alike.to_json()["differs"] is False
    faster = Measure(PROGRAM, tuple((3.0 + k / 100, 1.0 + k / 200) for k in range(5)))
    slower = Measure(DURABLE, tuple((placed, plain) for plain, placed in faster.runs))
    few = Measure(DURABLE, faster.runs[:4])
    said = verdict_text(alike, faster)
    assert said.startswith("No measurable difference: when placed, files are on the device 1.00× as fast")
    assert "; the program takes 1.01 s instead of 3.02 s: 2.99× as fast, 95 % interval 2.9" in said
    said = verdict_text(faster, alike)
    assert said.startswith("When placed, files are on the device after 1.01 s instead of 3.02 s: 2.99× as fast, 95 % interval 2.9")
    assert "; the program takes 1.03 s instead of 1.03 s: not measurably other, 1.00×" in said
    assert "0.33× as fast" in verdict_text(slower, faster).split(";")[0]
    assert few.to_json()["interval"] is None
    said = verdict_text(few, few)
    assert said.startswith("Undecided: when placed, files are on the device 2.99× as fast, the program takes 1.01 s instead of 3.0")
    assert "fewer than 5 rounds" in said


def outputs(*twice: str, says: dict[str, str] | None = None, **contents: str) -> Outputs:
    """`says`: by name, what the NetCDF file of that name says."""
    said = says or {}
    entries = {
        name: Entry("file", 0o644, len(content), content, Contents({"v": said[name]}) if name in said else None)
        for name, content in contents.items()
    }
    return Outputs(entries, Directories({}), len(entries), twice)


def test_differences_are_told_apart(tmp_path: Path) -> None:
    plain = [outputs(a="1", b="1", c="1", e="1"), outputs(a="1", b="2", c="1", e="1")]
    placed = [outputs("a", a="1", b="3", d="1", e="2"), outputs(a="1", b="3", c="1", e="1")]
    found = difference_of(plain, placed, tmp_path)
    assert found.not_comparable == ("b",)
    assert found.different == ("a", "e"), "a has two files once"
    assert (found.only_plain, found.only_placed, found.same) == (("c",), ("d",), 0)


def test_other_bytes_with_the_same_content_are_no_difference(tmp_path: Path) -> None:
    first = outputs(a="1", b="1", c="1", d="1", e="1", says=dict.fromkeys("abcd", "x"))
    second = outputs(a="2", b="1", c="2", d="1", e="1", says={"a": "x", "c": "y"})  # what has the same bytes is not read
    other = outputs(a="3", b="2", c="1", d="2", e="1", says={"a": "x", "b": "x", "d": "y"})
    found = difference_of([first, second], [other], tmp_path)
    assert (found.same, found.same_content, found.different, found.not_comparable) == (1, ("a", "b"), ("d",), ("c",))
    assert found.reasons == {"c": "its content differs in v", "d": "its content differs in v"}
    assert not found.is_none
    assert difference_of([first, second], [outputs(a="3", b="2", c="1", d="1", e="1", says={"a": "x", "b": "x"})], tmp_path).is_none


def test_a_file_that_one_run_has_not_touched_is_compared_with_the_users(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("as it was")
    untouched = Outputs({"a": Entry("file", 0o644, 9, "as before")}, Directories({}), 0, ())
    written = Outputs({"a": Entry("file", 0o644, 11, "1", Contents({"v": "x"}))}, Directories({}), 1, ())
    assert difference_of([untouched], [written], tmp_path, lambda _: Contents({"v": "x"})).same_content == ("a",)
    assert difference_of([untouched], [written], tmp_path, lambda _: Contents({"v": "y"})).different == ("a",)
    assert difference_of([untouched], [written], tmp_path).different == ("a",)


@pytest.mark.parametrize(
    ("before", "tables", "behind"),
    [
        ("", CONFIG, ""),
        ("[stream]\nlayout = 'hds'\n", f"{CONFIG}\n[stage]  # why\nfiles = [\n  'out/**',\n]\n", "[other]\nfiles = ['[stage]']\n"),
        ("[[place.other]]\n", "", "[stage.inner]\nx = 1\n"),
    ],
)
def test_the_lines_to_keep_are_those_of_the_tables(tmp_path: Path, before: str, tables: str, behind: str) -> None:
    config = tmp_path / "tailrace.toml"
    config.write_text(before + tables + behind)
    wanted = tables if tables else before + behind
    assert lines_to_keep(config) == wanted


def test_lines_that_cannot_be_told_apart_are_all_kept(tmp_path: Path) -> None:
    config = tmp_path / "tailrace.toml"
    config.write_text("stage = { files = ['out/**'] }\nlayout = 'hds'\n")
    assert lines_to_keep(config) == config.read_text()


def test_copies_stay_until_the_end_while_there_is_room(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(here)
    kept = copies.folder / "used"
    for number in range(3):
        with copies.fresh() as copy:
            (copy / "result").write_text(str(number))
    assert sorted((each / "result").read_text() for each in kept.iterdir()) == ["0", "1", "2"]
    free = iter([(1000, 0), (900, 0), (1000, 90), (1000, 50)])  # bytes and inodes before and after a run
    monkeypatch.setattr(copies_module, "_free_on", lambda _: next(free))
    with copies.fresh():
        pass
    assert len(list(kept.iterdir())) == 4, "there is no limit of inodes"
    with copies.fresh():
        pass
    assert not kept.exists(), "no inodes for one more run"
    copies.close()
    assert not copies.folder.exists()


def test_a_disk_that_remembers_what_was_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path.stat().st_dev
    name = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve().name
    monkeypatch.setattr(facts, "JOURNALS", tmp_path)
    monkeypatch.setattr(facts, "file_system", lambda _: {"type": "xfs"})
    assert not facts.remembers_removed(tmp_path)
    monkeypatch.setattr(facts, "file_system", lambda _: {"type": "ext4"})
    assert facts.remembers_removed(tmp_path)
    (tmp_path / f"{name}-8").mkdir()
    assert not facts.remembers_removed(tmp_path)


@pytest.mark.parametrize(("kind", "count"), [("ext4", 1), ("fuse", 2)])
def test_where_other_nodes_may_share_the_folder_each_copy_has_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, count: int
) -> None:
    """Another node remembers the name for a while, and would work in the copy that was moved away."""
    monkeypatch.setattr(copies_module, "file_system", lambda _: {"type": kind})
    (tmp_path / "input").write_text("text")
    made, paths = Copies(tmp_path), set()
    for _ in range(2):
        with made.fresh() as copy:
            assert (copy / "input").read_text() == "text"
            paths.add(copy)
    made.close()
    assert len(paths) == count
    assert [path.name for path in tmp_path.iterdir()] == ["input"]
