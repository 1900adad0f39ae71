"""[stage] of tailrace.toml: its values, and the rules file that has them."""

from __future__ import annotations

import json
import random
import struct
import subprocess
from pathlib import Path

import pytest
from tailrace.fnv import fnv1a
from tailrace.place.compiled import compiled
from tailrace.place.mapping import Mapping, problem_of
from tailrace.place.rules import rules_of
from tailrace.place.stage_rules import StageNode, StageRecord, StageRules, stage_of
from tailrace.toml_table import TomlError


def stage_rules(base: Path, *patterns: str, **more: object) -> StageRules:
    found = stage_of({"stage": {"files": list(patterns), "scratch": "/scratch", **more}}, "test.toml", base)
    assert found is not None
    return found


def mapping(base: Path, *patterns: str) -> Mapping:
    return Mapping(compiled((), StageRecord(stage_rules(base, *patterns), (StageNode("/scratch/run"),))))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("out/**", ("out/a", "out/b/c", "out/b/.c"), ("out", "outer/a", "a/out/b")),
        ("restart/*.bin", ("restart/a.bin", "restart/.bin"), ("restart/b/a.bin", "restart/a.bin2", "restart/abin")),
        ("**/*.nc", ("a.nc", "b/a.nc", "b/c/a.nc"), ("a.ncx", "b/a.nc/d")),
        ("*", ("a", "b.c"), ("a/b",)),
        ("run?/f.*.*", ("run1/f.0.1", "runx/f.a.b.c"), ("run/f.0.1", "run12/f.0.1", "run1/f.0")),
        ("a/**/b/*c", ("a/b/c", "a/x/b/c", "a/x/y/b/zc", "a/b/b/c"), ("a/xb/c", "a/b/x/c", "b/c")),
        ("**", ("a", "a/b"), ()),
        ("x**y", ("xy", "x/y", "xa/by"), ("xya",)),
    ],
)
def test_which_files_a_pattern_has(tmp_path: Path, pattern: str, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    made = mapping(tmp_path, "other", pattern)
    for path in yes:
        assert made.staged(f"{tmp_path}/{path}") == (f"/scratch/run/{path}", 1)
    for path in no:
        assert made.staged(f"{tmp_path}/{path}") is None
    assert made.staged(f"{tmp_path}x/a") is None


def test_long_paths_and_many_stars_end(tmp_path: Path) -> None:
    made = mapping(tmp_path, "*a" * 40 + "b", "**/a" * 40 + "/b")
    assert made.staged(f"{tmp_path}/{'a' * 2000}") is None
    assert made.staged(f"{tmp_path}/{'a/' * 1000}a") is None


def test_a_file_of_a_tree_is_not_staged(tmp_path: Path) -> None:
    trees = rules_of({"place": {"tree": [{"files": "out/{a}.{n:number}", "to": "t{hash%4}"}]}}, "test.toml", tmp_path)
    made = Mapping(compiled(trees, StageRecord(stage_rules(tmp_path, "out/**"), (StageNode("/scratch/run"),))))
    assert made.staged(f"{tmp_path}/out/a.1") is None
    assert made.staged(f"{tmp_path}/out/a") == ("/scratch/run/out/a", 0)


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ({}, "`files` is missing"),
        ({"files": []}, "names no file"),
        ({"files": ["/out"]}, "names no file below"),
        ({"files": ["out/"]}, "names no file below"),
        ({"files": ["a/../../b"]}, "names no file below"),
        ({"files": ["a"], "scratch": "relative"}, "must be an absolute folder"),
        ({"files": ["a"], "sink": "miror"}, "did you mean 'mirror'"),
        ({"files": ["a"], "bundles": "x"}, 'is only for sink = "bundle"'),
        ({"files": ["a"], "compression": "zstd"}, 'is only for sink = "bundle"'),
        ({"files": ["a"], "sink": "bundle", "compression": "zstd:20"}, "must be none, zstd or zstd:N with N from 1 to 19"),
        ({"files": ["a"], "min_free": "2 GB"}, "such as '2 GiB'"),
        ({"files": ["a"], "min_free": "999999999999 TiB"}, "more than any disk"),
        ({"files": ["a"], "minfree": "1 B"}, "did you mean `min_free`"),
    ],
)
def test_wrong_stages_are_refused(tmp_path: Path, stage: dict[str, object], said: str) -> None:
    with pytest.raises(TomlError, match=r"test.toml") as refused:
        stage_of({"stage": stage}, "test.toml", tmp_path)
    assert said in str(refused.value)


def sealed(data: bytearray) -> bytes:
    struct.pack_into("<I", data, 12, len(data))
    struct.pack_into("<Q", data, 16, fnv1a(bytes(data[24:])))
    return bytes(data)


def test_the_reader_of_stages_takes_any_bytes(tmp_path: Path) -> None:
    nodes = (StageNode("/scratch/run", "node", 1, 2), StageNode("/other/run", "another", 3, 4))
    good = compiled((), StageRecord(stage_rules(tmp_path, "out/**", "a?/*.x"), nodes))
    assert problem_of(good) is None
    assert all(problem_of(good[:size]) is not None for size in range(len(good)))
    draw = random.Random(11)
    used = 0
    for _ in range(4000):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(24, len(data))] = draw.choice((0, 1, 42, 47, 255, draw.randrange(256)))
        whole = sealed(data)
        if problem_of(whole) is not None:
            continue
        used += 1
        mutated = Mapping(whole)
        for name in ("out/a", "a1/b.x", "x" * 5000, "out/" + "*" * 300, "."):
            mutated.staged(f"{tmp_path}/{name}")
            mutated.physical(f"{tmp_path}/{name}")
    assert used > 100  # the mutations reach what is behind the checks


def test_a_rules_file_of_another_version_names_the_remedy(tmp_path: Path) -> None:
    data = bytearray(compiled((), StageRecord(stage_rules(tmp_path, "a"))))
    struct.pack_into("<I", data, 8, 2)
    problem = problem_of(sealed(data))
    assert problem is not None
    assert "of another version of Tailrace: start the command again" in problem


def test_explain_says_that_a_file_is_staged(tailrace_command: list[str], tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text('[stage]\nfiles = ["out/**"]\nscratch = "/dev/shm"\nmin_free = "2 GiB"\n')
    command = [*tailrace_command, "place", "explain"]
    done = subprocess.run([*command, "out/a.bin"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("out/a.bin -> /dev/shm/tailrace-RUN/out/a.bin, then out/a.bin (mirror)\n")
    assert 'by [stage] files = "out/**": at the target at once where scratch has less than 2.0 GiB free' in done.stdout
    done = subprocess.run([*command, "b", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert json.loads(done.stdout)["paths"][0]["rule"] is None
