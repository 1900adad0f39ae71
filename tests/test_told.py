"""What is forgotten is told: a step outside of its block, a stream that is not closed, settings that nothing uses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import tailrace
from tailrace import errors

from tests.environment import ROOT
from tests.mpirun import Finished, Mpirun, run_within
from tests.test_contract import PROGRAMS

pytestmark = pytest.mark.fast

PROGRAM = ROOT / "tests" / "python_told.py"
STEPS = """
all dim x 2
all var T f8 0 x
all begin 0
0 put T 0 dense 0 1
1 put T 1 dense 1 1
all end
"""


def told(finished: Finished) -> list[str]:
    """The lines of Tailrace on standard error."""
    return [line for line in finished.stderr.splitlines() if line.startswith("tailrace: ")]


def run_script(mpirun: Mpirun, tmp_path: Path, language: str, script: str, ranks: int = 2) -> Finished:
    (tmp_path / "script").write_text(script.strip() + "\n")
    (tmp_path / "answers").mkdir()
    finished = mpirun(PROGRAMS[language], ranks, [tmp_path / "script", tmp_path / "out", tmp_path / "answers"])
    for answers in (tmp_path / "answers").iterdir():
        assert all(line.split()[1] == "OK" for line in answers.read_text().splitlines()), answers.read_text()
    return finished


# ---- put outside of a step -------------------------------------------------------------------------------------------------------


def test_put_outside_of_its_block(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        stream.dim("x", 2)
        stream.var("T", ("x",), "f4")
        stream.var("mass")
        step = stream.step(0.0)
        with pytest.raises(
            errors.BadOrder, match=r"put of variable 'T' outside of its step: .*`with stream\.step\(0\.0\) as step:`"
        ):
            step.put("T", np.ones(2, "f4"), offset=(0,))
        with step:
            step.put("T", np.ones(2, "f4"), offset=(0,))
            step["mass"] = 1.0
        for put in (lambda: step.put("T", np.ones(2, "f4")), lambda: step.put_all({"mass": 2.0})):
            with pytest.raises(errors.BadOrder, match="outside of its step"):
                put()
        with pytest.raises(errors.BadOrder, match="outside of its step"):
            step["mass"] = 2.0
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.get("mass") == 1.0


def close_within_a_step(stream: tailrace.Stream) -> None:
    with stream.step(1.0) as step:
        step["mass"] = 2.0
        stream.close()


def test_close_within_a_step(tmp_path: Path) -> None:
    stream = tailrace.open(tmp_path, "history", layout="fpp")
    stream.var("mass")
    with stream.step(0.0) as step:
        step["mass"] = 1.0
    with pytest.raises(errors.BadOrder, match=r"tailrace_close within step 1: the stream is closed, and this step is not in it"):
        close_within_a_step(stream)
    assert stream.closed
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.times == [0.0]


# ---- a stream that is not closed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["C", "Fortran", "Python"])  # in C++ the stream closes itself
def test_end_with_an_open_stream(mpirun: Mpirun, tmp_path: Path, language: str) -> None:
    finished = run_script(mpirun, tmp_path, language, f"all open out layout='fpp'{STEPS}")
    [line] = told(finished)
    assert f"stream 'out' in {tmp_path}/out was not closed: its 1 committed steps stay, and its index is written" in line
    assert "call tailrace_close before MPI_Finalize" in line
    assert tailrace.verify(tmp_path / "out", "out", deep=True)["ok"]
    with tailrace.open_read(tmp_path / "out", "out") as reader:
        assert list(reader.get("T", (0,), (2,))) == [0, 1]


@pytest.mark.parametrize(
    "options", ["layout='single';steps='all'", "layout='node';steps=2", "layout='fpp';overlap=2", "layout='hds'"]
)
def test_end_with_an_open_stream_of_any_layout(mpirun: Mpirun, tmp_path: Path, options: str) -> None:
    finished = run_script(mpirun, tmp_path, "C", f"all open out {options}{STEPS}")
    assert len(told(finished)) == 1
    answer = tailrace.verify(tmp_path / "out", "out")
    assert answer["state"] in ("whole", "being written")
    assert answer["steps"] == 1 or "overlap" in options  # a step in flight is committed by a later call
    assert (tmp_path / "out" / "out.nc").exists() or answer["steps"] == 0


def test_end_with_an_open_stream_within_a_step(mpirun: Mpirun, tmp_path: Path) -> None:
    finished = run_script(mpirun, tmp_path, "C", f"all open out layout='fpp'{STEPS}all begin 1\n0 put T 0 dense 0 1")
    assert len(told(finished)) == 1
    assert tailrace.verify(tmp_path / "out", "out")["steps"] == 1


def test_end_with_streams_that_are_closed(mpirun: Mpirun, tmp_path: Path) -> None:
    assert told(run_script(mpirun, tmp_path, "C", f"all open out layout='fpp'{STEPS}all close")) == []


def python(program: Sequence[str], folder: Path, env: dict[str, str] | None = None) -> Finished:
    return run_within([sys.executable, *program], {"PYTHONPATH": str(ROOT / "python"), **(env or {})}, cwd=folder)


def test_a_program_that_is_killed_is_told_nothing(tmp_path: Path) -> None:
    finished = python([str(PROGRAM), "killed"], tmp_path)
    assert finished.returncode == -9
    assert told(finished) == []


def test_a_program_that_aborts_is_told_nothing(tmp_path: Path) -> None:
    finished = python([str(PROGRAM), "aborts"], tmp_path)
    assert finished.returncode != 0
    assert told(finished) == []


def test_an_exception_before_close(tmp_path: Path) -> None:
    finished = python([str(PROGRAM), "raises"], tmp_path)
    assert "ValueError: the model failed" in finished.stderr
    assert len(told(finished)) == 1
    assert tailrace.verify(tmp_path, "history", deep=True)["ok"]


# ---- settings that nothing uses --------------------------------------------------------------------------------------------------

TOML = """
[stream.default]
durability = "close"
[stream.history]
layout = "fpp"
[stream.hystory]
layout = "hds"
[place]
tree = 1
"""


def test_tables_and_variables_of_streams_that_nobody_opened(tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text(TOML)
    env = {"TAILRACE_HISTORY_STEPS": "2", "TAILRACE_RESTART_STEPS": "1", "TAILRACE_LAYOUT": "fpp", "TAILRACE_DEFAULT_STEPS": "1"}
    finished = python([str(PROGRAM), "writes"], tmp_path, env)
    assert finished.returncode == 0, finished.output
    assert told(finished) == [
        "tailrace: no stream was opened for these settings: [stream.hystory] of tailrace.toml, TAILRACE_RESTART_STEPS; "
        "opened were 'history'"
    ]


def test_settings_that_are_used(tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text("[stream.history]\nlayout = 'fpp'\n")
    assert told(python([str(PROGRAM), "writes"], tmp_path, {"TAILRACE_HISTORY_STEPS": "2"})) == []


def test_ranks_that_do_not_know_all_streams_say_nothing(mpirun: Mpirun, tmp_path: Path) -> None:
    """Half of the ranks open one stream, the others another: no rank knows of both."""
    (tmp_path / "tailrace.toml").write_text("[stream.atmosphere]\nlayout = 'fpp'\n[stream.ocean]\nlayout = 'fpp'\n")
    finished = mpirun(PROGRAM, 2, ["apart"], cwd=tmp_path)
    assert told(finished) == []


# ---- ranks that disagree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            "dimension",
            r"dimension 'x' is of length 8 on rank 0, of length 9 on rank 1; other values than on rank 0 are also on rank 3$",
        ),
        ("type", r"variable 'T' is f8 \['x'\] on rank 0, f4 \['x'\] on rank 1; .* also on rank 3$"),
        ("attribute", r"attribute 'scale_factor' of variable 'T' is f8 \[0.5, 2.0\] on rank 0, f8 \[0.5, 3.0\] on rank 1;"),
        ("stream-attribute", r"attribute 'title' of the stream \('a'\) is on rank 0 and not on rank 1;"),
        ("order", r"variable 'T' is defined on rank 0 where rank 1 defines variable 'U': the order is another;"),
        ("time", r"the time of the step is 1.0 on rank 0, 2.0 on rank 1;"),
        ("options", r"the options of tailrace_open: .* rank 1;"),
        ("step", r"the step to read: .*: the step is 0 on rank 0, 1 on rank 1;"),
        ("variable", r"the variable to read: .*: the variable is 'T' on rank 0, 'U' on rank 1;"),
    ],
)
def test_ranks_disagree(mpirun: Mpirun, tmp_path: Path, case: str, message: str) -> None:
    """Ranks 1 and 3 of 4 give something else; all get the same text."""
    finished = mpirun(PROGRAM, 4, ["disagree", case, tmp_path, message])
    assert finished.stdout.count("passed") == 4, finished.output
