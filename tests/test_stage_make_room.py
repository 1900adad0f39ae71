"""`make_room` of [stage]: closed files leave scratch while the program runs, and the program sees the same folder as before."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tailrace.stage.scratch_folder import COUNTS

from tests.test_stage_run import STAGE, Staged

ALWAYS = 'make_room = "1000 TiB"\n'  # more than any scratch has

# The same command that looks for room all the time, and takes files that were changed just now.
EAGER = """
import sys
sys.path.insert(0, {python!r})
from tailrace.stage import room_maker
room_maker.QUIET_S, room_maker.LOOK_S, room_maker.SHARE_OF_TIME, room_maker.AGAIN_S = 0.0, 0.001, 0, 0.0
from tailrace.cli import main
sys.exit(main())
"""

# A program looks at its scratch, which has no rule: `delivered(NAME)` returns when the file has left it.
WAIT = """
import glob, os, sys, time
SCRATCH = {scratch!r}
def on_scratch(name):
    return glob.glob(SCRATCH + "/tailrace-*/out/" + name)
def delivered(*names):
    until = time.monotonic() + 90
    while any(on_scratch(name) for name in names):
        assert time.monotonic() < until, "nothing is delivered"
        time.sleep(0.02)
def put(name, text, mode="w"):
    with open("out/" + name, mode) as file:
        file.write(text)
def get(name):
    with open("out/" + name) as file:
        return file.read()
os.makedirs("out", exist_ok=True)
"""


@pytest.fixture
def staged(tmp_path: Path, tailrace_command: list[str]) -> Staged:
    found = Staged(tmp_path, tailrace_command)
    found.configure(STAGE + ALWAYS)
    return found


@pytest.fixture
def eager(staged: Staged) -> Staged:
    python = Path(__file__).parent.parent / "python"
    staged.command = [sys.executable, "-c", EAGER.format(python=str(python))]
    return staged


def run(staged: Staged, script: str) -> subprocess.CompletedProcess[str]:
    return staged.run([sys.executable, "-c", WAIT.format(scratch=str(staged.scratch)) + textwrap.dedent(script)])


def test_a_closed_file_leaves_scratch_and_is_the_same_file_for_the_program(staged: Staged) -> None:
    script = """
        for name in ("read", "appended", "rewritten", "removed", "renamed", "older"): put(name, name)
        open_file = open("out/open", "w"); open_file.write("x"); open_file.flush()
        reader = open("out/older")
        assert on_scratch("read") and on_scratch("open")
        delivered("read", "appended", "rewritten", "removed", "renamed")
        assert on_scratch("open") and on_scratch("older"), "a process has them open"
        print(get("read"), sorted(os.listdir("out")))
        put("appended", " twice", "a"); put("rewritten", "again"); os.remove("out/removed"); os.rename("out/renamed", "out/final")
        print(get("appended"), get("rewritten"), os.path.exists("out/removed"), get("final"), reader.read())
    """
    done = run(staged, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "read ['appended', 'older', 'open', 'read', 'removed', 'renamed', 'rewritten']",
        "appended twice again False renamed older",
    ]
    found = {path.name: path.read_text() for path in (staged.base / "out").iterdir()}
    texts = {"read": "read", "appended": "appended twice", "rewritten": "again", "final": "renamed", "older": "older", "open": "x"}
    assert found == texts
    assert re.search(r"5 files, \d+ B had been delivered while the program ran, because scratch had .* \(make_room\)", done.stderr)
    assert not staged.folders()


def test_nothing_leaves_where_there_is_room(staged: Staged) -> None:
    staged.configure(STAGE + 'make_room = "1 KiB"\n')
    done = run(staged, 'put("file", "text"); time.sleep(3.5); print(bool(on_scratch("file")))')
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "make_room" not in done.stderr


def test_a_run_writes_more_than_its_scratch_has(staged: Staged, small_device: Path) -> None:
    """12 files of 256 KiB through a scratch of 1 MiB, which has room for two at a time."""
    staged.scratch = small_device / "scratch"
    staged.scratch.mkdir()
    staged.configure(STAGE + 'make_room = "700 KiB"\n', min_free="300 KiB")
    script = """
        for number in range(12):
            while os.statvfs(SCRATCH).f_bavail * os.statvfs(SCRATCH).f_frsize < 600 << 10: time.sleep(0.05)
            put(f"{number}", chr(65 + number) * (256 << 10))
    """
    done = run(staged, script)
    assert done.returncode == 0, done.stderr
    assert "were made at their target" not in done.stderr
    for number in range(12):
        assert (staged.base / "out" / str(number)).read_text() == chr(65 + number) * (256 << 10)


CHANGES = """
import random
children = []
for worker in range(3):
    if (child := os.fork()) == 0:
        rng, known = random.Random(SEED * 10 + worker), {}
        names = [f"{worker}.{k}" for k in range(4)]
        until = time.monotonic() + SECONDS
        steps, left_scratch = 0, False
        while time.monotonic() < until or not (left_scratch or time.monotonic() > until + 60):
            name, other = rng.sample(names, 2)
            what = rng.choice(["new", "append", "append", "update", "remove", "rename", "read", "read", "temporary", "chmod"])
            text = f"{steps} " * rng.randint(1, 300)
            steps += 1
            if what == "new":
                put(name, text); known[name] = text
            elif what == "append":
                put(name, text, "a"); known[name] = known.get(name, "") + text
            elif what == "update" and name in known:
                with open("out/" + name, "r+") as file: file.write("#")
                known[name] = "#" + known[name][1:]
            elif what == "remove" and name in known:
                os.remove("out/" + name); del known[name]
            elif what == "rename" and name in known:
                os.rename("out/" + name, "out/" + other); known[other] = known.pop(name)
            elif what == "temporary":
                put("t" + name, text); os.replace("out/t" + name, "out/" + name); known[name] = text
            elif what == "chmod" and name in known:
                os.chmod("out/" + name, rng.choice([0o600, 0o640]))
            found = [each for each in sorted(os.listdir("out")) if each.startswith(f"{worker}.")]
            context = f"{worker}: after {what} {name} {other}"
            if found != sorted(known): print(f"{context}: {found} are there, not {sorted(known)}"); os._exit(1)
            left_scratch = left_scratch or (name in known and not on_scratch(name))
            if name in known and get(name) != known[name]: print(f"{context}: other text"); os._exit(1)
        import json
        with open(f"known.{worker}", "w") as file: json.dump(known, file)
        os._exit(0)
    children.append(child)
failed = [os.waitpid(child, 0)[1] for child in children]
sys.exit(any(failed))
"""


@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=pytest.mark.full)])
def test_files_that_are_changed_all_the_time_are_never_lost_or_doubled(eager: Staged, seed: int, seconds: int) -> None:
    """Three processes make, change, rename and remove files, which are delivered at the same moment. On a busy machine they work
    until that has happened."""
    done = run(eager, CHANGES.replace("SECONDS", str(seconds)).replace("SEED", str(seed % 100_000)))
    assert done.returncode == 0, done.stdout + done.stderr
    delivered = re.search(r"([\d,]+) files?, .* had been delivered while the program ran", done.stderr)
    assert delivered is not None, done.stderr
    print(delivered[0])
    known: dict[str, str] = {}
    for worker in range(3):
        known |= json.loads((eager.base / f"known.{worker}").read_text())
    assert {path.name: path.read_text() for path in (eager.base / "out").iterdir()} == known
    assert not eager.folders(), done.stderr


def test_a_process_that_died_in_a_call_stops_deliveries_and_not_the_program(eager: Staged) -> None:
    """The count of calls that change names stays above zero then."""
    place = COUNTS.size - 12
    script = f"""
        import struct
        put("first", "1"); delivered("first")
        counts = glob.glob(SCRATCH + "/tailrace-*/.tailrace-drain/counts")[0]
        with open(counts, "r+b") as file:
            file.seek({place}); assert file.read(4) == bytes(4)
            file.seek({place}); file.write(struct.pack("<I", 1))
        began = time.monotonic()
        for name in ("second", "third", "fourth"): put(name, name); time.sleep(2.5)
        print(bool(on_scratch("second")), get("second"), time.monotonic() - began < 12)
    """
    done = run(eager, script)
    assert (done.returncode, done.stdout) == (0, "True second True\n"), done.stdout + done.stderr
    assert "make_room has stopped after several errors" in done.stderr
    assert {path.name for path in (eager.base / "out").iterdir()} == {"first", "second", "third", "fourth"}


@pytest.mark.fast
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('make_room = "1 GiB"\n', "make_room = '1 GiB': must be more than min_free (2.0 GiB)"),
        ('make_room = "4 GiB"\nsink = "bundle"\n', 'is only for sink = "mirror": bundles are made when the program has ended'),
        ('make_room = "4 GiB"\nwhile_running = true\n', "while_running copies them: remove one of them"),
        ('make_room = "much"\n', "make_room = 'much': must be a number with one of"),
    ],
)
def test_wrong_values_are_refused(staged: Staged, keys: str, said: str) -> None:
    staged.configure(STAGE + keys, min_free="2 GiB")
    done = staged.run(["true"])
    assert done.returncode == 2
    assert said in done.stderr
