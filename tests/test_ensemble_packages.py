"""An ensemble where Python packages are missing: told before the first member, and never at the cost of the results."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from tailrace import extras
from tailrace.cli import main
from tailrace.ensemble import Ensemble, EnsembleError
from tailrace.ensemble.packages import FILES

from tests.ensembles import table_of, write_ensemble
from tests.environment import ROOT

pytestmark = pytest.mark.fast

ALL = ("jinja2", "netCDF4", "pyarrow", "scipy")
PATIENT = "timeout_s = 600\nlinger_s = 60"
INSTALL = "pip install 'tailrace[ensemble]'"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The base install: none of the packages of [ensemble] can be imported."""
    for name in [*sys.modules]:
        if name.partition(".")[0] in ALL or name in ("tailrace.ensemble.page", "tailrace.report.html_page"):
            monkeypatch.delitem(sys.modules, name)
    for package in ALL:
        monkeypatch.setitem(sys.modules, package, None)
    return monkeypatch


def said_by(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main([str(word) for word in words])
    return status, *capsys.readouterr()


def test_the_extras_are_those_of_pyproject() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {extra: list(packages) for extra, packages in extras.PACKAGES.items()} == declared


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("jinja2", "report", "trace"),
        ("jinja2", "ensemble", "ensemble"),
        ("jinja2", "study", "study"),
        ("pyarrow", "trace", "trace"),
        ("netCDF4", "ensemble", "ensemble"),
        ("netCDF4", "", "netcdf"),
        ("parsl", "ensemble", "engines"),
    ],
)
def test_a_command_names_its_own_extra(package: str, command: str, extra: str) -> None:
    assert extras.install_command(package, command) == f"pip install 'tailrace[{extra}]'"


def test_all_members_results_are_there_without_the_packages(
    tmp_path: Path, without: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_ensemble(tmp_path, ["good", "exit", "good"], PATIENT)
    status, out, err = said_by(capsys, "ensemble", "check", path)
    assert status == 0
    assert err.startswith("note: members.parquet, members.nc, index.html will not be written")
    status, out, err = said_by(capsys, "ensemble", "run", path)
    assert status == 1, "a member failed; nothing else"
    assert INSTALL in err.partition("failed:")[0], "told before the first member"
    assert "2 good, 1 failed, 0 left" in out
    folder = tmp_path / "nasty-ensemble"
    assert f"table: {folder / 'members.csv'}" in out
    assert (
        f"members.parquet, members.nc, index.html not written, because pyarrow, netCDF4, jinja2 cannot be imported: {INSTALL}"
        in out
    )
    assert f"`tailrace ensemble report {path}`" in out
    assert [row["result"] for row in table_of(folder).values()] == ["0.5", "", "2.5"]
    assert not [name for name in FILES if (folder / name).exists()]
    without.undo()
    status, out, err = said_by(capsys, "ensemble", "report", path, "--json")
    assert status == 0
    assert json.loads(out)["not_written"] == {}
    assert sorted(name for name in FILES if (folder / name).exists()) == ["index.html", "members.nc", "members.parquet"]


def test_no_table_of_an_earlier_run_stays_beside_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_ensemble(tmp_path, ["good"], PATIENT)
    assert said_by(capsys, "ensemble", "run", path)[0] == 0
    with (tmp_path / "parameters.csv").open("a") as file:
        file.write("good,1.5\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, out, _ = said_by(capsys, "ensemble", "resume", path, "--json")
    assert status == 0
    answer = json.loads(out)
    assert answer["not_written"] == {"members.parquet": "pyarrow"}
    folder = tmp_path / "nasty-ensemble"
    assert not (folder / "members.parquet").exists()
    assert (folder / "members.nc").exists()
    assert answer["page"] == str(folder / "index.html")
    assert answer["fields"] is None
    assert len(table_of(folder)) == 2


SAMPLER = 'sampler = "sobol"\nmembers = 1\n[parameters.ranges]\nway = [0, 1]\nvalue = [0, 1]'
NETCDF = '[results.head]\nfile = "out.nc"\nvariable = "h"\n'
FIELDS = '[fields]\nk = { file = "k.npy", dims = ["x"], shape = [2] }\n'


@pytest.mark.parametrize(
    ("was", "is_now", "said"),
    [
        (
            'file = "parameters.csv"',
            SAMPLER,
            "sampler 'sobol' needs scipy, which cannot be imported: " + INSTALL + ", or choose sampler",
        ),
        (
            'file = "parameters.csv"',
            'file = "p.parquet"',
            "[parameters] file 'p.parquet' needs pyarrow, which cannot be imported: " + INSTALL,
        ),
        ("[limits]", NETCDF + "[limits]", "result 'head' needs netCDF4, which cannot be imported: " + INSTALL),
        ("[limits]", FIELDS + "[limits]", "[fields] needs netCDF4, which cannot be imported: " + INSTALL),
        (
            "[engine]",
            '[engine]\nname = "parsl"',
            "engine 'parsl' needs parsl, which cannot be imported: pip install 'tailrace[engines]', or",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check", "run", "resume"])
def test_what_members_cannot_run_without_is_told_before_the_first(
    tmp_path: Path, without: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], was: str, is_now: str, said: str, command: str
) -> None:
    without.setitem(sys.modules, "parsl", None)
    path = write_ensemble(tmp_path, ["good"], PATIENT)
    (tmp_path / "p.parquet").touch()
    path.write_text(path.read_text().replace(was, is_now))
    status, _, err = said_by(capsys, "ensemble", command, path)
    assert status == 2
    assert said in err
    assert not (tmp_path / "nasty-ensemble" / "members.jsonl").exists(), "nothing has run"


def test_calls_need_no_sampler(tmp_path: Path, without: pytest.MonkeyPatch) -> None:
    """An optimiser gives the points; the tables that can be written are written."""
    path = write_ensemble(tmp_path, ["good"], PATIENT)
    path.write_text(path.read_text().replace('file = "parameters.csv"', SAMPLER))
    with Ensemble(path) as ensemble:
        assert ensemble.map([{"way": "good", "value": 4.5}]) == [4.5]
    assert table_of(ensemble.folder.out)[0]["result"] == "4.5"
    with pytest.raises(EnsembleError, match="needs scipy"):
        Ensemble(path, tmp_path / "other").run()
