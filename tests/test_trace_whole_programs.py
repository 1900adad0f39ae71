"""Programs of which `tailrace coverage` says that all was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.harness import BenchError, whole_programs
from bench.harness.whole_programs import Program


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole_programs.compile_programs(tmp_path_factory.mktemp("programs"))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("program", whole_programs.PROGRAMS, ids=lambda program: program.name)
def test_a_program_is_recorded_whole(program: Program, programs: Path, tmp_path: Path, needs: Any) -> None:
    needs(*filter(None, [program.needs]))
    result = whole_programs.run(program, programs, tmp_path / "run")
    assert (result.status, result.coverage) == (0, 0), result.said


@pytest.mark.fast
def test_an_absent_program_is_an_error_with_its_package(tmp_path: Path) -> None:
    absent = Program("absent", lambda _: ["absent-program"], "some-package", "absent-program")
    with pytest.raises(BenchError, match="absent-program is missing: install it with `apt install some-package`"):
        whole_programs.run(absent, tmp_path, tmp_path / "run")


def test_a_program_that_is_not_seen_is_not_whole(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text('#include <unistd.h>\nint main(void) { return write(1, "text", 4) != 4; }\n')
    words = ["sh", "-c", f"gcc -static {tmp_path}/main.c -o main; ./main"]
    result = whole_programs.run(Program("static", lambda _: words, "g++"), tmp_path, tmp_path / "run")
    assert (result.status, result.coverage) == (0, 1)
    assert "without a log" in result.said


@pytest.mark.fast
def test_there_are_forty() -> None:
    assert len({program.name for program in whole_programs.PROGRAMS}) == len(whole_programs.PROGRAMS) >= 40
