"""tailraced carries files from scratch to their target: faults at every state of its table; nothing is lost or published half."""

from __future__ import annotations

import errno
import json
import os
import random
import shlex
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.drain_states import NAMES, STATES, DrainCase, delivered, files_below, make_files

SINKS = ("mirror", "bundle", "zstd")
Make = Callable[..., DrainCase]


@pytest.fixture
def new_case(build_dir: Path, preloaded: Callable[[str], Path]) -> Iterator[Make]:
    """In memory, where fsync takes no time; leases are those of a disk."""
    memory = Path("/dev/shm")
    tmp_path = Path(tempfile.mkdtemp(prefix="tailrace-drain-", dir=memory if memory.is_dir() else None))

    def made(sink: str, name: str = "case", options: tuple[str, ...] = ("--files", "7")) -> DrainCase:
        home = tmp_path / name
        (home / "scratch").mkdir(parents=True)
        return DrainCase(build_dir / "bin/tailraced", preloaded("faults/drain"), home / "scratch", home / "target", sink, options)

    yield made
    shutil.rmtree(tmp_path)


def end_of(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("sink", SINKS)
def test_everything_is_delivered_and_scratch_is_empty(new_case: Make, sink: str, rng: random.Random) -> None:
    case = new_case(sink)
    made = make_files(case.scratch, rng)
    modes = {name: os.lstat(os.path.join(os.fsencode(case.scratch), name)) for name in made}
    done = case.drain()
    assert done.returncode == 0, done.stdout + done.stderr
    assert delivered(case.target, sink) == made
    assert files_below(case.scratch) == {}
    assert [path.name for path in case.scratch.iterdir()] == [".tailrace-drain"], "empty folders go as well"
    assert end_of(done)["files"] == len(made)
    assert not list(case.target.glob(".tailrace*")), "no temporary file is left"
    if sink == "mirror":
        for name, was in modes.items():
            now = os.lstat(os.path.join(os.fsencode(case.target), name))
            if name != b"link":
                assert (now.st_mode, now.st_mtime_ns) == (was.st_mode, was.st_mtime_ns), name


@pytest.mark.parametrize(("sink", "ending"), [("bundle", ".tar"), ("zstd", ".tar.zst")])
def test_gnu_tar_reads_a_bundle(new_case: Make, rng: random.Random, tmp_path: Path, sink: str, ending: str) -> None:
    case = new_case(sink, options=())
    made = make_files(case.scratch, rng)
    (case.scratch / "large").write_bytes(large := rng.randbytes(1 << 20) * 20)  # in several frames
    made[b"large"] = large
    assert case.drain().returncode == 0
    (bundle,) = case.target.iterdir()
    assert bundle.name.endswith("-000001" + ending)
    out = tmp_path / "out"
    out.mkdir()
    listing = subprocess.run(["tar", "-C", out, "-xf", bundle], capture_output=True, text=True, check=False)
    assert (listing.returncode, listing.stderr) == (0, "")
    assert files_below(out) == made


def kill_and_drain_again(case: DrainCase, state: str, number: int, rng: random.Random) -> bool:
    made = make_files(case.scratch, rng)
    case.drain(state=f"{state} {number}")
    if not case.fired:
        return False
    case.nothing_lost_nothing_half(made)
    done = case.drain()
    assert done.returncode == 0, done.stdout + done.stderr
    assert delivered(case.target, case.sink) == made
    assert files_below(case.scratch) == {}
    assert not list((case.scratch / ".tailrace-drain/removing").iterdir())
    assert not list(case.target.glob(".tailrace*"))
    return True


@pytest.mark.parametrize("sink", SINKS)
def test_a_killed_drain_continues(new_case: Make, sink: str, rng: random.Random, seed: int) -> None:
    """Every state once, at a random time; make test-full kills at each of them."""
    histogram: Counter[str] = Counter()
    for state in STATES:
        for attempt in range(4):
            number = rng.randint(1, 3 if attempt < 3 else 1)
            hit = kill_and_drain_again(new_case(sink, f"{state}-{attempt}"), state, number, rng)
            histogram[state] += hit
            if hit:
                break
    print(f"seed {seed}", *(f"{histogram[state]:6}  {state}" for state in STATES), sep="\n")
    assert all(histogram[state] for state in STATES), histogram


@pytest.mark.full
@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("state", STATES)
def test_a_drain_killed_anywhere_continues(new_case: Make, sink: str, state: str, rng: random.Random) -> None:
    number = 0
    while kill_and_drain_again(new_case(sink, f"{number + 1}"), state, number + 1, rng):
        number += 1
    assert number > 0, f"{state} was never reached"
    print(f"{number:6}  {state} ({sink})")


def fail_call_and_drain_again(case: DrainCase, number: int, code: int, rng: random.Random) -> bool:
    made = make_files(case.scratch, rng)
    done = case.drain(fail=f"{number} {code}")
    if not case.fired:
        return False
    case.nothing_lost_nothing_half(made)
    if done.returncode == 0:
        assert delivered(case.target, case.sink) == made
    again = case.drain()
    assert again.returncode == 0, again.stdout + again.stderr
    assert delivered(case.target, case.sink) == made
    assert files_below(case.scratch) == {}
    return True


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("sink", SINKS)
def test_a_call_that_fails_loses_nothing(new_case: Make, sink: str, code: int, rng: random.Random) -> None:
    hits = sum(fail_call_and_drain_again(new_case(sink, str(k)), rng.randint(1, 60), code, rng) for k in range(6))
    assert hits > 0


@pytest.mark.full
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("sink", SINKS)
def test_every_call_may_fail(new_case: Make, sink: str, code: int, rng: random.Random) -> None:
    number = 1
    while fail_call_and_drain_again(new_case(sink, str(number)), number, code, rng):
        number += 1
    assert number > 40


@pytest.mark.parametrize("sink", SINKS)
def test_a_full_target_keeps_everything(new_case: Make, sink: str, small_device: Path, rng: random.Random) -> None:
    case = new_case(sink)
    case.target = small_device / "target"
    made = {f"f{k}".encode(): rng.randbytes(300_000) for k in range(6)}
    for name, content in made.items():
        (case.scratch / os.fsdecode(name)).write_bytes(content)
    case.options = ("--files", "2")
    done = case.drain()
    assert done.returncode == 2
    assert end_of(done)["status"] == "NO_SPACE"
    case.nothing_lost_nothing_half(made)
    assert len(delivered(case.target, sink)) + len(files_below(case.scratch)) == len(made)
    assert not list(case.target.glob(".tailrace*/*")), "no half file takes the room"


@pytest.mark.parametrize("sink", SINKS)
def test_a_signal_ends_the_drain_and_nothing_is_half(new_case: Make, sink: str, rng: random.Random) -> None:
    for state in STATES:
        case = new_case(sink, state)
        made = make_files(case.scratch, rng)
        name = rng.choice(["TERM", "HUP"])  # the shell of the command makes the drain ignore SIGINT
        done = case.drain(state=f"{state} 1", command=f"kill -{name} $PPID")
        assert case.fired
        assert (done.returncode, end_of(done)["status"]) == (2, "STOPPED"), done.stdout + done.stderr
        assert f"ended by SIG{name} before all files were delivered" in done.stdout
        case.nothing_lost_nothing_half(made)
        assert not list(case.target.glob(".tailrace*")), "no unfinished copy is left"
        assert files_below(case.scratch), "it did not go on to the end"
        status = json.loads(subprocess.run([case.program, "status", case.scratch], capture_output=True, check=True).stdout)
        assert (status["outcome"], status["sink"]) == ("stopped", case.form[1])
        assert case.drain().returncode == 0
        assert delivered(case.target, case.sink) == made


# What a program does to `plain` and to `data/0/file.0000` while they are drained, in a shell: P and F are their paths.
CHANGES = {
    "append": "printf more >> $F",
    "rewrite": "printf new > $F",
    "rewrite by another name": "printf new > $F.tmp && mv $F.tmp $F",
    "rename": "mv $F $F.renamed",
    "remove": "rm $F",
    "chmod": "chmod 600 $F",
    "touch": "touch $F",
    # truncate opens with O_NONBLOCK: the kernel answers EAGAIN while the lease breaks.
    "truncate": "truncate -s 1 $F || { sleep 0.1; truncate -s 1 $F; }",
    "rename onto it": "mv $P $F",
}
AFTER = [state for state in STATES if state not in ("found", "freed")]


def change_while_it_drains(case: DrainCase, change: str, state: str, rng: random.Random) -> None:
    paths = {"P": case.scratch / "plain", "F": case.scratch / "file"}
    content = rng.randbytes(3000)
    for path in paths.values():
        path.write_bytes(content)
    case.environment = {key: str(path) for key, path in paths.items()}
    # Two files a shipment: the change comes when both have come to the state, or one of them.
    gone = f"test -e $F && test -e $P || exit 0; {CHANGES[change]}"
    began = time.monotonic()
    done = case.drain(state=f"{state} 1", command=gone)
    assert time.monotonic() - began < 20
    assert case.fired
    assert done.returncode == 0, done.stdout + done.stderr
    case.drain()
    found = delivered(case.target, case.sink)
    wanted = {
        "append": content + b"more",
        "rewrite": b"new",
        "rewrite by another name": b"new",
        "truncate": content[:1],
    }.get(change, content)
    was_there = state not in ("set_aside",)  # by then a name has left
    if was_there and change != "remove":
        name = b"file.renamed" if change == "rename" else b"file"
        assert found[name] == wanted, (change, state)
    assert all(data in (content, wanted) for data in found.values())
    assert files_below(case.scratch) == {}


@pytest.mark.parametrize("sink", SINKS)
def test_a_file_that_changes_while_it_drains(new_case: Make, sink: str, rng: random.Random) -> None:
    for number, change in enumerate(CHANGES):
        change_while_it_drains(new_case(sink, str(number)), change, rng.choice(AFTER), rng)


@pytest.mark.full
@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_at_any_state(new_case: Make, sink: str, change: str, rng: random.Random) -> None:
    for state in AFTER:
        change_while_it_drains(new_case(sink, state), change, state, rng)


@pytest.mark.parametrize("sink", SINKS)
def test_a_flipped_byte_is_never_published(new_case: Make, sink: str, rng: random.Random) -> None:
    """Written to the copy between its fsync and its reading."""
    case = new_case(sink)
    made = {b"file": rng.randbytes(5000)}
    (case.scratch / "file").write_bytes(made[b"file"])
    flip = (
        f"f=$(find {shlex.quote(str(case.target))}/.tailrace-drain-* -type f ! -name lock); "
        'old=$(od -An -tu1 -j600 -N1 "$f"); printf "\\\\$(printf %03o $(( (old + 1) % 256 )))" | '
        'dd of="$f" bs=1 seek=600 conv=notrunc status=none; sync "$f"'
    )
    done = case.drain(state="synced 1", command=flip)
    assert case.fired
    assert done.returncode == 0, done.stdout + done.stderr
    assert end_of(done)["copied_again"] == 1
    assert delivered(case.target, sink) == made


def hold(kind: str, path: Path) -> subprocess.Popen[bytes]:
    """A process that has the file open for writing, in one way, until its input ends."""
    open_it = {
        "open": "f = open(path, 'r+b')",
        "dup": "f = open(path, 'r+b'); d = os.dup(f.fileno()); f.close()",
        "fork": "f = open(path, 'r+b'); pid = os.fork(); sys.stdin.read() if pid == 0 else f.close()",
        "mapping": "f = open(path, 'r+b'); m = mmap.mmap(f.fileno(), 0); f.close()",
    }[kind]
    program = f"import mmap, os, sys; path = sys.argv[1]; {open_it}; print('ready', flush=True); sys.stdin.read()"
    process = subprocess.Popen(["python3", "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


@pytest.mark.parametrize("kind", ["open", "dup", "fork", "mapping"])
def test_a_file_that_is_open_for_writing_stays(new_case: Make, kind: str) -> None:
    case = new_case("mirror")
    (case.scratch / "busy").write_bytes(b"half of it")
    (case.scratch / "done").write_bytes(b"all")
    with hold(kind, case.scratch / "busy") as process:
        done = case.drain()
        process.stdin.close()  # type: ignore[union-attr]
        process.wait(20)
    assert done.returncode == 1
    assert [left["path"] for left in end_of(done)["left"]] == ["busy"]  # type: ignore[attr-defined,index]
    assert delivered(case.target, "mirror") == {b"done": b"all"}
    assert case.drain().returncode == 0
    assert delivered(case.target, "mirror") == {b"done": b"all", b"busy": b"half of it"}


def test_a_program_that_opens_a_file_does_not_wait(new_case: Make) -> None:
    """The drain gives its lease up at once: the kernel alone would let the program wait for 45 s."""
    case = new_case("mirror")
    path = case.scratch / "file"
    path.write_bytes(b"one")
    case.environment = {"F": str(path)}
    program = "import os, time; t = time.time(); os.open(os.environ['F'], os.O_WRONLY); "
    program += "open(os.environ['F'] + '.s', 'w').write(str(time.time() - t))"
    timed = f'python3 -c "{program}"'
    done = case.drain(state="compared 1", command=timed)
    assert done.returncode == 0
    assert case.drain().returncode == 0
    assert float(delivered(case.target, "mirror")[b"file.s"]) < 0.1


def test_two_drains_of_one_folder(new_case: Make, rng: random.Random) -> None:
    """The second is refused; two folders with one target do not disturb each other."""
    case, other = new_case("bundle", "one"), new_case("bundle", "two")
    other.target = case.target
    made = make_files(case.scratch, rng)
    (other.scratch / "of the other").write_bytes(b"2")
    inner = " ".join(shlex.quote(str(word)) for word in (case.program, "copy", case.scratch, case.target))
    third = " ".join(shlex.quote(str(word)) for word in (other.program, "copy", other.scratch, other.target, "--sink", "bundle"))
    done = case.drain(state="compared 1", command=f"{inner} | grep -q IN_USE && {third}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert delivered(case.target, "bundle") == {**made, b"of the other": b"2"}


def test_a_folder_that_others_may_write_is_refused(new_case: Make) -> None:
    case = new_case("mirror")
    (case.scratch / "file").write_bytes(b"1")
    case.scratch.chmod(0o777)
    done = case.drain()
    assert done.returncode == 2
    assert "chmod go-w" in str(end_of(done)["message"])
    case.scratch.chmod(0o700)
    (case.scratch / ".tailrace-drain").symlink_to("/tmp")
    assert case.drain().returncode == 2, "a link in the place of the drain's own folder is not followed"
    assert (case.scratch / "file").exists()


def test_pipes_and_devices_are_named_and_stay(new_case: Make) -> None:
    case = new_case("mirror")
    os.mkfifo(case.scratch / "pipe")
    done = case.drain()
    assert done.returncode == 1
    assert end_of(done)["left"][0]["path"] == "pipe"  # type: ignore[index]
    assert (case.scratch / "pipe").exists()


def test_names_of_the_case_are_hard() -> None:
    assert max(len(name.split(b"/")[-1]) for name in NAMES) == 255


def test_the_command(tailrace_command: list[str], new_case: Make) -> None:
    case = new_case("bundle")
    (case.scratch / "a").mkdir()
    (case.scratch / "a/one").write_bytes(b"1" * 1000)
    os.mkfifo(case.scratch / "pipe\n")
    words = [*tailrace_command, "drain", "copy", str(case.scratch), str(case.target), "--bundle"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "1 file, 1000 B" in done.stdout
    assert "left on scratch: pipe\\n: it is no regular file" in done.stdout
    assert delivered(case.target, "bundle") == {b"a/one": b"1" * 1000}
    (case.scratch / "pipe\n").unlink()
    (case.scratch / "two").write_bytes(b"2")
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert (json.loads(done.stdout)["files"], json.loads(done.stdout)["left"]) == (1, [])
    missing = subprocess.run(
        [*words[:3], str(case.scratch / "none"), str(case.target)], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 2
    assert "none" in missing.stderr
