"""tailrace.toml beside the streams: reserved tables, unknown ones, and keys outside of a table; through C and Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tailrace

from tests.error_run import run_case
from tests.mpirun import Mpirun

RESERVED = ("trace", "place", "stage", "machine", "ensemble")
TABLES = re.escape("The tables are: stream, trace, place, stage, machine, ensemble")
STREAM = "[stream.history]\nsteps = 3\n"
REFUSED = {
    "table": ("[streams.history]\nsteps = 3\n", rf"line 1: unknown table \[streams\]; did you mean \[stream\]\? {TABLES}"),
    "other table": (STREAM + "[plase]\nrule = 'x'\n", rf"line 3: unknown table \[plase\]; did you mean \[place\]\? {TABLES}"),
    "key": (
        "stpes = 3\n" + STREAM,
        r"line 1: key 'stpes' stands outside of a table; did you mean 'steps' under \[stream.default\]",
    ),
    "value": ("machine = 'mine'\n" + STREAM, r"line 1: 'machine' is a table and has no value; write \[machine\]"),
}


@pytest.fixture
def reserved(tmp_path: Path) -> Path:
    """A file in which each reserved table stands beside the stream's, with keys that no stream has."""
    below = "".join(f"[{name}]\nlayout = ['of', 'others']\n[{name}.below]\nsteps = -1\n" for name in RESERVED)
    (tmp_path / "tailrace.toml").write_text(STREAM + below + "[[place.rule]]\nto = 'scratch'\n")
    return tmp_path


@pytest.mark.fast
def test_tables_of_others_are_passed_over_python(reserved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reserved)
    with tailrace.open("out", "history") as stream:
        assert stream.report()["effective"]["steps"] == "3"


@pytest.mark.fast
@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_the_rest_is_refused_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    (tmp_path / "tailrace.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tailrace.BadConfig, match=rf"tailrace\.toml, {message}"):
        tailrace.open("out", "history")
    assert not (tmp_path / "out").exists()


@pytest.mark.both_mpis(2, 4)
def test_tables_of_others_are_passed_over_c(mpirun: Mpirun, reserved: Path) -> None:
    calls = run_case(mpirun, 2, reserved / "out", "", "none", cwd=reserved)
    assert calls.outcome("open")[0] == "OK", calls.output


@pytest.mark.both_mpis(2, 4)
@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_the_rest_is_refused_c(mpirun: Mpirun, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tailrace.toml").write_text(text)
    calls = run_case(mpirun, 2, tmp_path / "out", "", "none", cwd=tmp_path)
    status, told = calls.outcome("open")
    assert status == "BAD_CONFIG", calls.output
    assert re.search(rf"tailrace\.toml, {message}", told), told


@pytest.mark.fast
def test_tables_and_variables_are_listed() -> None:
    answer = tailrace.keys()
    assert [table["name"] for table in answer["tables"]] == ["stream", *RESERVED]
    names = [variable["name"] for variable in answer["variables"]]
    assert len(set(names)) == len(names)
    assert {"TAILRACE_CONFIG", "TAILRACE_TRACE", "TAILRACE_CACHE", "TAILRACE_<KEY>", "TAILRACE_<STREAM>_<KEY>"} <= set(names)
    assert all(variable["reader"] and variable["meaning"] for variable in answer["variables"])
