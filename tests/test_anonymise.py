"""tailrace report --anonymise: no name of the log is in any output, and all sums are as they are without it."""

from __future__ import annotations

import dataclasses
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tailrace.findings import verdict_of
from tailrace.trace.aliases import Aliases
from tailrace.trace.anonymous import KEPT_TEXTS, Anonymous
from tailrace.trace.file_groups import NUMBER, FileGroup
from tailrace.trace.model import Run
from tailrace.trace.schema import TABLES, empty, table_of
from tailrace.trace.system_files import is_user_data
from tailrace.trace.table_parts import TableParts

from tests.run_pages import unpacked
from tests.trace_logs import make_run

SECRETS = ("anna", "zeppelin", "proteus", "enceladus", "umbriel", "20261127", "quokka")
SCRIPT = """
import os
os.makedirs("home/anna/zeppelin", exist_ok=True)
for step in range(12):
    with open(f"home/anna/zeppelin/proteus.{step}.nc", "wb", buffering=0) as file:
        for _ in range(3000):
            file.write(b"x" * 10)
        os.fsync(file.fileno())
with open("home/anna/enceladus_20261127.weird", "wb") as file:
    file.write(bytes(5000))
for _ in range(20000):
    try:
        open("home/anna/umbriel.txt")
    except OSError:
        pass

"""


@pytest.fixture(scope="module")
def folder(tailrace_command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("quokka")
    words = ["run", "--log", "log-of-anna", "--", "python3", "-c", SCRIPT, "umbriel=secret"]
    subprocess.run([*tailrace_command, *words], cwd=here, check=True, capture_output=True, timeout=60)
    return here


@pytest.fixture(scope="module")
def texts(tailrace_command: list[str], folder: Path) -> dict[str, str]:
    found = {}
    for name, words in (("terminal", ["--html", "page.html"]), ("json", ["--json"])):
        command = [*tailrace_command, "report", "log-of-anna", "--anonymise", *words]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60)
        found[name] = done.stdout + done.stderr
    found["page"] = unpacked((folder / "page.html").read_text())
    return found


def names_of(folder: Path) -> set[str]:
    """Every name in the log: of files, folders, programs, hosts."""
    run = Run.read(folder / "log-of-anna")
    paths = [*run.files, *(row["program"] for row in run.processes)]
    return {*paths, *run.hosts, *(part for path in paths for part in path.split("/"))}


@pytest.mark.parametrize("form", ["terminal", "json", "page"])
def test_no_name_of_the_log_is_in_the_output(folder: Path, texts: dict[str, str], form: str) -> None:
    text = texts[form]
    for secret in (*SECRETS, str(folder), socket.gethostname(), sys.executable):
        assert secret not in text
    words = {word for word in names_of(folder) if len(word) > MOST_KEPT_LETTERS and word not in Aliases().file(word)}
    assert len(words) > 10
    calls = {call.name for call in Run.read(folder / "log-of-anna").calls}  # readlink is a program, too
    assert [word for word in words if word in text and word not in KNOWN | calls] == []
    assert "file-" in text


MOST_KEPT_LETTERS = 5  # shorter words are also parts of other words
# Words that are also words of the report itself.
KNOWN = {"python3", "python", "tailrace", "encodings", "version", "process", "numbers", "random", "errors", "posix", "types"}


def test_same_log_same_aliases(tailrace_command: list[str], folder: Path, texts: dict[str, str]) -> None:
    command = [*tailrace_command, "report", "log-of-anna", "--anonymise", "--json"]
    again = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    assert again.stdout in texts["json"]


def sums_text(pair: tuple[FileGroup, Any]) -> str:
    group, row = pair
    return f"{len(group.files)} {group.sharing} {is_user_data(group.files[0])} {row}"


def test_findings_and_sums_are_the_same(folder: Path) -> None:
    source = folder / "log-of-anna"
    runs = Run.read(source, with_calls=True), Anonymous().read(source)
    plain, other = (verdict_of(run.activity) for run in runs if run.activity is not None)

    def numbers(verdict: Any) -> Any:
        named = ("what", "files")
        found = dataclasses.asdict(verdict)
        return {**found, "findings": [{k: v for k, v in row.items() if k not in named} for row in found["findings"]]}

    assert plain.findings
    assert numbers(plain) == numbers(other)
    assert runs[0].by_layer() == runs[1].by_layer()
    assert runs[0].by_call() == runs[1].by_call()
    assert sorted(map(str, runs[0].by_file().values())) == sorted(map(str, runs[1].by_file().values()))
    sums = [sorted(map(sums_text, run.groups())) for run in runs]
    assert sums[0] == sums[1]
    steps = next(group.name for group, row in runs[1].groups() if len(group.files) == 12)
    assert steps.endswith(".N.nc"), steps


def test_hosts_and_time_of_day_are_gone(tmp_path: Path) -> None:
    source = make_run(tmp_path / "run")
    run = Anonymous().read(source)
    facts = run.facts
    assert run.hosts == ["node-a", "node-b"]
    assert facts.command is None
    assert facts.begin_real_ns is None
    assert len(run.processes) == 3
    assert run.by_call() == Run.read(source).by_call()


def test_text_columns_are_kept_by_a_list() -> None:
    """A column that somebody adds is left out until it is in the list."""
    row = {"log": 0, "host": "frodo", "process": 1, "program": "/home/sam/a.out", "command": "a.out --token=1", "begin_ns": 0}
    tables = empty(processes=table_of("processes", [row]))
    tables["processes"] = tables["processes"].append_column("environment", [["TOKEN=1"]])
    (part,) = Anonymous().parts(TableParts(iter([tables]), 1)).parts
    found = part["processes"].to_pylist()[0]
    assert (found["host"], found["program"], found["command"], found["environment"]) == (
        "node-a",
        "/home/dir-a/file-a.out",
        None,
        None,
    )
    known = {field.name for schema in TABLES.values() for field in schema if "string" in str(field.type)}
    assert known - KEPT_TEXTS == {"host", "program", "command", "file", "other_name"}


NAMES = [
    "/home/anna/dump.0.10.lammpstrj",
    "/home/anna/dump.1.10.lammpstrj",
    "/home/anna/out_3.nc",
    "/lib/x86_64-linux-gnu/libz.so.1.2",
    "/library/of/anna",
    "/usr/lib/python3.11/site-packages/quokka/__init__.py",
    "/dev/shm/anna",
    "/dev/anna",
    "/proc/4711/maps",
    "/run/anna/1",
    "/scratch/20261127/7/a",
    "/scratch/20261128/7/a",
    "relative",
    "?",
]


def test_aliases_keep_what_decides() -> None:
    """Whose file it is, which files form a group, and that different names stay different."""
    aliases = Aliases()
    found = [aliases.file(name) for name in NAMES]
    assert len(set(found)) == len(NAMES)
    assert not any("anna" in alias or "quokka" in alias or "202611" in alias for alias in found)
    patterns = [[tuple(NUMBER.split(name)[::2]) for name in names] for names in (NAMES, found)]
    assert [patterns[0].index(each) for each in patterns[0]] == [patterns[1].index(each) for each in patterns[1]]
    from tailrace.trace.activity import is_software

    for name, alias in zip(NAMES, found, strict=True):
        assert (is_user_data(name), is_software(name)) == (is_user_data(alias), is_software(alias)), (name, alias)
        assert aliases.file(name) == alias
    assert found[0].endswith(".0.10.lammpstrj")
    assert found[0].startswith("/home/dir-")
    assert found[2].endswith(".3.nc")


@pytest.mark.parametrize("name", ["MPI ranks 0-3,8", "MPI ranks 900 of #12345", "socket:[42]", "pipe:[42]", "anon_inode:[eventfd]"])
def test_names_of_the_tracer_and_the_kernel_stay(name: str) -> None:
    assert Aliases().file(name) == name


@pytest.mark.parametrize("name", ["MPI ranks of anna", "socket:anna", "T anna", "socket:[anna]"])
def test_names_that_only_look_like_it_do_not(name: str) -> None:
    assert "anna" not in Aliases().file(name)
    assert "anna" not in Aliases().word(name)


def test_json_has_the_same_seconds(tailrace_command: list[str], folder: Path, texts: dict[str, str]) -> None:
    command = [*tailrace_command, "report", "log-of-anna", "--json"]
    plain = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout)
    found = json.loads(texts["json"])
    assert [row["seconds"] for row in found["findings"]] == [row["seconds"] for row in plain["findings"]]
    assert found["io_s"] == plain["io_s"]
