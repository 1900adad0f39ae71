"""Studies: the order of the runs, runs that fail, continuing after a kill, and the final report."""

from __future__ import annotations

import contextlib
import html
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import netCDF4
import pytest
from tailrace import process
from tailrace.cli.study import run_study
from tailrace.results.comparison import judge, summarize
from tailrace.results.runs import FAILED, OK, TIMED_OUT, UNVERIFIED
from tailrace.study.command import environment
from tailrace.study.folder import RESULTS, open_study
from tailrace.study.measure import Reader, stored_in
from tailrace.study.plan import cases_left, plan_cases, remaining_s
from tailrace.study.runner import check_space, places_of
from tailrace.study.spec import fingerprint, load_study, parse_study
from tailrace.study.values import StudyError, StudySpec

from tests.environment import HANGS_S, ROOT
from tests.study_files import APPLICATION, study_values, write_study

DRIVER = "import signal, sys; from pathlib import Path; from tailrace.cli.study import run_study; "
# A shell that runs the tests in the background makes them ignore SIGINT.
DRIVER += "signal.signal(signal.SIGINT, signal.default_int_handler); "
DRIVER += "sys.exit(run_study(Path(sys.argv[1]), Path(sys.argv[2])))"


def spec_of(**changes: Any) -> StudySpec:
    return parse_study(study_values(**changes), Path("small.toml"))


def results_in(out: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (out / RESULTS).read_text().splitlines()]
    return [line for line in lines if line["kind"] == "run"]


# ---- the plan ---------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_rounds_are_interleaved_in_an_order_drawn_for_each() -> None:
    """Compared layouts are neighbours, and none always follows the same one."""
    spec = spec_of(matrix={"ranks": [1, 2]}, repetitions=12, warm_up=0)
    cases = plan_cases(spec)
    assert cases == plan_cases(spec)
    assert [case.repetition for case in cases] == [round_ for round_ in range(1, 13) for _ in range(6)]
    for first in range(0, len(cases), 3):
        assert len({case.group for case in cases[first : first + 3]}) == 1
        assert {case.layout.name for case in cases[first : first + 3]} == {"native", "single", "fpp"}
    before = defaultdict(set)
    for earlier, later in itertools.pairwise(cases):
        before[later.setting].add(earlier.setting)
    assert all(len(settings) > 2 for settings in before.values())


@pytest.mark.fast
def test_the_plan_holds_every_point_of_the_matrix_in_every_round() -> None:
    matrix = {"ranks": [1, 2, 4], "targets": ["", "other"], "parameters": {"sweeps": [1, 2]}}
    spec = spec_of(matrix=matrix, repetitions=4, warm_up=2)
    cases = plan_cases(spec)
    assert len(cases) == 3 * 3 * 2 * 2 * (4 + 2)
    assert len({case.key for case in cases}) == len(cases)
    rounds = Counter((case.setting, case.warm_up) for case in cases)
    assert set(rounds.values()) == {4, 2}
    assert all(count == (2 if warm_up else 4) for (_, warm_up), count in rounds.items())


@pytest.mark.fast
def test_more_repetitions_only_add_cases_at_the_end() -> None:
    short, long = plan_cases(spec_of(repetitions=2)), plan_cases(spec_of(repetitions=5))
    assert long[: len(short)] == short
    assert fingerprint(spec_of(repetitions=2)) == fingerprint(spec_of(repetitions=5))
    assert fingerprint(spec_of(steps=2)) != fingerprint(spec_of(steps=3))


@pytest.mark.fast
def test_what_is_left_and_how_long_it_takes() -> None:
    cases = plan_cases(spec_of(warm_up=0, repetitions=2))
    left = cases_left(cases, {cases[0].key, cases[3].key})
    assert left == [cases[1], cases[2], cases[4], cases[5]]
    assert remaining_s(left, {}) is None
    spent_s = {cases[0].setting.key: [2.0], cases[1].setting.key: [4.0, 6.0]}
    expected_s = {cases[0].setting: 2.0, cases[1].setting: 5.0, cases[2].setting: 4.0}  # the last has not run: the mean of all runs
    assert remaining_s(left, spent_s) == pytest.approx(sum(expected_s[case.setting] for case in left))


# ---- study files --------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"repetitons": 3}, ["unknown key `repetitons`", "did you mean `repetitions`"]),
        ({"repetitions": 0}, ["repetitions = 0", "at least 1"]),
        ({"repetitions": "three"}, ["repetitions = 'three'", "a whole number"]),
        ({"compare": "speed"}, ["compare = 'speed'", "return, durable"]),
        ({"matrix": {"ranks": [2, 2]}}, ["[matrix]: ranks = [2, 2]", "different"]),
        ({"matrix": {"ranks": [0]}}, ["ranks = [0]", "at least 1"]),
        ({"matrix": {"targets": ["", ""]}}, ["targets", "twice"]),
        ({"matrix": {"parameters": {"sweeps": [3, 3]}}}, ["sweeps = [3, 3]", "a value twice"]),
        ({"parameters": {"sweeps": 3}, "matrix": {"parameters": {"sweeps": [3, 4]}}}, ["sweeps", "[parameters] as well"]),
        ({"matrix": {"layouts": [{"layout": "fpp"}]}}, ["layouts", "`name`"]),
        ({"matrix": {"layouts": ["fpp", "fpp"]}}, ["two layouts have the same name"]),
        ({"parameters": {"sweep": 3}}, ["[parameters]: unknown key `sweep`", "did you mean `sweeps`"]),
        ({"matrix": {"parameters": {"sweeps": 3}}}, ["sweeps = 3", "a list of at least one value"]),
        ({"kernel": "olam"}, ["either kernel", "[application]"]),
        ({"application": {"outputs": ["native"]}}, ["single", "no output 'tailrace'"]),
        ({"application": {"launcher": "srun"}}, ["launcher = 'srun'", "mpirun, none"]),
    ],
)
def test_errors_of_study_files_name_the_key_and_the_remedy(changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(StudyError) as caught:
        spec_of(**changes)
    assert "small.toml" in str(caught.value)
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.fast
def test_layout_tables_become_configuration() -> None:
    table = {"name": "hds, 8 steps", "layout": "hds", "steps": 8}
    spec = spec_of(matrix={"layouts": ["native", "fpp", table]})
    assert [layout.configuration for layout in spec.matrix.layouts] == [
        "",
        '[stream.default]\nlayout = "fpp"\n',
        '[stream.default]\nlayout = "hds"\nsteps = 8\n',
    ]


@pytest.mark.fast
def test_a_layout_that_the_library_refuses_is_found_before_the_first_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_study(tmp_path, matrix={"layouts": ["native", "ffp"]})
    assert run_study(file, tmp_path / "out") == 2
    assert "layout ffp" in capsys.readouterr().err
    assert not (tmp_path / "out" / RESULTS).exists()


@pytest.mark.fast
def test_the_callers_own_settings_do_not_reach_the_runs(tmp_path: Path) -> None:
    study = open_study(spec_of(), tmp_path)
    places = places_of(study, study.cases[0], tmp_path, "")
    values = environment({"TAILRACE_LAYOUT": "shared", "PATH": "/bin"}, places, as_root=False)
    assert "TAILRACE_LAYOUT" not in values
    assert values["TAILRACE_CONFIG"] == places.config
    assert values["PATH"] == "/bin"


# ---- studies that run ---------------------------------------------------------------------------------------------------------


def test_a_study_measures_verifies_and_removes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run_study(write_study(tmp_path), out, as_json=True) == 0
    runs = results_in(out)
    assert [run["status"] for run in runs] == [OK] * 9  # a warm-up and two repetitions of three layouts
    for run in runs:
        native = run["layout"] == "native"
        payload_bytes = 2 * 2 * 4096 * 8
        assert run["files"] == (4 if native else 1)
        assert run["bytes"] == payload_bytes if native else run["bytes"] > payload_bytes
        write_s = next(phase["exec_s"] for phase in run["phases"] if phase["name"] == "9write")
        assert run["return_s"] == pytest.approx(write_s)
        assert 0 < run["return_s"] < run["wall_s"]
        assert run["fsync_s"] > 0
        assert (run["open_s"] is None) == native
        assert run["user_s"] > 0
    assert all(("was not checked" in run["note"]) == (run["layout"] == "native") for run in runs)
    assert not (out / "runs").exists()
    answer = json.loads(capsys.readouterr().out)
    assert {setting["layout"]: setting["runs"] for setting in answer["settings"]} == {"native": 2, "single": 2, "fpp": 2}
    assert (out / "layouts" / "fpp.toml").read_text() == '[stream.default]\nlayout = "fpp"\n'


def test_kept_outputs_stay_where_the_target_is(tmp_path: Path) -> None:
    file = write_study(tmp_path, keep=True, repetitions=1, warm_up=0, matrix={"targets": ["elsewhere"], "layouts": ["native"]})
    assert run_study(file, tmp_path / "out") == 0
    left = stored_in(tmp_path / "elsewhere" / "tailrace-study-small" / "000001")
    assert (left.files, left.bytes) == (4, 4 * 4096 * 8)


@pytest.mark.parametrize(
    ("behaviour", "status", "message"),
    [
        ("fail", FAILED, "asked to fail"),
        ("wrong", UNVERIFIED, "index 2048"),
        ("silent", FAILED, "the run's record"),
    ],
)
def test_bad_runs_are_recorded_shown_and_the_study_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], behaviour: str, status: str, message: str
) -> None:
    file = write_study(tmp_path, repetitions=1, warm_up=0, parameters={"behaviour": f"{behaviour}:fpp"})
    assert run_study(file, tmp_path / "out") == 1
    runs = {run["layout"]: run for run in results_in(tmp_path / "out")}
    assert {name: run["status"] for name, run in runs.items()} == {"native": OK, "single": OK, "fpp": status}
    assert message in runs["fpp"]["note"] + runs["fpp"]["stderr_tail"]
    shown = capsys.readouterr()
    assert status in shown.out
    assert message in shown.out
    page = html.unescape((tmp_path / "out" / "report.html").read_text())
    assert "Failed runs" in page
    assert message in page
    groups = summarize(open_study(load_study(file), tmp_path / "out").measured)
    fpp = groups[0].of("fpp")
    assert fpp is not None
    assert (fpp.runs, fpp.failed) == ((), 1)
    verdict = judge(groups, "return")
    assert verdict is not None
    assert verdict.winner.name in ("native", "single")


def test_a_run_over_its_time_is_ended_with_all_it_started(tmp_path: Path) -> None:
    file = write_study(tmp_path, repetitions=1, warm_up=0, timeout_s=5, parameters={"behaviour": "hang:single"})
    start = time.monotonic()
    assert run_study(file, tmp_path / "out") == 1
    assert time.monotonic() - start < HANGS_S
    assert {run["layout"]: run["status"] for run in results_in(tmp_path / "out")} == {"native": OK, "single": TIMED_OUT, "fpp": OK}


@pytest.mark.fast
def test_what_a_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! > {tmp_path}/pid; "
    for end, expected in (("exit 0", False), ("wait", True)):
        command = ["sh", "-c", script + end]
        finished = process.run_program(command, os.environ, tmp_path, tmp_path / "out", tmp_path / "err", timeout_s=1)
        assert finished.timed_out is expected
        assert _ends(int((tmp_path / "pid").read_text()))


def _ends(pid: int, within_s: float = 10) -> bool:
    """Whether a process is gone, or dead and only waits to be collected."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_verifier_that_checked_nothing_is_not_believed(tmp_path: Path) -> None:
    answer = json.dumps({"ok": True, "bytes_checked": 0}).replace("{", "{{").replace("}", "}}")
    for verify in (["echo", answer], ["true"], ["/no/such/verifier"]):
        out = tmp_path / verify[0].replace("/", "_")
        matrix = {"layouts": ["native"]}
        file = write_study(tmp_path, repetitions=1, warm_up=0, matrix=matrix, application={"verify": verify})
        assert run_study(file, out) == 1
        assert [run["status"] for run in results_in(out)] == [UNVERIFIED]


def test_the_reader_answers_for_files_that_it_cannot_read_and_goes_on(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.nc", tmp_path / "bad.nc"
    with netCDF4.Dataset(good, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("T", "f4", ("x",))[:] = [1, 2, 3]
    bad.write_bytes(b"not a file of this kind")
    with Reader() as reader:
        seconds, note = reader.time_to_read([good], timeout_s=20)
        assert (seconds is not None and 0 < seconds < 20, note) == (True, "")
        seconds, note = reader.time_to_read([bad], timeout_s=20)
        assert seconds is None
        assert "not readable by xarray" in note
        os.mkfifo(tmp_path / "never.nc")  # opening it waits for ever
        seconds, note = reader.time_to_read([tmp_path / "never.nc"], timeout_s=0.3)
        assert (seconds, note) == (None, "not readable by xarray: not finished within 0.3 s")
        assert reader.time_to_read([good, good], timeout_s=20)[0] is not None


@pytest.mark.fast
def test_too_little_space_is_said_before_the_runs(tmp_path: Path) -> None:
    study = open_study(spec_of(min_free_bytes=shutil.disk_usage(tmp_path).total * 2), tmp_path / "out")
    with pytest.raises(StudyError, match=r"GB free .* needs .*min_free_bytes"):
        check_space(study, study.cases[0])


@pytest.mark.parametrize("launcher", ["mpirun.openmpi", "mpirun.mpich"])
def test_mpirun_is_that_of_any_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: Any, launcher: str) -> None:
    """With more ranks than cores; only the first of them runs the application."""
    needs(launcher)
    (tmp_path / "bin").mkdir()
    mpirun = tmp_path / "bin" / "mpirun"
    mpirun.write_text(f'#!/bin/sh\nexec {shutil.which(launcher)} "$@"\n')
    mpirun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for name in ("OMPI_MCA_rmaps_base_oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.delenv(name, raising=False)
    first = 'test "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" != 0 || exec "$@"'
    command = ["sh", "-c", first, "sh", *APPLICATION["command"]]
    file = write_study(
        tmp_path, matrix={"ranks": [(os.cpu_count() or 1) + 1]}, application={"launcher": "mpirun", "command": command}
    )
    assert run_study(file, tmp_path / "out") == 0
    assert {run["status"] for run in results_in(tmp_path / "out")} == {OK}


# ---- going on -----------------------------------------------------------------------------------------------------------------


def driver(file: Path, out: Path) -> list[str]:
    return [sys.executable, "-c", DRIVER, str(file), str(out)]


def driver_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])}


def test_a_killed_study_goes_on_without_repeating_or_losing_a_run(tmp_path: Path) -> None:
    command = [*APPLICATION["command"], f"log={tmp_path}/log"]
    file = write_study(tmp_path, repetitions=4, application={"command": command})
    out, log = tmp_path / "out", tmp_path / "log"
    with contextlib.ExitStack() as stack:
        killed = stack.enter_context(subprocess.Popen(driver(file, out), env=driver_environment(), stderr=subprocess.PIPE))
        end = time.monotonic() + 120
        while not (log.exists() and len(log.read_text().splitlines()) >= 6):
            assert killed.poll() is None, killed.stderr.read() if killed.stderr else ""
            assert time.monotonic() < end
            time.sleep(0.002)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    for line in log.read_text().splitlines():
        assert _ends(int(line.split()[0])), "a run of the killed study still writes"
    before = results_in(out)
    assert 5 <= len(before) < 15
    with (out / RESULTS).open("a") as journal:
        journal.write('{"kind": "run", "torn')  # as if killed while writing the line
    started_before = len(log.read_text().splitlines())
    assert run_study(file, out) == 0
    after = results_in(out)
    assert after[: len(before)] == before
    assert [run["key"] for run in after] == [case.key for case in plan_cases(load_study(file))]
    # What was left, and one warm-up when none is left to be made.
    extra = 0 if len(before) < 3 else 1
    assert len(log.read_text().splitlines()) - started_before == 15 - len(before) + extra
    assert run_study(file, out) == 0
    assert results_in(out) == after


def test_a_changed_study_is_refused_and_a_longer_one_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    matrix = {"layouts": ["native"]}
    assert run_study(write_study(tmp_path, repetitions=1, matrix=matrix), out) == 0
    assert run_study(write_study(tmp_path, repetitions=1, matrix=matrix, steps=3), out) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "another version of this study" in said
    assert "--out" in said
    assert len(results_in(out)) == 2
    assert run_study(write_study(tmp_path, repetitions=2, matrix=matrix), out) == 0
    assert len(results_in(out)) == 3


def test_an_interrupted_study_ends_its_run_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [*APPLICATION["command"], f"log={tmp_path}/log"]
    first, second, *_ = (case.layout.name for case in plan_cases(spec_of(warm_up=0)))
    file = write_study(tmp_path, warm_up=0, parameters={"behaviour": f"hang:{second}"}, application={"command": command})
    with subprocess.Popen(driver(file, tmp_path / "out"), env=driver_environment(), stderr=subprocess.PIPE, text=True) as study:
        end = time.monotonic() + 60
        while not ((tmp_path / "log").exists() and len((tmp_path / "log").read_text().splitlines()) == 2):
            assert time.monotonic() < end
            time.sleep(0.01)
        study.send_signal(signal.SIGINT)
        _, said = study.communicate(timeout=HANGS_S)
    assert study.returncode == 130
    assert "Continue with: tailrace study" in said.replace("\n", " ")
    assert _ends(int((tmp_path / "log").read_text().splitlines()[1].split()[0]))
    assert [run["layout"] for run in results_in(tmp_path / "out")] == [first]


def test_a_dry_run_shows_the_order_and_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_study(tmp_path)
    assert run_study(file, tmp_path / "out", as_json=True, dry_run=True) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["layout"] for run in runs] == [case.layout.name for case in plan_cases(load_study(file))]
    assert [f"layout={run['layout']}" in run["command"] for run in runs] == [run["layout"] != "native" for run in runs]
    assert not (tmp_path / "out").exists()
