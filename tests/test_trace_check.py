"""`tailrace check` finds programs that cannot be traced, programs with gaps, and programs without."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tailrace.trace import check, loader, program_file
from tailrace.trace.check import Report, Verdict
from tailrace.trace.elf import NotElf, read_elf
from tailrace.trace.machine_code import system_calls
from tailrace.trace.program_file import NoProgram

Build = Callable[..., Path]
MACHINE_AT = 18  # of an ELF header
AARCH64 = 183


@pytest.fixture
def build(tmp_path: Path, needs: Any) -> Build:
    """Compiles a C program (or, with -shared, a library) of these statements."""
    needs("gcc")

    def compile_it(body: str, *options: str, name: str = "program", head: str = "") -> Path:
        source, made = tmp_path / f"{name}.c", tmp_path / name
        source.write_text(f"#define _GNU_SOURCE\n#include <fcntl.h>\n#include <unistd.h>\n{head}\n{body}\n")
        subprocess.run(["gcc", "-O1", str(source), "-o", str(made), *options], check=True)
        return made

    return compile_it


def kinds(report: Report, verdict: Verdict) -> set[str]:
    return {finding.kind for finding in report.findings if finding.verdict == verdict}


def test_a_plain_program_has_no_gaps(build: Build) -> None:
    report = check.check(str(build('int main(void) { return open("/etc/fstab", O_RDONLY) < 0; }')))
    assert report.verdict == Verdict.SEEN
    assert report.mpi == ""
    assert [elf.soname for elf in report.program.libraries] == ["libc.so.6", "ld-linux-x86-64.so.2"]


def test_a_static_program_cannot_be_traced(build: Build) -> None:
    program = build("int main(void) { return 0; }", "-static")
    report = check.check(str(program))
    assert report.verdict == Verdict.UNTRACEABLE
    assert kinds(report, Verdict.UNTRACEABLE) == {"static"}
    assert "linked statically" in program_file.launch_warning(str(program))


def test_a_setuid_program_cannot_be_traced(build: Build) -> None:
    program = build("int main(void) { return 0; }")
    if os.getuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(program, 12345, -1)
    program.chmod(0o4755)
    assert kinds(check.check(str(program)), Verdict.UNTRACEABLE) == {"rights"}
    program.chmod(0o0755)
    assert check.check(str(program)).verdict == Verdict.SEEN


def test_code_of_another_machine_cannot_be_traced(build: Build) -> None:
    program = build("int main(void) { return 0; }")
    content = bytearray(program.read_bytes())
    content[MACHINE_AT : MACHINE_AT + 2] = AARCH64.to_bytes(2, "little")
    program.write_bytes(content)
    assert "machine" in kinds(check.check(str(program)), Verdict.UNTRACEABLE)


def test_a_library_that_is_not_found_is_named(build: Build, tmp_path: Path) -> None:
    library = build("int answer(void) { return 42; }", "-shared", "-fPIC", "-Wl,-soname,libanswer.so", name="libanswer.so")
    program = build("int answer(void); int main(void) { return answer(); }", f"-L{tmp_path}", "-lanswer")
    assert kinds(check.check(str(program)), Verdict.UNTRACEABLE) == {"missing"}
    report = check.check(str(program), {"LD_LIBRARY_PATH": str(tmp_path)})
    assert library.resolve() in [elf.path for elf in report.program.libraries]
    with_path = build(
        "int answer(void); int main(void) { return answer(); }", f"-L{tmp_path}", "-lanswer", "-Wl,-rpath,$ORIGIN", name="with_path"
    )
    assert check.check(str(with_path)).verdict == Verdict.SEEN


@pytest.mark.parametrize(("number", "kind"), [(1, "raw"), (17, "raw"), (425, "io_uring")])
def test_system_calls_without_the_c_library_are_a_gap(build: Build, number: int, kind: str) -> None:
    body = f'int main(void) {{ long a; asm volatile("mov ${number}, %%eax; syscall" : "=a"(a) :: "rcx", "r11"); return a; }}'
    program = build(body)
    assert system_calls(program).numbers == {number: 1}
    assert kinds(check.check(str(program)), Verdict.GAPS) == {kind}


def test_system_calls_not_on_files_are_no_gap(build: Build) -> None:
    program = build('int main(void) { long a; asm volatile("mov $39, %%eax; syscall" : "=a"(a) :: "rcx", "r11"); return a < 0; }')
    report = check.check(str(program))
    assert (report.verdict, kinds(report, Verdict.SEEN)) == (Verdict.SEEN, {"raw"})


def test_the_same_bytes_within_an_address_are_no_system_call(build: Build) -> None:
    """A linker may place a function or a text at such an address."""
    program = build(
        'int main(void) { long a; asm volatile("mov $1, %%eax; lea 0x7fff050f(%%rax), %%rax" : "=a"(a)); return a == 0; }'
    )
    assert b"\xb8\x01\0\0\0\x48\x8d\x80\x0f\x05" in program.read_bytes()
    assert (system_calls(program).numbers, system_calls(program).unclear) == ({}, 0)
    assert check.check(str(program)).verdict == Verdict.SEEN
    # Without the table of functions they cannot be told apart.
    bare = program.with_name("bare")
    subprocess.run(["objcopy", "-R", ".eh_frame_hdr", program, bare], check=True)
    assert system_calls(bare).numbers == {1: 1}


def test_functions_that_are_not_recorded_are_named(build: Build) -> None:
    report = check.check(str(build("int main(void) { return tee(0, 1, 2, 0) < 0; }")))
    (gap,) = [finding for finding in report.findings if finding.verdict == Verdict.GAPS]
    assert (gap.kind, gap.where.name) == ("unseen", "program")
    assert gap.full_text.startswith("tee: ")


def test_dlopen_is_reported(build: Build) -> None:
    report = check.check(str(build("int main(void) { return dlopen(0, 1) == 0; }", head="#include <dlfcn.h>")))
    assert (report.verdict, "dlopen" in kinds(report, Verdict.SEEN)) == (Verdict.SEEN, True)


def test_mpi_is_known_by_its_library(build_dir: Path, needs: Any) -> None:
    needs("mpirun")
    assert check.check("ompi_info").mpi.startswith("Open MPI")


def test_scripts_lead_to_their_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env -S {os.path.realpath(sys.executable)}\nprint(1)\n")
    script.chmod(0o755)
    report = check.check(str(script))
    assert report.program.scripts == (script,)
    assert report.program.elf.path.name.startswith("python3")
    assert {"script", "python"} <= kinds(report, Verdict.SEEN)


@pytest.mark.parametrize("line", ["#!\n", "#!/no/such/interpreter\n", "\0\1\2"])
def test_a_file_that_is_no_program_is_refused(tmp_path: Path, line: str) -> None:
    script = tmp_path / "script"
    script.write_text(line)
    script.chmod(0o755)
    with pytest.raises(NoProgram, match=r"script|interpreter"):
        loader.inspect_program(str(script))


def test_damaged_programs_are_refused(tmp_path: Path, rng: Any) -> None:
    whole = Path(shutil.which("true") or "").read_bytes()
    path = tmp_path / "damaged"
    for _ in range(60):
        damaged = bytearray(whole[: rng.randrange(4, len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.choice((1, 5, 50))):
            damaged[rng.randrange(4, min(1024, len(damaged)))] = rng.randrange(256)
        path.write_bytes(damaged)
        read_elf.cache_clear()
        with contextlib.suppress(NotElf):  # and no other error
            read_elf(path)
            system_calls.cache_clear()
            system_calls(path)


def test_the_command_prints_text_and_json(build: Build, tailrace_command: list[str]) -> None:
    program = build("int main(void) { return tee(0, 1, 2, 0) < 0; }")
    shown = subprocess.run([*tailrace_command, "check", str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert shown.returncode == 1
    assert "tee" in shown.stdout
    answer = subprocess.run(
        [*tailrace_command, "check", str(program), "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    assert json.loads(answer.stdout)["verdict"] == "gaps"
    absent = subprocess.run(
        [*tailrace_command, "check", "no-such-program"], capture_output=True, text=True, timeout=60, check=False
    )
    assert absent.returncode == 2
    assert "no such program" in absent.stderr


def test_a_file_that_is_not_executable_has_its_own_message(tailrace_command: list[str], tmp_path: Path) -> None:
    (tmp_path / "model.sh").write_text("#!/bin/sh\n")
    for words in (["check"], ["run", "--"]):
        command = [*tailrace_command, *words, "./model.sh"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert "./model.sh: not executable; chmod +x it" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model.sh"], "a run that did not begin leaves no folder"


def test_run_warns_and_continues(build: Build, tailrace_command: list[str], tmp_path: Path) -> None:
    program = build("int main(void) { return 3; }", "-static")
    command = [*tailrace_command, "run", "--log", str(tmp_path / "logs"), "--", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "cannot be traced and runs without a log" in done.stderr


@pytest.mark.parametrize(
    "options", [[], ["-fno-plt"], ["-fcf-protection=full", "-Wl,-z,ibtplt"], ["-Wl,-z,now"], ["-no-pie"], ["-O0"]]
)
@pytest.mark.parametrize(("number", "kinds_found"), [(425, {"io_uring"}), (39, set())])
def test_io_uring_through_syscall_is_found(build: Build, options: list[str], number: int, kinds_found: set[str]) -> None:
    """malloc has the same number, and is no gap."""
    head = "#include <stdlib.h>\n#include <sys/syscall.h>"
    body = f"char room[120]; void *kept; int main(void) {{ kept = malloc(425); return syscall({number}, 4, room) < 0; }}"
    assert kinds(check.check(str(build(body, *options, head=head))), Verdict.GAPS) == kinds_found


def test_a_command_with_arguments_is_its_program(build: Build, tailrace_command: list[str]) -> None:
    program = str(build("int main(void) { return 0; }"))
    for words in ([program], ["--", program, "--details", "-n", "input"], [program, "input"]):
        shown = subprocess.run([*tailrace_command, "check", *words], capture_output=True, text=True, timeout=60, check=False)
        assert (shown.returncode, shown.stdout.count("\n")) == (0, 2), shown.stdout + shown.stderr


def test_the_verdict_has_two_lines(build: Build, tailrace_command: list[str], tmp_path: Path) -> None:
    def lines(program: Path, *options: str) -> list[str]:
        words = [*tailrace_command, "check", str(program), *options]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False).stdout.splitlines()

    whole = build("int main(void) { return 0; }", name="whole")
    assert lines(whole)[0] == "whole: every call through the C library will be recorded"
    gaps = build("int main(void) { return tee(0, 1, 2, 0) < 0; }", name="gaps")
    first, second = lines(gaps)
    assert (first, second.startswith("gaps: tee: ")) == ("gaps: calls will be recorded, with gaps", True)
    static = build("int main(void) { return 0; }", "-static", name="static")
    assert lines(static)[0] == "static: nothing will be recorded"
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    first, _ = lines(script)
    assert first.startswith("script.sh (a script that ")
    assert len(lines(gaps, "--details")) > 3
