"""Study records that were written before Python's packages were divided into layers: read, reported, continued."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tailrace
from tailrace.cli.study import results_json
from tailrace.report.page import page_values
from tailrace.results.runs import FAILED, RunResult
from tailrace.study import folder
from tailrace.study.folder import RESULTS, OtherVersionError, Study, add_result, begin_journal, open_study
from tailrace.study.spec import fingerprint, load_study

from tests.environment import ROOT

pytestmark = pytest.mark.fast
RECORD = ROOT / "tests" / "records" / "study"
FILE = RECORD / "small.toml"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    shutil.copy(RECORD / RESULTS, tmp_path)
    return tmp_path


def recorded(out: Path) -> Study:
    return open_study(load_study(FILE), out)


def test_an_old_record_is_read_and_gives_the_same_results(out: Path) -> None:
    study = recorded(out)
    assert (len(study.results), study.left) == (48, [])
    assert {result.case.layout.name for result in study.results if result.status == FAILED} == {"hds"}
    found = results_json(study, out / "report.html")
    expected = json.loads((RECORD / "expected.json").read_text())
    assert {key: found[key] for key in expected} == expected


def test_an_old_record_has_a_page(out: Path) -> None:
    values = page_values(recorded(out).for_report())
    assert values["headline"].startswith("'native' wins: time to return. The nearest, 'fpp, all steps', is 0.26× as fast")
    assert len(values["tables"]) == 2
    assert [entry[:2] for entry in values["effective"]] == [("single", "history"), ("fpp, all steps", "history")]


def test_results_are_written_as_they_were() -> None:
    lines, _ = tailrace.journal_read(RECORD / RESULTS)
    runs = [{key: value for key, value in line.items() if key != "sum"} for line in lines if line["kind"] == "run"]
    assert [RunResult.from_json(run).to_json() for run in runs] == runs


def test_keys_that_are_not_known_are_passed_over(out: Path) -> None:
    lines, _ = tailrace.journal_read(RECORD / RESULTS)
    run = {**lines[1], "power_joule": 12.5}
    assert RunResult.from_json(run) == RunResult.from_json(lines[1])


def test_an_old_record_that_is_not_finished_is_continued(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = out / RESULTS
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-8]))
    machine = json.loads(lines[0])["machine"]
    other = {**machine, "processor": "another"}
    monkeypatch.setattr(folder, "describe_machine", lambda targets: other)
    with pytest.raises(OtherVersionError, match=r"processor: .*, now another"):
        recorded(out)
    monkeypatch.setattr(folder, "describe_machine", lambda targets: machine)
    study = recorded(out)
    assert len(study.left) == 6  # of the last eight, two are of a layout that failed in its whole warm-up round
    begin_journal(study)
    for line in lines[-8:]:
        add_result(study, RunResult.from_json(json.loads(line)))
    assert recorded(out).left == []
    assert journal.read_text().splitlines()[0] == lines[0].strip()


@pytest.mark.parametrize(("name", "expected"), [("olam", "67287319dfe01c5d"), ("olam-demo", "0a8008cecc3f3a95")])
def test_fingerprints_stay_as_they_are(name: str, expected: str) -> None:
    assert fingerprint(load_study(ROOT / "studies" / f"{name}.toml")) == expected
