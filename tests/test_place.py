"""Files of unmodified programs, placed by rules: what programs see, where files are, and what is said of others."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.cli.run_options import parsed
from tailrace.fnv import fnv1a
from tailrace.place.compiled import compiled
from tailrace.place.mapping import Mapping, MappingError, problem_of
from tailrace.place.rules import TreeRule, rules_of
from tailrace.toml_table import TomlError

RULE = 'files = "data/{stream}.{rank:number}.{step:number}"\nto = "{rank}/{stream}"\nmost = 100\n'
ANY = 'files = "**/{any}"\nto = ".t{hash%16}"\n'
CASES = ("opening", "attributes", "names", "listing", "threads", "walks")


def rules(base: Path, files: str, to: str = "", **more: object) -> tuple[TreeRule, ...]:
    tree = {"files": files, **({"to": to} if to else {}), **more}
    return rules_of({"place": {"tree": [tree]}}, "test.toml", base)


def mapping(base: Path, files: str, to: str = "", **more: object) -> Mapping:
    return Mapping(compiled(rules(base, files, to, **more)))


def write_config(folder: Path, rule: str = RULE) -> Path:
    config = folder / "tailrace.toml"
    config.write_text(f"[[place.tree]]\n{rule}")
    return config


def run(
    command: list[str], config: Path, words: list[str], *options: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    line = [*command, "run", "--config", str(config), *(options or ("--no-trace",)), "--", *words]
    return subprocess.run(line, cwd=cwd or config.parent, capture_output=True, text=True, check=False, timeout=60)


# ---- rules ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "to", "most", "name", "expected"),
    [
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "file1.00.0003", "00/file1"),
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "a.b.7.12", "7/a.b"),
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "a.1.999", "1/a"),
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "a.1.1000", "1/a/k2/1"),
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "a.1234567.5", "k3/1/234/567/a"),
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "a.x.5", None),
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "a.1.", None),
        ("d/{s}.{r:number}.{n:number}", "{r}/{s}", 1000, "a.1.12345678901234567890", None),
        ("d/{s}{n:number}.nc", "n{n/100}/s-{s}", 10, "out0731.nc", "n7/s-out"),
        ("d/{s}{n:number}.nc", "n{n%100}", 10, "out0731.nc", "n31"),
        ("d/{n:number}", "", 10, "5", None),  # not from `most` on: it stays
        ("d/{n:number}", "", 10, "57", "k2/5"),
        ("d/{a}", "t-{a}", 10, "..", None),
        ("d/{a}", "t-{a}/x", 10, "no\nline ü", "t-no\nline ü/x"),
    ],
)
def test_where_a_name_goes(tmp_path: Path, files: str, to: str, most: int, name: str, expected: str | None) -> None:
    found = mapping(tmp_path, files, to, most=most).physical(f"{tmp_path}/d/{name}")
    assert (found and found[0]) == (None if expected is None else f"{tmp_path}/d/{expected}/{name}")


def test_paths_go_back(tmp_path: Path) -> None:
    made = mapping(tmp_path, "d/{s}.{r:number}.{n:number}", "{r}/{s}", most=7)
    draw = random.Random(3)
    for _ in range(500):
        logical = f"{tmp_path}/d/s{draw.randrange(3)}.{draw.randrange(1000)}.{draw.randrange(1000):04}"
        found = made.physical(logical)
        assert found is not None
        assert made.logical(found[0]) == logical
        assert made.physical(found[0]) is None
        assert made.is_tree(f"{tmp_path}/d", found[0].removeprefix(f"{tmp_path}/d/").split("/")[0])
    assert made.logical(f"{tmp_path}/d/3/s0/s0.4.1") is None
    assert made.physical(f"{tmp_path}/e/s.1.1") is None


def test_no_directory_grows_beyond_its_bound(tmp_path: Path) -> None:
    made = mapping(tmp_path, "d/{s}.{r:number}.{n:number}", "{r}/{s}", most=10)
    entries: dict[str, set[str]] = {}
    for rank in range(0, 2000, 7):
        for step in range(0, 1500, 13):
            found = made.physical(f"{tmp_path}/d/a.{rank}.{step}")
            assert found is not None
            parts = found[0].split("/")
            for level in range(1, len(parts)):
                entries.setdefault("/".join(parts[:level]), set()).add(parts[level])
    # Numbers, and one directory for each further count of digits.
    assert max(len(names) for folder, names in entries.items() if folder.startswith(f"{tmp_path}/d")) <= 10 + 4


def test_hashed_names_are_spread(tmp_path: Path) -> None:
    made = mapping(tmp_path, "**/{a}", ".t{hash%16}")
    counts: dict[str, int] = {}
    for number in range(8000):
        found = made.physical(f"{tmp_path}/x/y/name-{number}")
        assert found is not None
        counts[found[0].split("/")[-2]] = counts.get(found[0].split("/")[-2], 0) + 1
    assert sorted(counts) == [f".t{number:02}" for number in range(16)]
    assert 350 < min(counts.values()) <= max(counts.values()) < 650
    assert made.physical(f"{tmp_path}/x/.t03/name") is None  # a tree has no tree


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"files": "d/{a}{b}", "to": "x"}, "have no text between them"),
        ({"files": "d/{a}.{a}", "to": "x"}, "twice"),
        ({"files": "d{n:number}/x", "to": "x"}, "only the name may have fields"),
        ({"files": "d/{a", "to": "x"}, "brace"),
        ({"files": "d/", "to": "x"}, "ends without a name"),
        ({"files": "d/{a}", "to": "{a}"}, "any folder could"),
        ({"files": "d/{a}", "to": "x/../y"}, "'..' is another folder"),
        ({"files": "d/{a}", "to": "x{b}"}, "no field b"),
        ({"files": "d/{a}", "to": "x{a/10}"}, "only a number"),
        ({"files": "d/{a}.{n:number}", "to": "{n/0}"}, "divide by at least 1"),
        ({"files": "d/{n:number}.{m:number}"}, "leaves n and m open"),
        ({"files": "d/{a}"}, "every file would stay"),
        ({"files": "**/{a}.{n:number}", "to": "{n}"}, "must begin with a text"),
        ({"files": "d/{a}", "to": "x", "most": 1}, "at least 2"),
        ({"files": "d/{a}", "to": "x", "mots": 5}, "did you mean `most`"),
        ({"to": "x"}, "`files` is missing"),
    ],
)
def test_wrong_rules_are_refused(tree: dict[str, object], said: str) -> None:
    with pytest.raises(TomlError, match=r"test.toml") as refused:
        rules_of({"place": {"tree": [tree]}}, "test.toml", Path("/base"))
    assert said in str(refused.value)


def sealed(data: bytearray) -> bytes:
    """With the right length and checksum, so that the reader looks at what is behind them."""
    struct.pack_into("<I", data, 12, len(data))
    struct.pack_into("<Q", data, 16, fnv1a(bytes(data[24:])))
    return bytes(data)


def test_the_reader_of_rules_takes_any_bytes(tmp_path: Path) -> None:
    good = compiled(rules(tmp_path, "d/{s}.{r:number}.{n:number}", "{r}/x{hash%7}/{s}") + rules(tmp_path, "**/{a}", ".t{hash%9}"))
    assert problem_of(good) is None
    for size in range(len(good)):
        assert problem_of(good[:size]) is not None
    draw = random.Random(7)
    used = 0
    for _ in range(4000):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(24, len(data))] = draw.choice((0, 1, 255, draw.randrange(256)))
        if draw.random() < 0.2:
            data = data[: draw.randrange(32, len(data))]
        whole = sealed(data)
        if problem_of(whole) is not None:
            continue
        used += 1
        mutated = Mapping(whole)
        for name in ("a.1.2", "x", "a." + "9" * 300, ".", "a.b.c.1.1"):
            mutated.physical(f"{tmp_path}/d/{name}")
            mutated.logical(f"{tmp_path}/d/1/x3/a/{name}")
        mutated.is_tree(f"{tmp_path}/d", "k12")
    assert used > 100  # the mutations reach what is behind the checks


def test_a_damaged_rules_file_is_not_mapped() -> None:
    with pytest.raises(MappingError, match="shorter than its header"):
        Mapping(b"TRPLACE")


def test_options_are_read_without_typer() -> None:
    options = parsed(["--config", "t.toml", "--no-trace", "--", "ls", "--config"])
    assert options is not None
    assert (options.config, options.trace, options.command) == ("t.toml", False, ("ls", "--config"))


# ---- programs -------------------------------------------------------------------------------------------------------------------


def case_program(build_dir: Path, case: str = "") -> str:
    return str(build_dir / "tests" / ("walk_case" if case == "walks" else "place_case"))


@pytest.mark.parametrize("rule", [RULE, ANY], ids=["numbers", "any name"])
@pytest.mark.parametrize("case", CASES)
def test_programs_see_what_they_see_without_rules(
    tailrace_command: list[str], build_dir: Path, tmp_path: Path, case: str, rule: str
) -> None:
    if rule == ANY and case == "names":
        rule = rule.replace("**/", "data/")  # with `**`, a directory that leaves its folder is told EXDEV
    plain, placed = tmp_path / "plain", tmp_path / "placed"
    plain.mkdir()
    placed.mkdir()
    words = [case_program(build_dir, case), case]
    expected = subprocess.run(words, cwd=plain, capture_output=True, text=True, check=True, timeout=60)
    config = write_config(placed, rule)
    (tmp_path / "tailrace.toml").write_text(config.read_text().replace('"data/', '"placed/data/').replace('"**/', '"placed/**/'))
    config.unlink()
    done = run(tailrace_command, tmp_path / "tailrace.toml", words, cwd=placed)
    assert done.returncode == 0
    assert done.stdout == expected.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("folders", {"a.0.1", "a.0.2", "walk.0.1", "fork.0.1", "vfork.0.1", "thread.0.1", "clone.0.1"}),
        ("renamed", {"a.0.4"}),
    ],
)
@pytest.mark.parametrize("options", [("--no-trace",), ("--log", "../log")], ids=["placed", "and recorded"])
def test_a_relative_path_is_placed_by_the_directory_of_the_moment(
    tailrace_command: list[str], build_dir: Path, tmp_path: Path, case: str, expected: set[str], options: tuple[str, ...]
) -> None:
    plain, placed = tmp_path / "plain", tmp_path / "placed"
    plain.mkdir()
    placed.mkdir()
    words = [case_program(build_dir), case]
    without = subprocess.run(words, cwd=plain, capture_output=True, text=True, check=True, timeout=60)
    (tmp_path / "tailrace.toml").write_text("[[place.tree]]\n" + RULE.replace('"data/', '"placed/data/'))
    done = run(tailrace_command, tmp_path / "tailrace.toml", words, *options, cwd=placed)
    assert (done.returncode, done.stdout) == (0, without.stdout)
    in_tree = {path.name for path in (placed / "data" / "0").rglob("*") if path.is_file()}
    assert in_tree == expected
    assert {path.name for path in placed.iterdir()} == {path.name for path in plain.iterdir()}


def test_files_are_in_the_tree_and_the_log_has_their_names(tailrace_command: list[str], build_dir: Path, tmp_path: Path) -> None:
    from tailrace.trace.log import read_run

    config = write_config(tmp_path)
    done = run(tailrace_command, config, [case_program(build_dir), "listing"], "--log", "log")
    assert done.returncode == 0
    assert (tmp_path / "data/0/a/a.0.0000").read_text() == "text"
    assert (tmp_path / "data/1/a/k2/1" / "a.1.0150").exists() is False  # removed by the program
    assert not list((tmp_path / "data").glob("a.*"))
    assert (tmp_path / "data/folder/x.0.1").exists()
    logs, damaged = read_run(tmp_path / "log")
    assert not damaged
    names = {log.name_of(int(event["file"])) for log in logs for event in log.events}
    assert f"{tmp_path}/data/a.0.0000" in names
    assert not [name for name in names if "/data/0/a/" in name]


def test_children_without_an_environment_are_placed(tailrace_command: list[str], tmp_path: Path) -> None:
    config = write_config(tmp_path)
    words = ["env", "-i", "/bin/sh", "-c", "mkdir data; echo x > data/a.3.4; /usr/bin/ls data"]
    done = run(tailrace_command, config, words)
    assert done.stdout == "a.3.4\n"
    assert (tmp_path / "data/3/a/a.3.4").exists()
    assert run(tailrace_command, config, words, "--no-trace", "--no-follow").stdout != ""


def test_flat_files_stay_in_use_and_are_told(tailrace_command: list[str], tmp_path: Path) -> None:
    config = write_config(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.1.1").write_text("old")
    script = "cat data/a.1.1; echo new > data/a.1.1; echo more > data/a.1.2; ls data; env -i LD_PRELOAD= true"
    done = run(tailrace_command, config, ["sh", "-c", script])
    assert done.stdout == "olda.1.1\na.1.2\n"
    assert "1 files of the rules lie flat and stay in use there" in done.stderr
    assert "tree apply" in done.stderr
    assert (tmp_path / "data/a.1.1").read_text() == "new\n"
    assert (tmp_path / "data/1/a/a.1.2").read_text() == "more\n"
    (tmp_path / "data/a.1.2").write_text("made without the rules")
    done = run(tailrace_command, config, ["sh", "-c", "ls data; cat data/a.1.2"])
    assert done.stdout == "a.1.1\na.1.2\nmore\n"
    assert "1 names have two files" in done.stderr
    assert "two files have one name" in done.stderr  # said by the listing
    checked = subprocess.run(
        [*tailrace_command, "place", "check", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 1
    found = json.loads(checked.stdout)
    assert found["two_files"] == {f"{tmp_path}/data/a.1.2": f"{tmp_path}/data/1/a/a.1.2"}
    assert found["flat"] == [f"{tmp_path}/data/a.1.1"]


def test_files_of_a_static_program_are_told(tailrace_command: list[str], tmp_path: Path) -> None:
    config = write_config(tmp_path)
    (tmp_path / "data").mkdir()
    # Python without the preload stands for a program that the preload is not in.
    script = f"env -u LD_PRELOAD {sys.executable} -S -c \"open('data/a.1.1', 'w')\""
    done = run(tailrace_command, config, ["sh", "-c", script], "--no-trace", "--no-follow")
    assert "1 files were made without the rules and lie flat" in done.stderr


def test_a_rules_file_of_others_is_not_used(tailrace_command: list[str], tmp_path: Path) -> None:
    from tailrace.trace.launch import preload_library

    path = tmp_path / "rules"
    path.write_bytes(compiled(rules(tmp_path, "{a}", "t{hash%4}")))
    path.chmod(0o666)
    env = {**os.environ, "LD_PRELOAD": str(preload_library()), "TAILRACE_PLACE": str(path)}
    done = subprocess.run(["touch", "x"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "others can write the rules file" in done.stderr
    assert (tmp_path / "x").exists()
    path.chmod(0o600)
    done = subprocess.run(["touch", "y"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(list(tmp_path.glob("t*/y"))) == 1
    (tmp_path / "link").symlink_to(path)
    done = subprocess.run(
        ["touch", "z"], cwd=tmp_path, env={**env, "TAILRACE_PLACE": str(tmp_path / "link")}, capture_output=True, text=True
    )
    assert "cannot be opened" in done.stderr


def test_explain_says_where_and_why(tailrace_command: list[str], tmp_path: Path) -> None:
    write_config(tmp_path)
    command = [*tailrace_command, "place", "explain"]
    done = subprocess.run([*command, "data/file1.00.0003"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("data/file1.00.0003 -> data/00/file1/file1.00.0003\n")
    assert "at most 100 numbers a directory for each stream" in done.stdout
    done = subprocess.run([*command, "data/other", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["paths"][0]["rule"] is None


@pytest.mark.parametrize(
    ("text", "said"), [("", "no [[place.tree]]"), ("[place]\ntere = 1", "unknown key"), ("[place", "tailrace.toml")]
)
def test_a_run_without_rules_does_not_begin(tailrace_command: list[str], tmp_path: Path, text: str, said: str) -> None:
    config = tmp_path / "tailrace.toml"
    config.write_text(text)
    done = run(tailrace_command, config, ["touch", "x"])
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "x").exists()
