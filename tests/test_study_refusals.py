"""Studies with wrong input: files of other programs, other machines, impossible values, odd records."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tailrace
from tailrace.cli.demo import forget_finished
from tailrace.cli.study import run_study
from tailrace.launch import local, mpi
from tailrace.machine import facts
from tailrace.process import Finished
from tailrace.results.comparison import judge, summarize
from tailrace.results.runs import FAILED, OK, UNVERIFIED, RunResult, Times
from tailrace.study import folder, run
from tailrace.study.command import fill, names_of
from tailrace.study.folder import FIRST_BYTES, RESULTS, ForeignFileError, Study, alone_in, begin_journal, open_study
from tailrace.study.runner import check_layouts, places_of, prepare
from tailrace.study.spec import load_study, parse_study
from tailrace.study.values import GIVEN_NAMES, StudyError, StudySpec

from tests.study_files import APPLICATION, study_values, write_study

pytestmark = pytest.mark.fast


def spec_of(**changes: Any) -> StudySpec:
    return parse_study(study_values(**changes), Path("small.toml"))


def begun(out: Path, spec: StudySpec) -> Study:
    """A study whose journal has its first line."""
    study = Study(spec, out)
    begin_journal(study)
    return study


# ---- the folder ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b'{"loss": 0.1}\n', b"step,loss\n", b'{"kind":"run"}\n', b"\xff\xfe"])
def test_files_of_others_are_not_taken_for_a_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    file, journal = write_study(tmp_path), tmp_path / RESULTS
    journal.write_bytes(content)
    assert run_study(file, tmp_path) == 2
    assert RESULTS in capsys.readouterr().err
    with pytest.raises(ForeignFileError, match="--out"):
        forget_finished(file, tmp_path)
    assert journal.read_bytes() == content


def test_a_journal_of_another_kind(tmp_path: Path) -> None:
    tailrace.journal_append(tmp_path / RESULTS, {"step": 1})
    with pytest.raises(ForeignFileError, match=RESULTS):
        open_study(spec_of(), tmp_path)


@pytest.mark.parametrize("length", [0, 3, len(FIRST_BYTES), len(FIRST_BYTES) + 9])
def test_a_journal_that_a_kill_has_cut_is_begun_anew(tmp_path: Path, length: int) -> None:
    whole = begun(tmp_path, spec_of()).journal
    whole.write_bytes(whole.read_bytes()[:length])
    assert open_study(spec_of(), tmp_path).head == {}


def test_the_demo_removes_no_other_study(tmp_path: Path) -> None:
    journal = begun(tmp_path, spec_of(name="precious")).journal
    with pytest.raises(ForeignFileError, match="study 'precious', which would be lost"):
        forget_finished(write_study(tmp_path), tmp_path)
    assert journal.is_file()


def test_outputs_of_another_study_of_that_name_are_not_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_study(tmp_path, keep=True, repetitions=1, warm_up=0, matrix={"targets": ["far"], "layouts": ["native"]})
    assert run_study(file, tmp_path / "one") == 0
    kept = sorted((tmp_path / "far").rglob("*.bin"))
    assert kept
    assert run_study(file, tmp_path / "two") == 2
    assert f"outputs of the study in {tmp_path / 'one'}" in capsys.readouterr().err.replace("\n", " ")
    assert sorted((tmp_path / "far").rglob("*.bin")) == kept


@pytest.mark.parametrize("change", ["processor", "MPI", "tailrace"])
def test_other_versions_do_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    spec = spec_of(repetitions=1, warm_up=0)
    study = begun(tmp_path, spec)
    described = facts.describe_machine([])
    (described if change == "processor" else described["versions"])[change] = "another"
    monkeypatch.setattr(folder, "describe_machine", lambda _: described)
    with pytest.raises(StudyError, match=f"{change}: .*now another.*--out"):
        open_study(spec, tmp_path)
    for case in study.cases:
        tailrace.journal_append(study.journal, RunResult(case, OK, "", Times(wall_s=1.0)).to_json())
    assert open_study(spec, tmp_path).left == []  # only looked at


def test_a_layout_whose_warm_up_failed_cannot_win(tmp_path: Path) -> None:
    study = Study(spec_of(repetitions=3, warm_up=1), tmp_path)
    for case in study.cases:
        fast = case.layout.name == "fpp"
        status = UNVERIFIED if fast and case.warm_up else OK
        study.results.append(RunResult(case, status, "", Times(wall_s=1.0, return_s=0.1 if fast else 1.0)))
    groups = summarize(study.measured)
    fpp = groups[0].of("fpp")
    assert fpp is not None
    assert (len(fpp.runs), fpp.failed) == (3, 1)
    verdict = judge(groups, "return")
    assert verdict is not None
    assert verdict.winner.name != "fpp"


# ---- study files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timeout_s = inf", "timeout_s = inf: must be at least 0.1, and at most"),
        ("timeout_s = nan", "timeout_s = nan: must be"),
        ("timeout_s = 1e300", "timeout_s = 1e\\+300: must be"),
        ("[application]\nverify = []", r"verify = \[\]: must name a program"),
        ("[application]\ncommand = []", r"command = \[\]: must name a program"),
    ],
)
def test_values_that_nothing_can_be_done_with(text: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        spec_of(**tomllib.loads(text))


@pytest.mark.parametrize("value", ["2026-01-02", "10:30:00", "inf"])
def test_odd_values_of_layouts_are_the_librarys_to_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    file = write_study(tmp_path, matrix={"layouts": ["native", {"name": "odd", "layout": "fpp", "steps": 77}]})
    file.write_text(file.read_text().replace("77", value))
    assert f"steps = {value}\n" in load_study(file).matrix.layouts[1].configuration
    assert run_study(file, tmp_path / "out", as_json=True) == 2
    assert "layout odd" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_parameters_have_names_of_their_own() -> None:
    with pytest.raises(StudyError, match=r"'steps': \{steps\} has a meaning in every study"):
        spec_of(application={"parameters": {"steps": 10}})


def test_the_names_that_commands_have_are_all_taken(tmp_path: Path) -> None:
    study = Study(spec_of(), tmp_path)
    named = names_of(study.spec, study.cases[0], places_of(study, study.cases[0], tmp_path, ""))
    assert set(named) - {name for name, _ in study.spec.application.parameters} == set(GIVEN_NAMES)


@pytest.mark.parametrize(("varied", "message"), [({"sweeps": [1, 2]}, "sweeps is not"), ({"behaviour": ["", "fail:fpp"]}, "")])
def test_what_is_prepared_once_cannot_vary(tmp_path: Path, varied: dict[str, Any], message: str) -> None:
    application = {"prepare": ["echo", "{sweeps}"], "command": [*APPLICATION["command"], "{input}"]}
    study = Study(spec_of(application=application, matrix={"parameters": varied}), tmp_path)
    if not message:
        assert prepare(study, tmp_path) == "3"
        return
    with pytest.raises(StudyError, match=message):
        prepare(study, tmp_path)


# ---- the machine --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs\n", "mpirun (Open MPI) 4.1.4"),
        ("HYDRA build details:\n    Version:      4.0.2\n", "HYDRA 4.0.2"),
        ("", "not found"),
    ],
)
def test_the_version_of_any_mpi(monkeypatch: pytest.MonkeyPatch, said: str, version: str) -> None:
    mpi.version_text.cache_clear()
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, said, ""))
    assert local.mpi_version() == version
    mpi.version_text.cache_clear()


# ---- runs ---------------------------------------------------------------------------------------------------------------------


def result_of(out: Path, monkeypatch: pytest.MonkeyPatch, record: Any, **changes: Any) -> RunResult:
    """The result of a run of a layout that leaves only this record."""
    study = Study(spec_of(matrix={"layouts": [{"name": "later", "layout": "fpp", "overlap": 2}]}, **changes), out)
    places = places_of(study, study.cases[0], out, "")

    def leave_record(*_: Any) -> Finished:
        Path(places.run_record).write_text(json.dumps(record))
        return Finished(0, 1.0, 0.0, 0.0, timed_out=False)

    monkeypatch.setattr(run, "run_program", leave_record)
    monkeypatch.setattr(run, "_time_to_read", lambda *_: (None, ""))
    monkeypatch.setattr(run, "_verified", lambda result, *_: result)
    return run.run_case(study.spec, study.cases[0], places, None)  # type: ignore[arg-type]


PHASES = {"9write": {"exec_s": 1.0, "sync_s": 0.5, "slowest_s": 1.5}}


NOT_A_TIME = {"9write": {"exec_s": float("nan"), "sync_s": 0.5, "slowest_s": 1.5}}
ODD_RECORDS = [
    {"phases": []},
    {"phases": {"9write": 3}},
    [],
    7,
    {"phases": PHASES, "streams": ["history"]},
    {"phases": NOT_A_TIME},
]


@pytest.mark.parametrize("record", ODD_RECORDS)
def test_odd_records_are_failed_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: Any) -> None:
    result = result_of(tmp_path, monkeypatch, record)
    assert result.status == FAILED
    assert "the run's record" in result.note


@pytest.mark.parametrize(
    ("origins", "message"),
    [
        ({}, "without layout of .*TAILRACE_CONFIG has not reached"),
        ({"layout": ""}, "without overlap of .*TAILRACE_CONFIG has not reached"),
        ({"layout": "", "overlap": "options of tailrace_open"}, "without overlap of .*: it was '2' by options of tailrace_open"),
        ({"layout": "TAILRACE_LAYOUT", "overlap": ""}, "without layout of .*: it was '2' by TAILRACE_LAYOUT"),
        ({"layout": "", "overlap": ""}, "^$"),
    ],
)
def test_a_run_that_has_not_seen_its_layout_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origins: dict[str, str], message: str
) -> None:
    config = str(tmp_path / "layouts" / "later.toml")
    requested = {key: {"value": "2", "origin": origin or f"{config} [stream.default]"} for key, origin in origins.items()}
    streams = {"history": {"requested": requested, "effective": {}}}
    result = result_of(tmp_path, monkeypatch, {"phases": PHASES, "streams": streams})
    assert result.status == (OK if message == "^$" else FAILED)
    assert re.search(message, result.note)


def test_launchers_of_open_mpi_hand_the_configuration_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/nowhere/{name}.openmpi")
    result = result_of(tmp_path, monkeypatch, {"phases": PHASES}, application={"launcher": "mpirun"})
    assert result.command.startswith("mpirun -x TAILRACE_CONFIG -n 1 ")
    result = result_of(tmp_path, monkeypatch, {"phases": PHASES})
    assert "TAILRACE_CONFIG" not in result.command


# ---- two at once, templates ------------------------------------------------------------------------------------------------------


def test_two_studies_in_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_study(tmp_path)
    with alone_in(tmp_path / "out"):
        assert run_study(file, tmp_path / "out") == 2
    assert "a study is running in this folder" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["${x", "{dir.x}", "{dir[x]}", "{}"])
def test_templates_that_cannot_be_filled(word: str) -> None:
    with pytest.raises(StudyError, match="command"):
        fill([word], {"dir": "here"}, "application: command")


def test_a_layout_key_that_is_no_key() -> None:
    spec = spec_of(matrix={"layouts": [{"name": "x", "lay out": "fpp"}]})
    with pytest.raises(StudyError, match="layout x"):
        check_layouts(spec)


@pytest.mark.parametrize("key", ["repetitions", "warm_up"])
def test_more_runs_than_can_be_planned(tmp_path: Path, key: str) -> None:
    file = write_study(tmp_path, **{key: 10**15})
    with pytest.raises(StudyError, match="at most 1000000 are planned"):
        load_study(file)
