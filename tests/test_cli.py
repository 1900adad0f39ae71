"""The command `tailrace`: each command for people and for machines, its help, and its exit status."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tailrace
import typer
from tailrace.cli import COMMANDS, cluster, drain, main, trace
from tailrace.cli.app import make_app
from tailrace.cli.choices import balanced_grid
from tailrace.cli.flow import ranks_text, shortened

from tests.environment import ROOT
from tests.mpirun import run_within

pytestmark = pytest.mark.fast

SHAPE = (4, 6)
STEPS = 3


def run(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    """Runs a command in this process; its standard output."""
    ended = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert ended == status, captured.out + captured.err
    return captured.out if status != 2 else captured.err


def run_any(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Whatever its status."""
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> Any:
    return json.loads(run(capsys, *arguments, "--json", status=status))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A directory with the streams `history`, under fpp, and `restart`, in one file."""
    for name, layout, steps in (("history", "fpp", 1), ("restart", "single", "all")):
        with tailrace.open(tmp_path, name, layout=layout, steps=steps) as stream:
            stream.dim("lat", SHAPE[0])
            stream.dim("lon", SHAPE[1])
            stream.var("T", ("lat", "lon"), "f4", units="K")
            for number in range(STEPS):
                with stream.step(time=0.5 * number) as step:
                    step["T"] = (np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) + 100 * number).astype("f4")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str], command: str) -> None:
    text = run(capsys, command, "--help")
    assert "Usage:" in text
    assert "Example" in text
    assert f"tailrace {command}" in " ".join(text.split())


@pytest.mark.parametrize(
    ("group", "command"),
    [("cluster", name) for name in cluster.COMMANDS]
    + [("trace", name) for name in trace.COMMANDS]
    + [("drain", name) for name in drain.COMMANDS],
)
def test_every_command_of_a_group_has_help_with_examples(capsys: pytest.CaptureFixture[str], group: str, command: str) -> None:
    text = run(capsys, group, command, "--help")
    assert "Usage:" in text
    assert f"tailrace {group} {command}" in " ".join(text.split("Example")[1].split())


def test_cluster_check(capsys: pytest.CaptureFixture[str]) -> None:
    needs = {need["name"]: need for need in json.loads(run_any(capsys, "cluster", "check", "--json"))["needs"]}
    assert {"netem", "mfsmaster", "glusterd", "slurmctld", "fio", "bonnie++", "mpirun.openmpi", "mpirun.mpich"} <= needs.keys()
    assert all(bool(need["reason"]) != need["there"] for need in needs.values())


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--help")
    assert text == run(capsys, "-h")
    assert main([]) == 2
    assert text == capsys.readouterr().out
    words = " ".join(text.split())
    for command, summary in COMMANDS.items():
        assert f" {command} {summary}" in words
    program: Any = typer.main.get_command(make_app())
    for parameter in program.params:
        assert parameter.opts[0] in text
    assert program.help in words
    assert program.epilog in words


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_of_a_command_how_its_own_help_begins(command: str) -> None:
    program: Any = typer.main.get_command(make_app([command]))
    commands = getattr(program, "commands", {command: program})
    assert " ".join(commands[command].help.split()).startswith(COMMANDS[command].removesuffix("."))


def test_help_loads_no_command() -> None:
    program = "import sys; from tailrace.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    finished = run_within([sys.executable, "-c", program], {"PYTHONPATH": str(ROOT / "python"), "COLUMNS": "60"})
    assert finished.returncode == 0, finished.output
    assert max(len(line) for line in finished.stdout.splitlines()) <= 60
    assert not set(finished.stderr.split()) & {"numpy", "rich", "typer", "tailrace._core", "tailrace.cli.app", "tailrace.cli.ls"}


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == f"tailrace {tailrace.__version__}\n"


def test_a_command_loads_only_what_it_needs() -> None:
    """Half of the time of a short command was loading what it had no use for."""
    program = "import sys; from tailrace.cli import main; main(['keys', '--json']); print(*sys.modules, file=sys.stderr)"
    finished = run_within([sys.executable, "-c", program], {"PYTHONPATH": str(ROOT / "python")})
    assert finished.returncode == 0, finished.output
    loaded = set(finished.stderr.split())
    assert "tailrace.cli.keys" in loaded
    assert not loaded & {"numpy", "tailrace.cluster.start", "tailrace.study", "elftools", "tailrace.cli.combine"}


def test_the_package_shows_what_it_loads_later() -> None:
    assert set(tailrace.__all__) <= set(dir(tailrace))
    assert tailrace.Stream.__module__ == "tailrace.stream"
    with pytest.raises(AttributeError, match=r"'tailrace' has no attribute 'opne'"):
        _ = tailrace.opne


def test_the_installed_command(tailrace_command: list[str]) -> None:
    finished = run_within([*tailrace_command, "keys", "--json"])
    assert finished.returncode == 0, finished.output
    assert json.loads(finished.stdout) == tailrace.keys()


# ---- keys ------------------------------------------------------------------------------------------------------------------------


def test_keys(capsys: pytest.CaptureFixture[str]) -> None:
    answer = tailrace.keys()
    assert run_json(capsys, "keys") == answer
    text = " ".join(run(capsys, "keys").split())
    markdown = run(capsys, "keys", "--markdown")
    for key in answer["keys"]:
        assert key["name"] in text
        assert f"| `{key['name']}` |" in markdown
    for preset in answer["presets"]:
        assert preset["name"] in text
        assert f"| `{preset['name']}` |" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {3, 4, 5, 9}, (
        "tables of tailrace.toml; presets; keys and variables; combinations"
    )


# ---- plan ------------------------------------------------------------------------------------------------------------------------


def test_plan_as_json_is_the_librarys(capsys: pytest.CaptureFixture[str]) -> None:
    answer = run_json(capsys, "plan", "fpp", "-n", 8, "-N", 2, "--shape", "T:16x32:f4", "--grid", "8x1", "--steps", 3)
    variables = [{"name": "T", "type": "f4", "shape": [16, 32], "grid": [8, 1]}]
    assert answer == tailrace.plan(variables, ranks=8, nodes=2, steps=3, name="history", layout="fpp")
    assert answer["bytes"] == 16 * 32 * 4 * 3 + 8 * answer["files"]  # each part has its step's time


@pytest.mark.parametrize("layout", ["single", "fpp", "hds", "shared"])
def test_plan_as_table_and_picture(capsys: pytest.CaptureFixture[str], layout: str) -> None:
    arguments = ("plan", layout, "-n", 4, "--shape", "T:16x32:f4", "--grid", "4x1")
    answer = run_json(capsys, *arguments)
    text = run(capsys, *arguments)
    for label in ("files", "directories", "writers", "bytes", "metadata", "index", "messages"):
        assert label in text
    picture = text[text.index("┌") :]
    assert picture.count("───▶│") == 2 * sum(part["writer_count"] for part in answer["parts"])
    for part in answer["parts"]:
        assert Path(part["path"]).name in picture


def test_plan_abbreviates_large_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "plan", "hds", "-n", 100_000, "-N", 1000, "--shape", "4096x4096x64")
    assert "more files" in text
    assert len(text.splitlines()) < 60
    text = run(capsys, "plan", "single", "-n", 100_000, "-N", 1000, "--shape", "4096x4096x64")
    assert "0-99999" in text


def test_plan_writes_an_svg(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for layout, ranks in (("single", 4), ("shared", 6), ("shared", 20), ("hds", 1000)):
        path = tmp_path / f"{layout}.svg"
        arguments = ("plan", layout, "-n", ranks, "--shape", "T:16x3000:f4", "--svg", path)
        answer = run_json(capsys, *arguments)
        root = ET.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
        boxes = [element.get("class") for element in root.iter("{http://www.w3.org/2000/svg}rect")]
        assert boxes.count("f") == min(len(answer["parts"]), 16)
        assert boxes.count("w") >= 1
        assert any("more files" in text for text in texts) == (answer["files"] > boxes.count("f"))
        height = float(root.get("height", 0))
        assert all(float(element.get("y", 0)) < height for element in root.iter("{http://www.w3.org/2000/svg}rect"))


def test_plan_from_a_file_of_variables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text('[T]\nshape = [16, 32]\ntype = "f4"\ngrid = [4, 1]\n[U]\nshape = [8, 16, 32]\n')
    answer = run_json(capsys, "plan", "-n", 4, "--variables", path)
    assert answer["bytes"] == 16 * 32 * 4 + 8 * 16 * 32 * 8 + 8  # and the time


def test_plan_with_attributes_and_coordinates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, bare = tmp_path / "model.toml", tmp_path / "bare.toml"
    bare.write_text('[T]\nshape = [16, 32]\ntype = "f4"\n')
    path.write_text(
        '[T]\nshape = [16, 32]\ntype = "f4"\nattributes = {units = "K", _FillValue = 1e20}\n'
        f'[x]\nshape = [32]\ncoordinate = true\n[attributes]\ntitle = "{"A long run. " * 500}"\n'
        '[time_attributes]\nunits = "days since 2026-01-01"\n'
    )
    plain, described = (run_json(capsys, "plan", "single", "-n", 1, "--variables", file) for file in (bare, path))
    assert plain["bytes"] == described["bytes"]
    assert described["stored"]["files"] == plain["stored"]["files"]
    assert described["stored"]["bytes"] - plain["stored"]["bytes"] > 2 * 6000 + 32 * 8  # the part and the journal have the title


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "needs variables"),
        (["--shape", "16xa"], "whole numbers"),
        (["--shape", "T:1:f4:2"], "[NAME:]SHAPE[:TYPE]"),
        (["--shape", "16x16", "--grid", "4"], "different numbers of dimensions"),
        (["--shape", "16", "--grid", "4", "--grid", "4"], "2 --grid for 1 --shape"),
        (["--shape", "16", "--set", "files"], "KEY=VALUE"),
        (["--shape", "16", "--set", "filez=3"], "filez"),
        (["nonsense", "--shape", "16"], "nonsense"),
        (["--shape", "16", "--ranks", "0"], "--ranks"),
        (["--shape", "T:16:f2"], "f2"),
    ],
)
def test_bad_plans_say_what_is_wrong(capsys: pytest.CaptureFixture[str], arguments: list[str], text: str) -> None:
    said = "".join(run(capsys, "plan", *arguments, status=2).replace("│", " ").split())
    assert text.replace(" ", "") in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[T]\ntype = 'f4'\n", "needs shape"),
        ("[T", "model.toml"),
        ("[T]\nshape=[4]\nsize=3", "size"),
        ("[x]\nshape=[4, 3]\ncoordinate=true", "a coordinate has one dimension"),
        ("[x]\nshape=[4]\ncoordinate='no'", "neither true nor false"),
        ("[T]\nshape=[4]\nattributes='K'", "is no table"),
    ],
)
def test_bad_files_of_variables(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "model.toml"
    path.write_text(text)
    said = "".join(run(capsys, "plan", "--variables", path, status=2).replace("│", " ").split())
    assert message.replace(" ", "") in said


@pytest.mark.parametrize(
    ("ranks", "shape", "grid"),
    [(1, [5], [1]), (8, [16, 32], [2, 4]), (7, [100, 10], [7, 1]), (12, [10, 10, 10], [3, 2, 2]), (10**6, [10**4] * 3, [100] * 3)],
)
def test_balanced_grids(ranks: int, shape: list[int], grid: list[int]) -> None:
    assert sorted(balanced_grid(ranks, shape)) == sorted(grid)
    assert int(np.prod(balanced_grid(ranks, shape))) == ranks


def test_ranges_and_shortened_paths() -> None:
    assert ranks_text([0, 1, 2, 3, 7, 9, 10]) == "0-3, 7, 9, 10"
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghij", 7) == "abc…hij"


# ---- ls and verify ---------------------------------------------------------------------------------------------------------------


def test_ls(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    answer = run_json(capsys, "ls", written)
    assert {stream["name"] for stream in answer["streams"]} == {"history", "restart"}
    for stream in answer["streams"]:
        assert [step["time"] for step in stream["steps"]] == [0.0, 0.5, 1.0]
    text = run(capsys, "ls", written)
    for word in ("history", "restart", "T", "f4", "lat=4", "3 steps", "layout = fpp"):
        assert word in text
    [only] = run_json(capsys, "ls", written, "--stream", "restart")["streams"]
    assert only["name"] == "restart"


def test_ls_shortens_long_streams(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "long", layout="single", steps="all") as stream:
        stream.var("mass", (), "f8")
        for number in range(30):
            with stream.step(time=number) as step:
                step["mass"] = number
    short, every = run(capsys, "ls", tmp_path), run(capsys, "ls", tmp_path, "--all")
    assert "18 more" in short
    assert len(every.splitlines()) == len(short.splitlines()) + 17


@pytest.mark.parametrize(
    ("name", "asked", "where"),
    [("a", {}, "a.nc"), ("b", {"layout": "fpp", "steps": 2}, "b.parts/"), ("c", {"layout": "fpp"}, "")],
)
def test_ls_shows_no_size_of_a_step_that_shares_its_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, asked: dict[str, Any], where: str
) -> None:
    with tailrace.open(tmp_path, name, **asked) as stream:
        stream.var("mass", (), "f8")
        for number in range(3):
            with stream.step(time=number) as step:
                step["mass"] = number
    text = run(capsys, "ls", tmp_path)
    assert " 0 B" not in text
    sizes = [line.split()[3] for line in text.splitlines() if re.match(r" +[012] ", line)]
    if where:
        assert sizes == ["-"] * 3
        assert f"size -: several steps share a file, in {tmp_path}/{where}" in text.replace("\n", "")
    else:
        assert "-" not in sizes
        assert "size -" not in text
    [described] = run_json(capsys, "ls", tmp_path)["streams"]
    assert [step["bytes"] is None for step in described["steps"]] == [bool(where)] * 3


def test_ls_without_streams(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "no stream" in run(capsys, "ls", tmp_path, status=2)
    assert "absent" in run(capsys, "ls", tmp_path / "absent", status=2)
    (tmp_path / "history.nc").touch()
    for command in ("ls", "verify", "index"):
        said = run(capsys, command, tmp_path / "history.nc", status=2)
        assert f"history.nc is a file: give the directory that contains it, {tmp_path}" in said
    main(["ls", str(tmp_path / "absent"), "--json"])
    assert json.loads(capsys.readouterr().out)["error"]["status"] == "NOT_FOUND"


def test_verify_whole_streams(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    answer = run_json(capsys, "verify", written, "--deep")
    assert answer["ok"]
    assert {name: stream["steps"] for name, stream in answer["streams"].items()} == {"history": STEPS, "restart": STEPS}
    text = run(capsys, "verify", written, "--stream", "history")
    assert "history: ok, 3 steps" in text
    assert "restart" not in text


def test_verify_names_a_changed_byte(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    part = sorted((written / "history.parts").rglob("*.nc"))[1]
    data = bytearray(part.read_bytes())
    data[data.index(np.float32(110).tobytes())] ^= 1  # an element of the second step
    part.write_bytes(data)
    assert run_json(capsys, "verify", written)["ok"]  # sizes are as they were
    answer = run_json(capsys, "verify", written, "--deep", status=1)
    assert answer["streams"]["restart"]["ok"]
    (problem,) = answer["streams"]["history"]["problems"]
    assert problem["path"].endswith(part.name)
    assert "checksum" in problem["problem"]
    text = run(capsys, "verify", written, "--deep", status=1)
    assert "damaged" in text
    assert part.name in text
    assert f"`tailrace repair {written} -s history`" in text.replace("\n", "")
    assert "restart: ok" in text
    assert "-s restart" not in text


@pytest.mark.parametrize("damage", ["shortened", "removed"])
def test_verify_names_a_part_that_is_not_whole(capsys: pytest.CaptureFixture[str], written: Path, damage: str) -> None:
    part = sorted((written / "history.parts").rglob("*.nc"))[0]
    if damage == "removed":
        part.unlink()
    else:
        part.write_bytes(part.read_bytes()[:-100])
    assert part.name in run(capsys, "verify", written, status=1)


def test_verify_says_how_an_index_comes_back(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    (written / "history.nc").unlink()
    (problem,) = run_json(capsys, "verify", written, status=1)["streams"]["history"]["problems"]
    assert problem["path"] == str(written / "history.nc")
    assert f"`tailrace index {written} -s history`" in problem["problem"]
    assert problem["remedy"] == "index"
    text = run(capsys, "verify", written, status=1).replace("\n", " ")
    assert f"history: whole; the index is missing: run `tailrace index {written} -s history`" in text
    assert "repair" not in text
    run(capsys, "index", written)
    assert run_json(capsys, "verify", written)["ok"]


def test_verify_offers_no_repair_that_would_do_nothing(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    """Where static arrays of all steps are gone, or the journal, only a backup helps."""
    (written / "history.parts/journal.jsonl").unlink()
    assert "tailrace repair" not in run(capsys, "verify", written, status=1)


def test_verify_a_stream_that_is_being_written(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    """What the run has not finished is no problem, as long as its heartbeat is young."""
    (written / "history.nc").unlink()
    with (written / "history.parts/journal.jsonl").open("a") as journal:
        journal.write('{"kind":"st')
    heartbeat = written / "history.parts/writer.json"
    heartbeat.write_text("{}")
    answer = run_json(capsys, "verify", written)["streams"]
    assert (answer["history"]["state"], answer["history"]["ok"]) == ("being written", True)
    assert answer["restart"]["state"] == "whole"
    assert "history: being written, 3 steps" in run(capsys, "verify", written)
    old = time.time() - 150
    os.utime(heartbeat, (old, old))
    answer = run_json(capsys, "verify", written, status=1)["streams"]["history"]
    assert answer["state"] == "damaged"
    assert {problem["remedy"] for problem in answer["problems"]} == {"repair", "index"}


def test_verify_damage_of_a_stream_that_is_being_written(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    sorted((written / "history.parts").rglob("*.nc"))[0].unlink()
    (written / "history.parts/writer.json").write_text("{}")
    answer = run_json(capsys, "verify", written, status=1)["streams"]["history"]
    assert (answer["state"], len(answer["problems"])) == ("damaged", 1)


def test_verify_what_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "no stream" in run(capsys, "verify", tmp_path, status=2)
    assert "absent" in run(capsys, "verify", tmp_path / "absent", status=2)
    assert "plot" in run(capsys, "verify", tmp_path, "-s", "plot", status=2)


def test_verify_a_stream_that_never_had_a_step(capsys: pytest.CaptureFixture[str], written: Path) -> None:
    tailrace.open(written, "opened", layout="fpp").close()
    answer = run_json(capsys, "verify", written)
    assert answer["ok"]
    assert {name: found["steps"] for name, found in answer["streams"].items()} == {"history": STEPS, "opened": 0, "restart": STEPS}


@pytest.mark.parametrize("stream", ["history", "restart"])
def test_verify_names_a_journal_that_is_missing(capsys: pytest.CaptureFixture[str], written: Path, stream: str) -> None:
    (written / f"{stream}.parts/journal.jsonl").unlink()
    answer = run_json(capsys, "verify", written, status=1)
    assert "journal is missing" in answer["streams"][stream]["problems"][0]["problem"]
    assert [name for name, found in answer["streams"].items() if not found["ok"]] == [stream]


# ---- resolve ---------------------------------------------------------------------------------------------------------------------


def test_resolve_options_file_and_environment(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is stronger than the one before; and what is shown is what a stream opened here would have."""
    monkeypatch.chdir(tmp_path)
    options = ("resolve", "history", "--layout", "fpp", "--set", "durability=step", "--set", "alignment=64 KiB")
    assert run_json(capsys, *options)["effective"]["durability"] == "step"
    (tmp_path / "tailrace.toml").write_text("[stream.history]\ndurability = 'close'\nsteps = 5\n")
    answer = run_json(capsys, *options)
    assert answer["effective"]["durability"] == "close"
    assert answer["effective"]["steps"] == "5"
    monkeypatch.setenv("TAILRACE_HISTORY_STEPS", "7")
    answer = run_json(capsys, *options)
    assert answer["effective"]["steps"] == "7"
    assert answer["effective"]["files"] == "per-rank"
    text = run(capsys, *options)
    assert "tailrace.toml" in text
    assert "environment" in text
    assert list(tmp_path.iterdir()) == [tmp_path / "tailrace.toml"]
    monkeypatch.setenv("TAILRACE_HISTORY_STEPS", "some")
    assert "some" in run(capsys, *options, status=2)
