"""What `tailrace run` does before a program starts: it takes little, and changes only the tracer's variables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tailrace.cli import app, run, run_options
from tailrace.cli.run_options import RunOptions
from tailrace.trace import launch, program_file

from tests.environment import ROOT

pytestmark = pytest.mark.fast

TRACER_KEYS = {launch.PRELOAD_KEY, launch.FOLDER_KEY, launch.BUDGET_KEY}
SLOW_MODULES = ("numpy", "typer", "rich", "elftools", "pydantic", "tailrace._core")
EM_386_AT, ELF_CLASS_AT = 18, 4


def environment_of(command: Sequence[str], environment: dict[str, str], folder: Path) -> dict[str, str]:
    shown = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout
    return dict(entry.split("=", 1) for entry in shown.split("\0") if entry)


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"LC_ALL": "C"},
        {"LANG": "C.UTF-8"},
        {"LC_CTYPE": "C.UTF-8"},
        {"PYTHONPATH": "/home/me/model"},
        {"PYTHONPATH": str(ROOT / "python"), "PYTHONHASHSEED": "0"},
        {"EMPTY": "", "TWO": "a\nb=c"},
    ],
)
def test_a_program_gets_its_own_environment_and_the_tracers_variables(
    tailrace_command: list[str], tmp_path: Path, own: dict[str, str]
) -> None:
    environment = {"PATH": os.environ["PATH"], **own}
    shows_all = ["env", "-0"]
    alone = environment_of(shows_all, environment, tmp_path)
    traced = environment_of([*tailrace_command, "run", "--log", "log", "--", *shows_all], environment, tmp_path)
    assert alone == environment
    assert traced.keys() - alone.keys() == TRACER_KEYS
    assert {key: value for key, value in traced.items() if key not in TRACER_KEYS} == alone
    assert list((tmp_path / "log").glob("*.trace"))


def test_little_is_imported_before_a_program_starts() -> None:
    look = f"import sys; import tailrace.cli, tailrace.cli.recorded_run; print([m for m in {SLOW_MODULES} if m in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    shown = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "words",
    [
        ["./model"],
        ["--", "./model", "--log", "x"],
        ["./model", "--log", "x", "--no-follow"],
        ["--log", "first", "./model"],
        ["--log=first", "--", "./model", "--", "y"],
        ["--log", "--", "./model"],
        ["--log=", "./model"],
        ["--budget", "3", "--no-follow", "./model", "-h"],
        ["--budget=7", "--follow", "./model"],
        ["--no-follow", "--follow", "--budget", "1", "--budget", "2", "./model"],
        ["--budget", "007", "m"],
        ["--budget", "1_0", "m"],
        ["--budget", " 5", "m"],
        ["-", "m"],
        ["--share", "group", "m"],
        ["--share=all", "--log", "x", "m"],
        ["--share", "owner", "m"],
    ],
)
def test_options_are_what_typer_reads(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader without Typer agrees with it, or leaves the words to it."""
    seen: list[RunOptions] = []

    def see(options: RunOptions) -> int:
        seen.append(options)
        return 0

    monkeypatch.setattr(run, "run", see)
    app.answer(["run", *words])
    own = run_options.parsed(words)
    assert own is None or [own] == seen


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["-h"],
        ["--log"],
        ["--budget", "0", "m"],
        ["--budget", "x", "m"],
        ["--budget", "-1", "m"],
        ["--share", "x", "m"],
        ["--follow=1"],
    ],
)
def test_what_is_not_understood_is_left_to_typer(words: list[str]) -> None:
    assert run_options.parsed(words) is None


def test_every_option_of_run_is_known_to_both() -> None:
    import typer

    command = typer.main.get_command(app.make_app(["run"])).commands["run"]  # type: ignore[attr-defined]
    theirs = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts) if word[0] == "-"}
    assert theirs == {*run_options.VALUES, *run_options.OTHER_NAMES, *run_options.SWITCHES, *run_options.LEFT_TO_TYPER}


def test_warnings_come_from_the_beginning_of_the_file(tmp_path: Path) -> None:
    program = tmp_path / "program"
    content = bytearray(Path("/bin/true").read_bytes())
    program.write_bytes(content)
    program.chmod(0o755)
    assert program_file.launch_warning(str(program)) == ""
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env -S {program} -x\n")
    script.chmod(0o755)
    assert program_file.started_file(script) == (program.resolve(), (script,))
    content[EM_386_AT] = 3
    program.write_bytes(content)
    assert "386" in program_file.launch_warning(str(script))
    content[ELF_CLASS_AT] = 9
    program.write_bytes(content)
    with pytest.raises(program_file.NoProgram, match="damaged"):
        program_file.read_program_file(program)
    assert program_file.launch_warning(str(program)) == ""
    library = next(Path("/lib/x86_64-linux-gnu").glob("libz.so.1*"))
    assert "a library" in "".join(text for _, text in program_file.obstacles(program_file.read_program_file(library)))


def test_a_fifo_is_no_program(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o755)
    assert program_file.launch_warning(str(fifo)) == ""
    with pytest.raises(OSError, match="no regular file"):
        program_file.is_elf(fifo)
