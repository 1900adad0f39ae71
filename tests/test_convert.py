"""tailrace convert: from every layout to another, on other ranks; stopped, gone on with, refused."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import time
from pathlib import Path

import pytest
import tailrace
from tailrace import errors

from tests import formula
from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS
from tests.test_combine import Stop, check_large, large
from tests.test_ragged import STEPS as RAGGED_STEPS
from tests.test_ragged import check_with_tools, read
from tests.test_ragged import write as write_ragged
from tests.test_readers import STEPS_PER_FILE, options
from tests.written import check_values, verify

STEPS = 4
SIZES = formula.Sizes()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """By default each preset once from and once to; `full` has all pairs."""
    if "pair" not in metafunc.fixturenames:
        return
    rng = random.Random(f"{metafunc.config.option.seed} convert")
    targets = rng.sample(PRESETS, len(PRESETS))
    chosen = set(zip(PRESETS, targets, strict=True))
    metafunc.parametrize(
        "pair",
        [
            pytest.param(pair, id="-".join(pair), marks=() if pair in chosen else (pytest.mark.full,))
            for pair in itertools.product(PRESETS, PRESETS)
        ],
    )


def test_any_layout_to_any_other(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, rng: random.Random, pair: tuple[str, str]
) -> None:
    before, after = rng.choice(STEPS_PER_FILE), rng.choice(STEPS_PER_FILE).strip("'")
    choices = [f"decomposition={rng.choice(['rows', 'columns', 'irregular'])}", f"steps={STEPS}", SIZES.argument]
    mpirun("write_case", 3, [tmp_path / "from", "history", options(pair[0], before), *choices])
    words = ["convert", tmp_path / "from", tmp_path / "to", "--layout", pair[1], "--set", f"steps={after}"]
    mpirun(tailrace_command[0], rng.choice([1, 2, 4]), words)
    check_values(tmp_path / "to", "climate", SIZES, STEPS)
    verify(tmp_path / "to")


def test_ragged(mpirun: Mpirun, tmp_path: Path, tailrace_command: list[str], rng: random.Random) -> None:
    write_ragged(mpirun, tmp_path / "from", 3, rng.choice(PRESETS))
    words = ["convert", tmp_path / "from", tmp_path / "to", "--layout", rng.choice(PRESETS)]
    mpirun(tailrace_command[0], 2, words)
    check_with_tools(tmp_path / "to" / "floats.nc", dict.fromkeys(range(RAGGED_STEPS), 3))
    assert read(mpirun, tmp_path / "to", 2, [3] * RAGGED_STEPS) == RAGGED_STEPS


def test_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    large(tmp_path / "from", 5, rows=50)

    def stop(done: int, _every: int) -> None:
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        tailrace.convert(tmp_path / "from", "big", tmp_path / "to", layout="single", steps="all", progress=stop)
    check_large(tmp_path / "to" / "big.nc", 2, rows=50)
    calls: list[tuple[int, int]] = []
    answer = tailrace.convert(
        tmp_path / "from", "big", tmp_path / "to", layout="single", steps="all", progress=lambda *steps: calls.append(steps)
    )
    assert (answer["steps"], answer["steps_before"]) == (5, 2)
    assert calls == [(3, 5), (4, 5), (5, 5)]
    check_large(tmp_path / "to" / "big.nc", 5, rows=50)
    assert tailrace.convert(tmp_path / "from", "big", tmp_path / "to", layout="single", steps="all")["steps_before"] == 5
    check_large(tmp_path / "to" / "big.nc", 5, rows=50)


@pytest.mark.parametrize("whole", [True, False])
def test_a_source_that_has_begun_anew_is_another(tmp_path: Path, whole: bool) -> None:
    """Its times are those of the steps that are there."""
    large(tmp_path / "from", 4, rows=50)

    def stop(done: int, _every: int) -> None:
        if done == 2 and not whole:
            raise Stop

    with contextlib.suppress(Stop):
        tailrace.convert(tmp_path / "from", "big", tmp_path / "to", layout="single", progress=stop)
    time.sleep(1.1)  # runs tell when they began, in seconds
    large(tmp_path / "from", 4, rows=50, checksum="off")
    with pytest.raises(errors.BadArgument, match="has other steps"):
        tailrace.convert(tmp_path / "from", "big", tmp_path / "to", layout="single")
    assert tailrace.convert(tmp_path / "from", "big", tmp_path / "to", layout="single", mode="replace")["steps_before"] == 0


def test_every_step_whatever_the_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration of a stream of that name is the model's, too."""
    large(tmp_path / "from", 6, rows=200)
    for key, value in {"KEEP": "2", "OVERLAP": "1", "OVERLAP_POLICY": "drop", "OVERLAP_MEMORY": "2 MiB"}.items():
        monkeypatch.setenv(f"TAILRACE_{key}", value)
    assert tailrace.convert(tmp_path / "from", "big", tmp_path / "to", layout="single", steps="all")["steps"] == 6
    check_large(tmp_path / "to" / "big.nc", 6, rows=200)


def test_command_starts_its_ranks(tailrace_command: list[str], tmp_path: Path) -> None:
    large(tmp_path / "from", 2, rows=50)
    words = ["convert", str(tmp_path / "from"), str(tmp_path / "to"), "-n", "2", "-l", "fpp", "--json"]
    finished = run_within([*tailrace_command, *words])
    assert finished.returncode == 0, finished.output
    assert json.loads(finished.stdout) == {"stream": "big", "steps": 2, "steps_before": 0}
    assert len(list((tmp_path / "to" / "big.parts" / "000001").iterdir())) == 2
    check_large(tmp_path / "to" / "big.nc", 2, rows=50)


def test_refusals(tmp_path: Path) -> None:
    large(tmp_path / "from", 2, rows=50)
    with pytest.raises(errors.BadArgument, match="choose another directory"):
        tailrace.convert(tmp_path / "from", "big", tmp_path / "x" / ".." / "from")
    with pytest.raises(errors.NotFound, match="no stream 'small'"):
        tailrace.convert(tmp_path / "from", "small", tmp_path / "to")
    with tailrace.open(tmp_path / "to", "big") as stream:
        stream.var("mass", (), "f8")
        with stream.step(7.0) as step:
            step["mass"] = 1.0
    with pytest.raises(errors.BadArgument, match="has other steps"):
        tailrace.convert(tmp_path / "from", "big", tmp_path / "to")
    with tailrace.open_read(tmp_path / "to", "big") as reader:
        assert reader.times == [7.0]
    check_large(tmp_path / "from" / "big.nc", 2, rows=50)


def test_a_missing_part_is_an_error_on_all_ranks(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    """The steps before it are there, and nobody waits for ever."""
    mpirun(
        "write_case", 3, [tmp_path / "from", "history", "layout = 'fpp'", "decomposition=rows", f"steps={STEPS}", SIZES.argument]
    )
    part = sorted((tmp_path / "from" / "history.parts" / "000002").iterdir())[1]
    part.unlink()
    with pytest.raises(pytest.fail.Exception, match=part.name):
        mpirun(tailrace_command[0], 3, ["convert", tmp_path / "from", tmp_path / "to", "--layout", "single"])
    check_values(tmp_path / "to", "climate", SIZES, 2)
    verify(tmp_path / "to")
