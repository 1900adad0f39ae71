"""Rules that are proposed from a recorded run or from names, and that a run then has the counts that were promised."""

from __future__ import annotations

import json
import random
import subprocess
import tomllib
from pathlib import Path

import pytest
from tailrace.place.compiled import compiled
from tailrace.place.proposal import propose
from tailrace.place.rules import read_rules
from tailrace.place.tree import apply

FORTRAN = [f"{field}.{rank:02}.{step:04}" for field in ("u", "v", "file1") for rank in range(16) for step in range(30)]


def call(
    command: list[str], *words: str | Path, cwd: Path, status: int = 0, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*command, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done.stderr
    return done


def make(folder: Path, names: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()


def largest_directory(folder: Path) -> int:
    own = {".tailrace-tree.json"}
    return max(
        len([entry for entry in inner.iterdir() if entry.name not in own])
        for inner in [folder, *folder.rglob("*")]
        if inner.is_dir()
    )


@pytest.mark.parametrize(
    ("names", "most", "expected"),
    [
        (FORTRAN, 1000, [("{stream}.{rank:number}.{step:number}", "{rank}")]),
        (FORTRAN, 40, [("{stream}.{rank:number}.{step:number}", "{rank}/{stream}")]),
        ([f"out{n:05}.nc" for n in range(400)], 1000, [("out{number:number}.nc", "n{number%2}")]),
        ([f"h_{100 * n}.nc" for n in range(400)], 100, [("h_{number:number}.nc", ".t{hash%16}")]),
        ([f"{a}{b}{c}" for a in "abcdefgh" for b in "pqrstuvw" for c in "xyz"], 50, [("{stream}", ".t{hash%16}")]),
        ([f"{text}_{n}" for text in ("a", "b") for n in range(120)], 150, [("{stream}_{number:number}", "t-{stream}")]),
        ([f"run.{a}.{b}.{c}" for a in range(5) for b in range(5) for c in range(9)], 50, None),
    ],
    ids=["ranks and steps", "small directories", "steps", "steps with a divisor", "no numbers", "texts", "three numbers"],
)
def test_what_is_proposed(tmp_path: Path, names: list[str], most: int, expected: list[tuple[str, str]] | None) -> None:
    proposal = propose([f"{tmp_path}/data/{name}" for name in names], tmp_path, least=100, most=most)
    if expected is None:
        expected = [("run.{number1:number}.{number2:number}.{number3:number}", "{number1}/{number2}")]
    assert [(rule.files, rule.to) for rule in proposal.rules] == [(f"data/{files}", to) for files, to in expected]
    assert not proposal.left
    assert sum(rule.names for rule in proposal.rules) == len(names)


def test_folders_with_few_files_and_names_that_no_rule_can_have_are_told(tmp_path: Path) -> None:
    paths = [f"{tmp_path}/few/a.{n}" for n in range(9)]
    paths += [f"{tmp_path}/b{{/a.{n}" for n in range(20)]
    paths += [f"{tmp_path}/data/a.{n}" for n in range(40)]
    paths += [f"{tmp_path}/data/c{{{n}" for n in range(11)] + [f"{tmp_path}/data/d-\udcff{n}" for n in range(3)]
    paths += [f"{tmp_path}/data/{name}" for name in ("README", "x-1")]
    proposal = propose(paths, tmp_path, least=10, most=30)
    assert [rule.names for rule in proposal.rules] == [40]
    assert {(left.folder, left.names) for left in proposal.left} == {
        (f"{tmp_path}/b{{", 20),
        (f"{tmp_path}/data", 14),
        (f"{tmp_path}/data", 2),
    }


def test_the_counts_are_those_that_the_rules_make(tmp_path: Path, rng: random.Random) -> None:
    letters = "ab.-_01 é"
    for case in range(12):
        folder = tmp_path / f"case{case}"
        pattern = [rng.choice(["{n}", "{t}", "x", "out"]) for _ in range(rng.randint(1, 4))]
        names = {
            rng.choice("._-").join(
                piece.replace("{n}", str(rng.randrange(40))).replace("{t}", "".join(rng.choices(letters, k=2))) for piece in pattern
            )
            for _ in range(200)
        } - {".", ".."}
        make(folder, sorted(names))
        most = rng.choice([5, 20, 100])
        proposal = propose([f"{folder}/{name}" for name in names], tmp_path, least=5, most=most)
        (tmp_path / "tailrace.toml").write_text(proposal.toml())
        rules = read_rules(tmp_path / "tailrace.toml")
        assert [rule.title for rule in rules] == [rule.files for rule in proposal.rules]
        placed = sum(rule.names for rule in proposal.rules)
        assert placed + sum(left.names for left in proposal.left) == (len(names) if len(names) >= 5 else 0)
        if not rules:
            continue
        stays = [name for name in names if (folder / name).is_file()]
        moved = apply(compiled(rules), str(folder))
        assert moved.moved == placed
        assert len(stays) - moved.moved == len([name for name in names if (folder / name).is_file()])
        if len(rules) == 1 and placed == len(names):
            assert largest_directory(folder) == proposal.rules[0].largest


def test_a_folder_is_proposed_applied_and_checked(tailrace_command: list[str], tmp_path: Path) -> None:
    make(tmp_path / "data", FORTRAN)
    call(tailrace_command, "place", "propose", "data", "--least", "100", "--output", "tailrace.toml", cwd=tmp_path)
    text = (tmp_path / "tailrace.toml").read_text()
    assert text.startswith("# 1,440 files now, in 16 directories of at most 90 entries\n[[place.tree]]\n")
    assert "1,440 flat" in call(tailrace_command, "place", "check", cwd=tmp_path).stdout
    call(tailrace_command, "tree", "apply", "data", cwd=tmp_path)
    assert call(tailrace_command, "place", "check", cwd=tmp_path).stdout.startswith("1,440 files in trees, 0 flat")
    assert largest_directory(tmp_path / "data") == 90
    said = call(tailrace_command, "place", "propose", "data", "--output", "tailrace.toml", "--least", "50", cwd=tmp_path, status=2)
    assert "tailrace.toml: File exists" in said.stderr.replace("\n", "")
    assert (tmp_path / "tailrace.toml").read_text() == text


def test_a_recorded_run_is_proposed(tailrace_command: list[str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "input.1").write_text("read only")
    program = (
        "import os\nopen('input.1').read()\n"
        "for rank in range(4):\n for step in range(12):\n"
        "  with open(f'data/.tmp{rank}', 'w') as file: file.write('x')\n"
        "  os.rename(f'data/.tmp{rank}', f'data/file1.{rank:02}.{step:04}')\n"
        "for n in range(30): os.close(os.open(f'data/empty-{n}', os.O_CREAT | os.O_WRONLY))\n"
    )
    call(tailrace_command, "run", "--log", "log", "--", "/usr/bin/python3", "-c", program, cwd=tmp_path)
    done = call(tailrace_command, "place", "propose", "log", "--least", "20", "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert {(rule["files"], rule["names"]) for rule in answer["rules"]} == {
        ("data/file1.{rank:number}.{step:number}", 48),
        ("data/empty-{number:number}", 30),
    }
    assert len(tomllib.loads(answer["toml"])["place"]["tree"]) == 2
    assert answer["left"] == []


def test_nothing_to_propose_and_no_folder(tailrace_command: list[str], tmp_path: Path) -> None:
    make(tmp_path / "data", ["a.1", "a.2"])
    done = call(tailrace_command, "place", "propose", "data", cwd=tmp_path, status=1)
    assert done.stdout == ""
    assert "no folder has 1,000 that are alike; --least sets this number" in done.stderr
    done = call(tailrace_command, "place", "propose", "none", "--json", cwd=tmp_path, status=2)
    assert "No such file or directory" in json.loads(done.stdout)["error"]["message"]
