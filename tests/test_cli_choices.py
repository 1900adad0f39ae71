"""What is typed for commands: layout keys of every name, files of variables, and errors for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tailrace
from tailrace.cli import main
from tailrace.trace import launch, log_folder

pytestmark = pytest.mark.fast


def run(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> Any:
    ended = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert ended == status, captured.out + captured.err
    return captured


def write_stream(directory: Path, times: list[float]) -> None:
    with tailrace.open(directory, "history", layout="single", steps="all") as stream:
        stream.dim("x", 4)
        stream.var("v", ("x",))
        for time in times:
            with stream.step(time=time) as step:
                step["v"] = np.arange(4.0)


def test_a_key_may_have_the_name_of_a_parameter(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    planned = ("plan", "fpp", "--shape", "8", "--steps", 4, "--json", "--set")
    assert json.loads(run(capsys, *planned, "steps=all").out)["steps"] == 4
    assert json.loads(run(capsys, *planned, "layout=single").out)["files"] == 4  # one a step, and not one a rank
    resolved = json.loads(run(capsys, "resolve", "--layout", "fpp", "--set", "layout=hds", "--json").out)
    assert resolved["requested"]["layout"]["value"] == "hds"
    write_stream(tmp_path / "a", [0.0])
    run(capsys, "convert", tmp_path / "a", tmp_path / "b", "--set", "layout=fpp")
    assert tailrace.list_streams(tmp_path / "b")[0]["requested"]["layout"]["value"] == "fpp"


@pytest.mark.parametrize(
    "arguments",
    [("plan", "--shape", "8"), ("resolve",), ("convert", "a", "b")],
)
def test_no_key_has_such_a_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_stream(tmp_path / "a", [0.0])
    for key in ("name", "ranks", "comm"):
        assert key in run(capsys, *arguments, "--set", f"{key}=x", status=2).err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"[T]\nshape = 180", "shape = 180 is no list of whole numbers"),
        (b'[T]\nshape = ["a"]', "is no list of whole numbers"),
        (b"[T]\nshape = [4]\ngrid = 2", "grid = 2 is no list of whole numbers"),
        (b"[T]\nshape = [4]\ntype = 4", "type = 4 is no text"),
        (b'["\xff"]\nshape = [4]', "utf-8"),
    ],
)
def test_bad_files_of_variables(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: bytes, told: str) -> None:
    file = tmp_path / "model.toml"
    file.write_bytes(text)
    said = run(capsys, "plan", "--variables", file, status=2).err
    assert told.replace(" ", "") in "".join(said.replace("│", "").split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("study", "missing.toml"),
        ("check", "/no/such/program"),
        ("coverage", "missing"),
        ("trace", "query", "missing", "select 1"),
        ("ls", "missing"),
    ],
)
def test_errors_are_json_for_machines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    answer: dict[str, Any] = json.loads(run(capsys, *arguments, "--json", status=2).out)
    assert Path(arguments[1] if arguments[0] != "trace" else arguments[2]).name in answer["error"]["message"]
    assert run(capsys, *arguments, status=2).out == ""


def test_times_are_shown_with_all_their_figures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_stream(tmp_path, [0.1, 1234567.25])
    shown = run(capsys, "ls", tmp_path).out.split()
    assert "0.1" in shown
    assert "1234567.25" in shown


@pytest.mark.parametrize("folder", ["with space", "with:colon"])
def test_a_library_whose_name_cannot_be_preloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str) -> None:
    monkeypatch.setattr("tailrace.installed.find", lambda *_: tmp_path / folder / launch.LIBRARY)
    with pytest.raises(log_folder.NotTraceable, match=f"{folder}.*LD_PRELOAD"):
        launch.traced_environment(tmp_path, 1 << 20)
