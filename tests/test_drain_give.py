"""`tailraced give` delivers files while the program runs: faults at every state of the drain; nothing is lost or published half."""

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
from typing import Any

import pytest
from tailrace.stage.scratch_folder import COUNTS, COUNTS_FILE

from tests.drain_states import STATE_FOLDER, STATES, DrainCase, delivered, files_below, make_files

Make = Callable[[], DrainCase]


@pytest.fixture(params=["alone", "beside a run"])
def new_case(request: pytest.FixtureRequest, build_dir: Path, preloaded: Callable[[str], Path]) -> Iterator[Make]:
    """The folder of a run has the lock of its names."""
    memory = Path("/dev/shm")
    home = Path(tempfile.mkdtemp(prefix="tailrace-give-", dir=memory if memory.is_dir() else None))

    def made() -> DrainCase:
        folder = Path(tempfile.mkdtemp(dir=home))
        (folder / "scratch" / STATE_FOLDER).mkdir(mode=0o700, parents=True)
        (folder / "scratch").chmod(0o700)
        if request.param == "beside a run":
            counts = COUNTS.pack(0, 0, 0, b"", 0, 0, 0, b"", 1, 0, 0)
            (folder / "scratch" / STATE_FOLDER / COUNTS_FILE).write_bytes(counts)
        return DrainCase(build_dir / "bin/tailraced", preloaded("faults/drain"), folder / "scratch", folder / "target")

    yield made
    shutil.rmtree(home)


def answers(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def ends_well(case: DrainCase, made: dict[bytes, bytes]) -> None:
    done = case.drain()
    assert done.returncode == 0, done.stdout + done.stderr
    assert delivered(case.target, "mirror") == made
    assert files_below(case.scratch) == {}
    assert not list((case.scratch / ".tailrace-drain/removing").iterdir())
    assert not list(case.target.glob(".tailrace*")), "no temporary file is left"


def chosen(made: dict[bytes, bytes], rng: random.Random) -> list[bytes]:
    """Files, without those that have two names: a drain of all keeps both, and giving one does not."""
    names = [name for name in sorted(made) if name not in (b"link", b"plain", b"second name")]
    rng.shuffle(names)
    return names[: len(names) * 2 // 3]


@pytest.mark.parametrize("has_early_copies", [False, True])
def test_only_the_files_that_are_asked_for_are_delivered(new_case: Make, rng: random.Random, has_early_copies: bool) -> None:
    case = new_case()
    made = make_files(case.scratch, rng)
    names = chosen(made, rng)
    if has_early_copies:
        assert case.beside().returncode == 0
    done = case.give([names[:3], [b"absent", b"deep/absent"], [], names[3:], names[:1]])
    assert (done.returncode, done.stderr) == (0, "")
    assert [(answer["files"], answer["open"], answer["left"]) for answer in answers(done)] == [
        (count, [], []) for count in (3, 0, 0, len(names) - 3, 0)
    ]
    assert sum(answer["bytes"] for answer in answers(done)) == sum(len(made[name]) for name in names)
    assert files_below(case.target) == {name: made[name] for name in names}
    assert files_below(case.scratch) == {name: content for name, content in made.items() if name not in names}
    ends_well(case, made)


def kill_and_end(case: DrainCase, state: str, number: int, rng: random.Random) -> bool:
    made = make_files(case.scratch, rng)
    names = chosen(made, rng)
    case.give([names[:5], names[5:]], state=f"{state} {number}")
    if not case.fired:
        return False
    case.nothing_lost_nothing_half(made)
    ends_well(case, made)
    return True


def test_a_death_at_any_state_loses_nothing(new_case: Make, rng: random.Random) -> None:
    histogram: Counter[str] = Counter()
    for state in STATES:
        for most in (3, 2, 1):
            if histogram[state] == 0:
                histogram[state] += kill_and_end(new_case(), state, rng.randint(1, most), rng)
    print(*(f"{histogram[state]:6}  {state}" for state in STATES), sep="\n")
    assert all(histogram[state] for state in STATES), histogram


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_a_call_that_fails_loses_nothing(new_case: Make, code: int, rng: random.Random) -> None:
    hits = 0
    for _ in range(8):
        case = new_case()
        made = make_files(case.scratch, rng)
        names = chosen(made, rng)
        case.give([names[:5], names[5:]], fail=f"{rng.randint(1, 90)} {code}")
        hits += case.fired
        case.nothing_lost_nothing_half(made)
        ends_well(case, made)
    assert hits > 0


def test_a_full_target_is_an_answer_and_the_next_file_is_delivered(new_case: Make, small_device: Path) -> None:
    case = new_case()
    case.target = small_device
    (case.scratch / "large").write_bytes(b"x" * (2 << 20))
    (case.scratch / "small").write_bytes(b"y" * 100)
    done = case.give([[b"large"], [b"small"]])
    first, second = answers(done)
    assert os.strerror(errno.ENOSPC) in first["why"]
    assert (second["files"], second["left"]) == (1, [])
    assert sorted(path.name for path in small_device.iterdir()) == ["small"]
    assert (case.scratch / "large").stat().st_size == 2 << 20


def test_it_ends_at_once_if_its_parent_has_ended(new_case: Make) -> None:
    case = new_case()
    (case.scratch / "file").touch()
    done = case.call("give", "--parent", "1", names="file\0\0")
    assert (done.returncode, done.stdout, files_below(case.target)) == (1, "", {})
