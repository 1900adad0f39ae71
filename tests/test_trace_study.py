"""Studies whose runs are recorded: phases, and times made of them, come from the logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from tailrace.cli.study import run_study
from tailrace.results.runs import FAILED, OK
from tailrace.study.folder import RESULTS
from tailrace.study.spec import load_study
from tailrace.study.values import StudyError
from tailrace.trace.log import read_run
from tailrace.trace.model import calls_of
from tailrace.trace.phases import phases_of

from tests.study_files import APPLICATION, write_study

STUDY: dict[str, Any] = {
    "name": "recorded",
    "kernel": "olam",
    "repetitions": 1,
    "warm_up": 0,
    "steps": 3,
    "timeout_s": 100,
    "min_free_bytes": 1,
    "trace": True,
    "matrix": {"ranks": [3], "layouts": ["native", "fpp", {"name": "later", "layout": "shared", "overlap": 2}]},
    "parameters": {"input_mb": 1, "sweeps": 20},
}
# Phases of the kernel's own files that have no collective but the barrier at their end.
PLAIN = {"1read", "2mesh", "8exec", "6plot", "9write", "9close"}


def runs_of(out: Path) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, (out / RESULTS).read_text().splitlines()) if line["kind"] == "run"]


def test_phases_of_recorded_runs_are_those_that_the_kernel_measures_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "recorded.toml", tmp_path / "out"
    file.write_text(tomli_w.dumps(STUDY))
    assert run_study(file, out) == 0
    said = capsys.readouterr().out
    runs = {run["layout"]: run for run in runs_of(out)}
    assert [run["status"] for run in runs.values()] == [OK] * 3
    assert f"tailrace trace phases {out / runs['native']['trace']}" in said, "the first in the study file, whichever ran first"
    for run in runs.values():
        told = json.loads((out / "records" / f"{Path(run['trace']).name}.json").read_text())["phases"]
        phases = {phase["name"]: phase for phase in run["phases"]}
        assert phases.keys() == told.keys(), run["layout"]
        output = [phases[name] for name in ("4open", "6plot", "7gather", "9write", "9close") if name in phases]
        assert run["return_s"] == pytest.approx(sum(phase["exec_s"] + phase["sync_s"] for phase in output))
        for name in PLAIN if run["layout"] == "native" else ():
            for kind in ("exec_s", "sync_s"):
                # Two clocks are read one after the other, and another process may run in between.
                assert phases[name][kind] == pytest.approx(told[name][kind], rel=0.1, abs=0.03), (name, kind)
        logs, damaged = read_run(out / run["trace"])
        assert not damaged
        written = sum(phase.written_bytes for phase in phases_of(logs).phases)
        if run["layout"] == "native":
            assert written == run["bytes"], "what the verifier finds on storage has been seen being written"
        else:  # alignment leaves holes; some metadata is written more than once
            assert 0.9 * run["bytes"] < written < 1.2 * run["bytes"], run["layout"]


def test_a_program_that_names_no_phases_fails_with_the_existing_ones(tmp_path: Path) -> None:
    file = write_study(tmp_path, trace=True, repetitions=1, warm_up=0, matrix={"layouts": ["native"]})
    assert run_study(file, tmp_path / "out") == 1
    (run,) = runs_of(tmp_path / "out")
    assert run["status"] == FAILED
    assert "no phase '9write'; it has no phases; set `output_phases`" in run["note"]


def test_without_output_phases_the_log_has_the_time_in_calls(tmp_path: Path) -> None:
    application = {**APPLICATION, "output_phases": []}
    file = write_study(tmp_path, trace=True, repetitions=1, warm_up=0, matrix={"layouts": ["native"]}, application=application)
    assert run_study(file, tmp_path / "out") == 0
    (run,) = runs_of(tmp_path / "out")
    assert run["status"] == OK
    assert 0 < run["return_s"] < run["wall_s"]
    activity = calls_of(tmp_path / "out" / run["trace"])
    chosen = activity.is_own & activity.of_user_data
    assert run["return_s"] <= activity.seconds[chosen].sum() + 1e-9


def test_without_a_log_the_output_phases_must_be_named(tmp_path: Path) -> None:
    file = write_study(tmp_path, application={**APPLICATION, "output_phases": []})
    with pytest.raises(StudyError, match="output_phases"):
        load_study(file)
