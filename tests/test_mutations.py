"""The runs of mutations find each kind of fault, name its command, and go on with the next mutation."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import mutations
from tests.mutations import INTERNAL, Source, run

pytestmark = pytest.mark.fast
HARMFUL, COUNT, SEED = 3, 6, "7"
seen: list[int] = []  # of one process


def mutate(folder: Path, _: random.Random) -> Path:
    return folder


def source_of(harm: Callable[[], object], dies: bool = False) -> Source:
    """One mutation does harm. The folder's name is its number."""

    def read(folder: Path) -> None:
        assert (folder / "inner" / "input").read_text() == "text"
        if int(folder.name) == HARMFUL:
            harm()
        if int(folder.name) % 2 == 0:
            raise OSError("refused")

    return Source(make, mutate, read, a_dead_process_is_an_error=dies)


def make(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "input").write_text("text")


def end_by_signal() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def raise_key_error() -> None:
    raise KeyError("x")


def raise_internal() -> None:
    raise INTERNAL("x")


def exit_at_once() -> None:
    os._exit(3)


def take_memory() -> None:
    [bytearray(mutations.LIMIT_BYTES) for _ in range(8)]  # some of what the process has mapped may be free


def never_return() -> None:
    while True:
        pass


def take_time() -> None:
    while time.process_time() < 0.5:
        pass


def take_time_in_a_child() -> None:
    process = os.fork()
    if process == 0:
        while time.process_time() < 0.5:
            pass
        os._exit(0)
    os.waitpid(process, 0)


def alone(number: int) -> str:
    return f"x {SEED} 1 {number}"


HARMS: dict[Callable[[], None], str] = {
    end_by_signal: "SIGSEGV",
    raise_key_error: "KeyError",
    raise_internal: "Internal",
    exit_at_once: "status 3",
    take_memory: "MemoryError",
    never_return: "processor time",
    take_time: "processor time",
    take_time_in_a_child: "processor time",
}


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_fault_is_found_and_named(monkeypatch: pytest.MonkeyPatch, harm: Callable[[], None]) -> None:
    if "processor" in HARMS[harm]:
        monkeypatch.setattr(mutations, "LIMIT_S", 0.3)
    found = run(source_of(harm), "x", SEED, range(COUNT))
    assert list(found.faults) == [alone(HARMFUL)]
    assert HARMS[harm] in found.faults[alone(HARMFUL)]
    assert found.counts == {"read": 2, "refused": 3, "fault": 1}
    again = run(source_of(harm), "x", SEED, range(HARMFUL, HARMFUL + 1))
    assert list(again.faults) == [alone(HARMFUL)]


def test_a_reader_that_waits_for_ever_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutations, "HANGS_S", 1)
    found = run(source_of(signal.pause), "x", SEED, range(HARMFUL, HARMFUL + 1))
    assert list(found.faults.values()) == ["fault: no answer in 1 s"]


def test_a_fault_of_several_mutations_names_them_all() -> None:
    def read(folder: Path) -> None:
        seen.append(int(folder.name))
        assert len(seen) < HARMFUL

    found = run(Source(make, mutate, read), "x", SEED, range(10, 10 + HARMFUL))
    assert list(found.faults) == [f"x {SEED} {HARMFUL} 10"]


def test_what_happens_once_is_told_and_is_no_fault(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    once = tmp_path / "once"

    def read(folder: Path) -> None:
        if folder.parent.name != "1" and not once.exists():  # in folder 1 modules are loaded
            once.mkdir()
            raise KeyError("once")

    found = run(Source(make, mutate, read), "x", SEED, range(HARMFUL, HARMFUL + 1))
    assert (found.faults, found.counts) == ({}, {"read": 1})
    assert f"once, and not again: {alone(HARMFUL)}" in capfd.readouterr().err


@pytest.mark.parametrize("harm", [end_by_signal, exit_at_once])
def test_a_dead_process_may_be_an_error(harm: Callable[[], None]) -> None:
    found = run(source_of(harm, dies=True), "x", SEED, range(COUNT))
    assert (found.faults, found.counts) == ({}, {"read": 2, "refused": 4})


def test_a_loop_in_a_process_that_may_die_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutations, "LIMIT_S", 0.3)
    found = run(source_of(never_return, dies=True), "x", SEED, range(COUNT))
    assert list(found.faults) == [alone(HARMFUL)]


def test_a_process_ends_after_its_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number is read, whatever the lengths; what one process kept is gone in the next."""
    monkeypatch.setattr(mutations, "SERIES", 3)

    def read(folder: Path) -> None:
        seen.append(int(folder.name))
        assert len(seen) <= 3

    found = run(Source(make, mutate, read), "x", SEED, range(10))
    assert (found.faults, found.counts) == ({}, {"read": 10})
