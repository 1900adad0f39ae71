"""Names that become a part of a path: one that would leave its folder is refused, with file, value and remedy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tailrace.cli.study import run_study
from tailrace.ensemble import Ensemble, EnsembleError
from tailrace.ensemble.folder import JOURNAL, Folder
from tailrace.file_name import problem_of_inner_path, problem_of_name
from tailrace.journal import JournalWriter
from tailrace.place.rules import rules_of
from tailrace.study.spec import load_study
from tailrace.study.values import StudyError
from tailrace.toml_table import TomlError

from tests.ensembles import write_ensemble
from tests.study_files import write_study

pytestmark = pytest.mark.fast

REFUSED = ["../../../up", "..", ".", "", "a/b", "/tmp/up", "a\nb", "a\x1b[2J", "a\x9b2J", "a\0", "n" * 201, "\xe9" * 101, ".hidden"]
TAKEN = ["a", "a..", "fpp, all steps", "hds 8", "Größe", "日本", "n" * 200, "-", "a b", "*"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    assert problem_of_name(name)


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_that_stays_in_its_folder_is_taken(name: str, tmp_path: Path) -> None:
    assert problem_of_name(name) is None
    (tmp_path / f"tailrace-study-{name}").mkdir()
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("out/a.nc", None),
        (".config/a", None),
        ("a//b/./c", None),
        ("../a", "another folder"),
        ("a/../../b", "another folder"),
        ("/a", "begins with '/'"),
        ("", "names nothing"),
        ("./", "names nothing"),
        ("a/b\n", "control character"),
    ],
)
def test_paths_within_a_folder(path: str, said: str | None) -> None:
    found = problem_of_inner_path(path)
    assert (found is None) if said is None else (found is not None and said in found)


def study_of(folder: Path, name: str) -> object:
    return load_study(write_study(folder, name=name))


def layout_of(folder: Path, name: str) -> object:
    return load_study(write_study(folder, matrix={"layouts": ["native", {"name": name, "layout": "fpp"}]}))


def preset_of(folder: Path, name: str) -> object:
    return load_study(write_study(folder, matrix={"layouts": ["native", name]}))


def streams_of(folder: Path, name: str) -> object:
    return load_study(write_study(folder, application={"streams": ["history", name]}))


def kernel_of(folder: Path, name: str) -> object:
    path = write_study(folder)
    lines = path.read_text().split("[application]")[0]
    path.write_text(f"kernel = '{name}'\n{lines}")
    return load_study(path)


def ensemble_of(folder: Path, name: str) -> object:
    path = write_ensemble(folder, ["good"])
    path.write_text(path.read_text().replace('name = "nasty"', f"name = '{name}'"))
    return Ensemble(path)


def tree_of(folder: Path, name: str) -> object:
    rule = {"files": "d/{a}.{n:number}", "to": f"t{{n}}/{name}"}
    return rules_of({"place": {"tree": [rule]}}, str(folder / "rules.toml"), folder)


PLACES: list[Callable[[Path, str], object]] = [
    study_of,
    layout_of,
    preset_of,
    streams_of,
    kernel_of,
    ensemble_of,
    tree_of,
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["..", "../../../up", "a/../../../up"])
def test_every_place_names_the_file_and_the_value(place: Callable[[Path, str], object], name: str, tmp_path: Path) -> None:
    with pytest.raises((StudyError, EnsembleError, TomlError)) as refused:
        place(tmp_path, name)
    assert str(refused.value).startswith(str(tmp_path))
    assert name in str(refused.value)
    assert ": use " in str(refused.value) or ": write " in str(refused.value)


def test_a_study_writes_nothing_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    within = tmp_path / "a" / "b" / "c"
    within.mkdir(parents=True)
    file = write_study(within, name="../../../up", matrix={"targets": ["far"]})
    before = sorted(tmp_path.rglob("*"))
    assert run_study(file, within / "out") == 2
    assert "name = '../../../up': " in capsys.readouterr().err.replace("\n", " ")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_names_the_ensemble_is_checked_too(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path / ".work", ["good"])
    path.write_text(path.read_text().replace('name = "nasty"', ""))
    with pytest.raises(EnsembleError, match=r"without the key `name` the name is '\.work', and it begins with '\.'.*: add `name`"):
        Ensemble(path)


def test_a_journal_gives_no_folder_outside_of_scratch(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / JOURNAL) as writer:
        writer.append({"kind": "ensemble", "format": 1, "run": "../../up"})
    with pytest.raises(EnsembleError, match=r"members\.jsonl: run = '\.\./\.\./up': it has a '/'"):
        Folder(tmp_path).read()
