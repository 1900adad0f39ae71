"""Copies that tailraced makes while a program runs: faults at every state, and changes of the files after and during the copy."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tailrace.stage import drain

from tests.drain_states import EARLY_STATES, DrainCase, delivered, files_below, make_files
from tests.test_drain import end_of, hold

Make = Callable[..., DrainCase]
PLACES = ("memory", "disk")  # on a disk the times of a file show every change; in memory its bytes are read again


@pytest.fixture
def new_case(build_dir: Path, preloaded: Callable[[str], Path]) -> Iterator[Make]:
    folders: list[Path] = []

    def made(place: str = "memory") -> DrainCase:
        memory = Path("/dev/shm") if place == "memory" and Path("/dev/shm").is_dir() else None
        home = Path(tempfile.mkdtemp(prefix="tailrace-early-", dir=memory))
        folders.append(home)
        (home / "scratch").mkdir(mode=0o700)
        return DrainCase(build_dir / "bin/tailraced", preloaded("faults/drain"), home / "scratch", home / "target")

    yield made
    for folder in folders:
        shutil.rmtree(folder)


def ends_well(case: DrainCase, made: dict[bytes, bytes]) -> dict[str, object]:
    done = case.drain()
    assert done.returncode == 0, done.stdout + done.stderr
    assert delivered(case.target, "mirror") == made
    assert files_below(case.scratch) == {}
    assert not list(case.target.glob(".tailrace*")), "no temporary file is left"
    assert not (case.scratch / ".tailrace-drain/early.jsonl").exists()
    return end_of(done)


@pytest.mark.parametrize("place", PLACES)
def test_copies_get_their_names_at_the_end(new_case: Make, place: str, rng: random.Random) -> None:
    case = new_case(place)
    made = make_files(case.scratch, rng)
    before = {name: os.lstat(os.path.join(os.fsencode(case.scratch), name)) for name in made}
    assert case.beside("0.1").returncode == 0
    assert files_below(case.target) == {}, "no file has a name of its own"
    files = {(is_.st_dev, is_.st_ino) for name, is_ in before.items() if name != b"link"}
    assert len(case.early_copies()) == len(files)
    status = drain.status(case.scratch)
    assert (status["early_files"], status["staged_files"]) == (len(files), len(made))
    inodes = {path.stat().st_ino for path in case.early_copies()}
    end = ends_well(case, made)
    assert (end["early_files"], end["copied_again"]) == (len(files), 0)
    now = {name: os.lstat(os.path.join(os.fsencode(case.target), name)) for name in made}
    assert inodes <= {is_.st_ino for is_ in now.values()}, "they are renamed, and not copied again"
    assert all(
        (now[name].st_mode, now[name].st_mtime_ns) == (before[name].st_mode, before[name].st_mtime_ns)
        for name in made
        if name != b"link"
    )


def kill_and_end(case: DrainCase, state: str, number: int, rng: random.Random) -> bool:
    made = make_files(case.scratch, rng)
    fault = {"state": f"{state} {number}"}
    if state == "early_dropped":
        case.beside()
        (case.scratch / "with space").unlink()
        del made[b"with space"]
        (case.scratch / "% %41").write_bytes(b"changed")
        made[b"% %41"] = b"changed"
    if state == "early_used":
        case.beside()
        case.drain(**fault)
    else:
        case.beside(**fault)
    if case.fired:
        case.nothing_lost_nothing_half(made)
        ends_well(case, made)
    return case.fired


def test_it_may_be_killed_anywhere(new_case: Make, rng: random.Random, seed: int) -> None:
    """At every state once, at a random time; make test-full kills at each of them."""
    histogram: Counter[str] = Counter()
    for state in EARLY_STATES:
        for number in (rng.randint(1, 5), 1):
            histogram[state] += kill_and_end(new_case(rng.choice(PLACES)), state, number, rng)
            if histogram[state]:
                break
    print(f"seed {seed}", *(f"{histogram[state]:6}  {state}" for state in EARLY_STATES), sep="\n")
    assert all(histogram[state] for state in EARLY_STATES), histogram


@pytest.mark.full
@pytest.mark.parametrize("state", EARLY_STATES)
def test_it_may_be_killed_at_each_moment(new_case: Make, state: str, rng: random.Random) -> None:
    number = 1
    while kill_and_end(new_case(), state, number, rng):
        number += 1
    assert number > 1, f"{state} was never reached"
    print(f"{number - 1:6}  {state}")


def test_after_its_death_it_continues(new_case: Make, rng: random.Random) -> None:
    case = new_case()
    made = make_files(case.scratch, rng)
    case.beside(state="early_recorded 5")
    first = {path.name: path.stat().st_ino for path in case.early_copies()}
    assert drain.status(case.scratch)["early_files"] == 5
    assert len(first) > 5, "some copies were not recorded"
    assert case.beside().returncode == 0
    kept = {path.name: path.stat().st_ino for path in case.early_copies()}
    assert len(set(first.items()) & set(kept.items())) == 5
    assert len(kept) == drain.status(case.scratch)["early_files"] == len(made) - 2  # a symbolic link, a second name
    ends_well(case, made)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_a_call_that_fails_leaves_it_to_the_end(new_case: Make, code: int, rng: random.Random) -> None:
    hits = 0
    for _ in range(5):
        case = new_case()
        made = make_files(case.scratch, rng)
        case.call("announce")
        case.beside(fail=f"{rng.randint(1, 60)} {code}")
        hits += case.fired
        assert files_below(case.target) == {}
        ends_well(case, made)
    assert hits > 0


def test_errors_of_the_target_stop_it(new_case: Make, rng: random.Random) -> None:
    case = new_case()
    made = make_files(case.scratch, rng)
    case.call("announce")
    case.beside(fail=f"5 {errno.ENOSPC}")
    assert case.fired
    stopped = drain.status(case.scratch)
    assert "No space left" in stopped["early_stopped_because"]
    assert case.early_copies() == [], "what was half is removed"
    assert case.beside().returncode == 0
    assert case.early_copies() == [], "another one does not try again"
    assert "No space left" in str(ends_well(case, made)["early_stopped_because"])


def test_half_of_the_room_at_the_target_is_the_programs(new_case: Make, small_device: Path, rng: random.Random) -> None:
    case = new_case()
    case.target = small_device / "target"
    made = {f"f{k}".encode(): rng.randbytes(300_000) for k in range(6)}
    for name, content in made.items():
        (case.scratch / os.fsdecode(name)).write_bytes(content)
    assert case.beside().returncode == 0
    assert 0 < len(case.early_copies()) < 3
    assert drain.status(case.scratch)["early_stopped_because"] == ""
    early = len(case.early_copies())
    case.options = ("--files", "1")
    done = case.drain()
    assert (done.returncode, end_of(done)["status"]) == (2, "NO_SPACE")
    case.nothing_lost_nothing_half(made)
    assert early <= len(delivered(case.target, "mirror")) < 6, "what was copied has its name: that needs no room"
    subprocess.run(["mount", "-o", "remount,size=8m", small_device], check=True)
    ends_well(case, made)


MAP = "python3 -c \"import mmap; f = open('$F', 'r+b'); m = mmap.mmap(f.fileno(), 0); c = m[0]; m[0:1] = b'z'; m.close()\""
# What a program does to files that were copied, in a shell: P and F are their paths.
CHANGES = {
    "nothing": ":",
    "append": "printf more >> $F",
    "rewrite": "printf new > $F",
    "as long": "head -c 3000 /dev/zero > $F",
    "through a mapping that reads first": MAP,
    "by another name": "printf new > $F.tmp && mv $F.tmp $F",
    "rename": "mv $F $F.renamed",
    "remove": "rm $F",
    "chmod": "chmod 600 $F",
    "touch": "touch -d @1000 $F",
    "truncate": "truncate -s 1 $F",
    "rename onto it": "mv $P $F",
    "link": "ln $F $F.second",
    "swap": "mv $F $F.x; mv $P $F; mv $F.x $P",
}
COPIED = {"nothing", "rename", "chmod", "touch", "link"}  # those whose copy of F is used


def after_change(case: DrainCase, change: str, rng: random.Random, state: str = "") -> None:
    paths = {"P": case.scratch / "plain", "F": case.scratch / "file"}
    for path in paths.values():
        path.write_bytes(rng.randbytes(3000))
    case.environment = {key: str(path) for key, path in paths.items()}
    if state:
        case.beside(state=state, command=CHANGES[change])
        assert case.fired
    else:
        case.beside("0.1")
        subprocess.run(["sh", "-c", CHANGES[change]], env={**os.environ, **case.environment}, check=True)
    wanted = files_below(case.scratch)
    modes = {name: os.stat(os.path.join(os.fsencode(case.scratch), name)) for name in wanted}
    end = ends_well(case, wanted)
    for name, was in modes.items():
        now = os.stat(os.path.join(os.fsencode(case.target), name))
        assert (now.st_mode, now.st_mtime_ns, now.st_nlink) == (was.st_mode, was.st_mtime_ns, was.st_nlink), change
    if not state:
        used = 2 if change in (*COPIED, "swap") else 1
        assert end["early_files"] == used, (change, end)


DURING = [state for state in EARLY_STATES if state not in ("early_dropped", "early_used")]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_after_its_copy(new_case: Make, change: str, place: str, rng: random.Random) -> None:
    after_change(new_case(place), change, rng)


def test_a_mapping_in_memory_changes_no_time_and_is_found(new_case: Make, rng: random.Random) -> None:
    after_change(new_case("memory"), "through a mapping that reads first", rng)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("state", DURING)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_during_its_copy(new_case: Make, change: str, state: str, rng: random.Random) -> None:
    after_change(new_case(rng.choice(PLACES)), change, rng, f"{state} 1")


def test_a_file_that_is_written_again_and_again_is_copied_at_the_end(new_case: Make) -> None:
    """In place, and by a new file of the same name."""
    case = new_case()
    log, restart, temporary = (case.scratch / name for name in ("log", "restart", "restart.tmp"))
    log.write_text("1")
    restart.write_text("1")
    case.beside()
    assert len(case.early_copies()) == 2
    log.write_text("2")
    temporary.write_text("2")
    temporary.rename(restart)
    case.beside()
    assert case.early_copies() == [], "copies of what has changed are removed"
    case.beside()
    assert case.early_copies() == []
    assert ends_well(case, {b"log": b"2", b"restart": b"2"})["early_files"] == 0


def test_the_copy_of_a_removed_file_is_removed(new_case: Make) -> None:
    case = new_case()
    for name in ("kept", "removed"):
        (case.scratch / name).write_text(name)
    case.beside()
    (case.scratch / "removed").unlink()
    case.beside()
    assert [path.read_text() for path in case.early_copies()] == ["kept"]
    (case.scratch / "kept").unlink()
    assert ends_well(case, {})["files"] == 0


@pytest.mark.parametrize("kind", ["open", "dup", "fork", "mapping"])
def test_what_is_open_for_writing_is_not_copied(new_case: Make, kind: str) -> None:
    case = new_case()
    (case.scratch / "busy").write_bytes(b"half of it")
    (case.scratch / "done").write_bytes(b"all")
    with hold(kind, case.scratch / "busy") as process:
        case.beside()
        process.stdin.close()  # type: ignore[union-attr]
        process.wait(20)
    assert [path.read_bytes() for path in case.early_copies()] == [b"all"]
    ends_well(case, {b"busy": b"half of it", b"done": b"all"})


@pytest.mark.parametrize("state", ["early_found", "early_copied", "early_compared"])
def test_a_program_that_opens_a_file_meets_no_lease(new_case: Make, state: str) -> None:
    """An open with O_NONBLOCK gets EAGAIN where there is one: an unchanged program would not expect it."""
    case = new_case()
    path = case.scratch / "file"
    path.write_bytes(b"one")
    case.environment = {"F": str(path)}
    opens = "python3 -c \"import os; os.write(os.open(os.environ['F'], os.O_WRONLY | os.O_NONBLOCK), b'two')\""
    done = case.beside(state=f"{state} 1", command=opens)
    assert done.returncode == 0, done.stderr
    assert case.fired
    assert case.early_copies() == []
    ends_well(case, {b"file": b"two"})


def test_a_quiet_time_is_waited_for(new_case: Make) -> None:
    case = new_case()
    (case.scratch / "file").write_text("x")
    case.beside("0.5")
    line = json.loads((case.scratch / ".tailrace-drain/early.jsonl").read_text().splitlines()[-1])
    (copy,) = case.early_copies()
    assert copy.stat().st_ctime_ns - line["of"][4] >= 4 * 10**8


def test_a_copy_that_was_changed_is_not_used(new_case: Make, rng: random.Random) -> None:
    """After it was compared, and between its fsync and the comparison."""
    case = new_case()
    made = {b"file": rng.randbytes(5000)}
    (case.scratch / "file").write_bytes(made[b"file"])
    case.beside()
    (copy,) = case.early_copies()
    with open(copy, "r+b") as file:
        file.write(b"x")
    assert ends_well(case, made)["early_files"] == 0
    other = new_case()
    (other.scratch / "file").write_bytes(made[b"file"])
    flip = "printf x | dd of=$f bs=1 seek=600 conv=notrunc status=none; sync $f"
    flip = f"for f in {other.target}/.tailrace-drain-*/*/0; do {flip}; done"
    other.beside(state="early_synced 1", command=flip)
    assert other.fired
    assert other.early_copies() == []
    assert ends_well(other, made)["early_files"] == 0


def test_a_torn_file_gets_no_name_of_its_own(new_case: Make) -> None:
    case = new_case()
    (case.scratch / "half").write_text("h")
    (case.scratch / "whole").write_text("w")
    case.beside()
    names = case.scratch.parent / "torn"
    names.write_bytes(b"half\0")
    case.options = ("--torn", str(names))
    ends_well(case, {b"half.torn": b"h", b"whole": b"w"})


def test_copies_are_kept_when_a_signal_ends_the_drain(new_case: Make, rng: random.Random) -> None:
    case = new_case()
    made = make_files(case.scratch, rng)
    case.beside()
    copies = len(case.early_copies())
    case.options = ("--files", "7")
    assert case.drain(state="published 1", command="kill -TERM $PPID").returncode == 2
    left = len(case.early_copies())
    assert 0 < left < copies
    assert drain.status(case.scratch)["early_files"] == left
    assert ends_well(case, made)["early_files"] == left


def test_leftovers_are_found(new_case: Make, rng: random.Random) -> None:
    case = new_case()
    made = make_files(case.scratch, rng)
    case.beside(state="early_recorded 3")
    found, _ = drain.leftovers(case.target)
    assert [(each["of"], each["state"]) for each in found] == [("drain", "abandoned")]
    found, _ = drain.leftovers(case.target, remove=True)
    assert [each["removed"] for each in found] == [True]
    assert not list(case.target.iterdir())
    assert ends_well(case, made)["early_files"] == 0


def test_two_folders_have_one_target(new_case: Make, rng: random.Random) -> None:
    one, two = new_case(), new_case()
    two.target = one.target
    made = make_files(one.scratch, rng)
    (two.scratch / "other").write_text("2")
    for case in (one, two, one):
        case.beside()
    assert len(one.early_copies()) == len(made) - 2 + 1
    assert two.drain().returncode == 0
    assert ends_well(one, {**made, b"other": b"2"})["early_files"] == len(made) - 2


def test_it_ends_with_its_parent(new_case: Make) -> None:
    case = new_case()
    case.call("announce")
    words = [str(case.program), "beside", str(case.scratch), str(case.target), "--parent", "1"]
    assert subprocess.run(words, check=False, timeout=60).returncode == 1, "process 1 has not started it"
