"""`tailrace drain status`, `wait`, `resume` and `scavenge`, and extraction from a folder of bundles."""

from __future__ import annotations

import json
import os
import random
import resource
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tailrace.stage import drain
from tailrace.stage.bundles import extract, members
from tailrace.stage.drain import StageError

from tests.drain_states import STATE_FOLDER, DrainCase, delivered, files_below, make_files


@pytest.fixture
def case(build_dir: Path, preloaded: Callable[[str], Path]) -> Iterator[DrainCase]:
    """In memory, where fsync takes no time."""
    memory = Path("/dev/shm")
    home = Path(tempfile.mkdtemp(prefix="tailrace-control-", dir=memory if memory.is_dir() else None))
    (home / "scratch").mkdir(mode=0o700)
    yield DrainCase(build_dir / "bin/tailraced", preloaded("faults/drain"), home / "scratch", home / "target", "bundle")
    shutil.rmtree(home)


def call(command: list[str], *words: str | Path, status: int = 0) -> str:
    done = subprocess.run([*command, "drain", *map(str, words)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr.replace("\n", " ")


def states_of(folder: Path, **options: bool) -> list[tuple[str, str, bool]]:
    found, _ = drain.leftovers(folder, **options)
    return [(each["of"], each["state"], each["removed"]) for each in found]


@pytest.mark.parametrize("sink", ["bundle", "zstd"])
def test_a_killed_drain_is_told_and_resumed(tailrace_command: list[str], case: DrainCase, rng: random.Random, sink: str) -> None:
    case.sink = sink
    made = make_files(case.scratch, rng)
    before = drain.status(case.scratch)
    assert (before["outcome"], before["staged_files"], before["delivered_files"]) == ("none", len(made), 0)
    assert "was not drained before" in call(tailrace_command, "resume", case.scratch, status=2)
    assert not (case.scratch / STATE_FOLDER).exists(), "looking changes nothing"
    case.drain(state="published 2")
    killed = drain.status(case.scratch)
    assert (killed["outcome"], killed["sink"], killed["target"]) == ("killed", "bundle", str(case.target))
    assert killed["delivered_files"] > 0
    assert killed["staged_files"] == len(made) - killed["delivered_files"]
    assert killed["staged_bytes"] == sum(path.lstat().st_size for path in case.scratch.rglob("*") if is_staged_file(path, case))
    said = call(tailrace_command, "status", case.scratch, status=1)
    assert "the last drain was killed before its end; `tailrace drain resume" in said
    call(tailrace_command, "resume", case.scratch)
    ending = ".tar" if sink == "bundle" else ".tar.zst"
    assert all(path.name.endswith(ending) for path in case.target.iterdir())
    assert delivered(case.target, "bundle") == made
    assert "and everything is delivered" in call(tailrace_command, "status", case.scratch)
    ended = json.loads(call(tailrace_command, "status", case.scratch, "--json"))
    assert (ended["outcome"], ended["staged_files"], ended["to_remove"], ended["left"]) == ("ended", 0, 0, [])
    assert ended["delivered_files"] >= len(made)


def test_a_bundle_that_is_made_again_in_another_form_replaces_the_first(case: DrainCase, rng: random.Random) -> None:
    made = make_files(case.scratch, rng)
    case.options = ()
    for sink, other in (("bundle", "zstd"), ("zstd", "bundle")):
        case.sink = sink
        case.drain(state="published 1")
        assert len(list(case.target.glob("*.tar*"))) == 1, "it has its name, and the journal does not say so"
        case.sink = other
    assert case.drain().returncode == 0
    (bundle,) = case.target.iterdir()
    assert bundle.name.endswith("-000001.tar")
    assert delivered(case.target, "bundle") == made


def is_staged_file(path: Path, case: DrainCase) -> bool:
    return path.is_file() and not path.is_symlink() and STATE_FOLDER not in path.relative_to(case.scratch).parts


def test_what_a_drain_could_not_carry_is_named(tailrace_command: list[str], case: DrainCase) -> None:
    os.mkfifo(case.scratch / "pipe")
    (case.scratch / "file").write_bytes(b"1")
    case.drain()
    said = call(tailrace_command, "status", case.scratch, status=1)
    assert "left on scratch: pipe: it is no regular file" in said
    (case.scratch / "pipe").unlink()
    assert drain.status(case.scratch)["left"] == []


def test_a_full_target_is_the_reason_that_is_told(case: DrainCase, small_device: Path, rng: random.Random) -> None:
    case.target = small_device / "target"
    (case.scratch / "large").write_bytes(rng.randbytes(3 << 20))
    assert case.drain().returncode == 2
    stopped = drain.status(case.scratch)
    assert stopped["outcome"] == "stopped"
    assert "No space left" in stopped["stopped_because"]
    assert stopped["staged_files"] == 1


def test_a_drain_that_runs_is_seen_and_waited_for(tailrace_command: list[str], case: DrainCase, rng: random.Random) -> None:
    """The drain stands still at its first shipment until the others have looked."""
    made = make_files(case.scratch, rng)
    looks = case.scratch.parent / "looks"
    words = [[*tailrace_command, "drain", "status", str(case.scratch), "--json"]]
    words.append([*tailrace_command, "drain", "wait", str(case.scratch), "--deadline", "0"])
    words.append([*tailrace_command, "drain", "scavenge", str(case.scratch.parent), "--remove", "--any-node"])
    first, second, third = map(shlex.join, words)
    command = f"{first} > {looks}.1; {second} > {looks}.2 2>&1; echo $? >> {looks}.2; {third} > {looks}.3 2>&1"
    done = case.drain(state="synced 1", command=command)
    assert done.returncode == 0, done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(Path(f"{looks}.1").read_text())
    assert seen["outcome"] == "running"
    assert seen["process"] > 0
    waited = Path(f"{looks}.2").read_text()
    assert "has not ended after 0 s" in waited
    assert waited.endswith("\n1\n")
    assert Path(f"{looks}.3").read_text() == "no files of killed jobs were found\n", "what a living drain uses is not touched"
    assert delivered(case.target, "bundle") == made
    assert "everything is delivered" in call(tailrace_command, "wait", case.scratch, "--deadline", "60")


def test_wait_waits_for_a_drain_that_has_not_begun(tailrace_command: list[str], case: DrainCase) -> None:
    (case.scratch / "file").write_bytes(b"1")
    words = [*tailrace_command, "drain", "wait", str(case.scratch), "--deadline", "60"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as waiting:
        assert case.drain().returncode == 0
        said, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    assert "delivered: 1 files, 1 B" in said


def test_scavenge_says_first_and_removes_then(tailrace_command: list[str], case: DrainCase, rng: random.Random) -> None:
    made = make_files(case.scratch, rng)
    case.drain(state="synced 1")
    home = case.scratch.parent
    left = sorted(path for path in case.target.rglob("*"))
    assert left
    said = call(tailrace_command, "scavenge", home, status=1)
    assert "stays, because files are not delivered (`tailrace drain resume" in said
    assert f"would be removed: {case.target}/.tailrace-drain-" in said
    assert "nothing was changed; --remove removes what may go" in said
    assert sorted(case.target.rglob("*")) == left
    assert states_of(home, remove=True) == [("outbox", "undelivered", False), ("drain", "abandoned", True)]
    assert not list(case.target.iterdir())
    assert files_below(case.scratch) == made
    call(tailrace_command, "resume", case.scratch)
    assert delivered(case.target, "bundle") == made
    assert "would be removed" in call(tailrace_command, "scavenge", case.scratch, status=1)
    assert "removed: " in call(tailrace_command, "scavenge", case.scratch, "--remove")
    assert not list(case.scratch.iterdir())
    assert "no files of killed jobs were found" in call(tailrace_command, "scavenge", home)


def test_what_another_node_has_made_stays(case: DrainCase) -> None:
    folder = case.target / "deep/.tailrace-extract-1/0123abcd"
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"half")
    assert states_of(case.target) == [("extraction", "unknown", False)], "no lock says whose it is"
    (folder / "lock").write_text("a-node-that-is-not-this-one 17\n")
    assert states_of(case.target, remove=True) == [("extraction", "elsewhere", False)]
    assert states_of(case.target, remove=True, any_node=True) == [("extraction", "abandoned", True)]
    assert not folder.parent.exists()
    (case.target / "deep/.tailrace-extract-77").write_bytes(b"of a version without locks")
    assert states_of(case.target, remove=True) == [("extraction", "unknown", False)]
    os.utime(case.target / "deep/.tailrace-extract-77", (1, 1))
    assert states_of(case.target, remove=True) == [("extraction", "abandoned", True)]


def test_a_comparison_that_was_killed_is_a_leftover(tmp_path: Path) -> None:
    copy = tmp_path / "tailrace-compare-3/copy/data"
    copy.mkdir(parents=True)
    (copy / "file").write_text("x")
    (tmp_path / "tailrace-compare-3/lock").write_text(f"{os.uname().nodename} 1\n")
    (tmp_path / "tailrace-compare-3/plain.stdout").write_text("kept")
    assert states_of(tmp_path, remove=True) == [("comparison", "abandoned", True)]
    assert [path.name for path in copy.parents[1].iterdir()] == ["plain.stdout"]


def little_files() -> None:
    """Writing more than this to a file ends the process by a signal."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# Without /proc a file that has no name cannot get one, as on file systems that make none.
WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "-"]


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
def test_a_killed_extraction_leaves_nothing_that_the_next_does_not_remove(
    case: DrainCase, rng: random.Random, unnamed: bool
) -> None:
    made = {b"data/small": rng.randbytes(5000), b"data/t": rng.randbytes(300_000)}
    for name, content in made.items():
        (case.scratch / "data").mkdir(exist_ok=True)
        (case.scratch / os.fsdecode(name)).write_bytes(content)
    case.drain()
    (bundle,) = case.target.glob("*.tar")
    out = case.scratch.parent / "out"
    words = [*([] if unnamed else WITHOUT_PROC), str(case.program), "extract", str(bundle), str(out)]
    killed = subprocess.run(words, preexec_fn=little_files, capture_output=True, check=False)
    assert killed.returncode < 0, "ended by a signal"
    assert [path.name for path in out.rglob("file")] == ([] if unnamed else ["file"]), "the half file has no name of its own"
    done = subprocess.run([*words, "data/t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert files_below(out) == made
    assert {path.name for path in out.iterdir()} == {"data"}


def test_of_a_folder_of_bundles_the_later_copy_counts(tailrace_command: list[str], case: DrainCase) -> None:
    case.options = ()
    for number in (1, 2):
        (case.scratch / "data").mkdir(exist_ok=True)
        (case.scratch / "data/changed").write_bytes(b"%d" % number)
        (case.scratch / f"data/only.{number}").write_bytes(b"x")
        assert case.drain().returncode == 0
    (case.target / "another.tar").write_bytes(b"no bundle, and not named as one")
    out = case.scratch.parent / "out"
    assert extract(case.target, out)["files"] == 3
    assert files_below(out) == {b"data/changed": b"2", b"data/only.1": b"x", b"data/only.2": b"x"}
    found, facts = members(case.target, ["data/changed"])
    assert [member["bundle"].endswith("-000002.tar") for member in found] == [True]
    listing = subprocess.run([*tailrace_command, "ls", case.target, "data"], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listing.splitlines()] == ["data/", "data/changed", "data/only.2", "data/only.1"]
    assert facts["members"] == 6
    with pytest.raises(StageError, match="has no data/none: `tailrace ls"):
        extract(case.target, out / "more", ["data/only.1", "data/none"])
    assert not (out / "more").exists()


def test_a_file_of_two_drains_is_not_guessed(case: DrainCase) -> None:
    case.options = ()
    (case.scratch / "same").write_bytes(b"1")
    case.drain()
    shutil.rmtree(case.scratch / STATE_FOLDER)
    (case.scratch / "same").write_bytes(b"2")
    case.drain()
    out = case.scratch.parent / "out"
    with pytest.raises(StageError, match="which two drains have made: name the bundle that you want"):
        extract(case.target, out)
    assert not out.exists()
    for bundle in case.target.glob("*.tar"):
        bundle.write_bytes(bundle.read_bytes()[:-1])
    with pytest.raises(StageError, match="no bundle of"):
        extract(case.target, out)
    with pytest.raises(StageError, match="has no bundle of"):
        extract(case.scratch, out)
