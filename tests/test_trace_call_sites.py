"""Names of places in programs: a symbol names only what its size covers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tailrace.trace.call_sites import places_of
from tailrace.trace.functions import functions_of

pytestmark = pytest.mark.fast

SOURCE = """
int seen;
__attribute__((noinline)) static void hidden(void) { ++seen; }
void visible(void) { hidden(); ++seen; }
__attribute__((noinline)) static void hidden_too(void) { hidden(); seen += 2; }
int main(void) { hidden_too(); visible(); return 0; }
"""
FORTRAN = """
module model
  integer :: seen = 0
contains
  subroutine advance()
    seen = seen + 1
  end subroutine
end module
program p
  use model
  call advance()
end program
"""
CXX = "namespace model { int seen; void write(int more) { seen += more; } } int main() { model::write(1); }"


def build(folder: Path, source: str, *options: str, compiler: str = "gcc", suffix: str = ".c") -> Path:
    text, program = folder / f"source{suffix}", folder / "program"
    text.write_text(source)
    subprocess.run([compiler, *options, text, "-o", program], check=True, timeout=60)
    return program


def address_of(program: Path, symbol: str) -> tuple[int, int]:
    """The address of a function, and its size."""
    lines = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    (words,) = [line.split() for line in lines if line.endswith(f" {symbol}")]
    return int(words[0], 16), int(words[1], 16)


def site(program: Path, address: int) -> str:
    functions = functions_of(program)
    assert functions is not None
    return f"{program}+0x{address - functions.base:x}"


@pytest.mark.parametrize("options", [["-O1", "-fPIE", "-pie"], ["-O1", "-fno-pie", "-no-pie"]])
def test_a_function_without_a_symbol_does_not_get_the_name_of_another_one(tmp_path: Path, options: list[str]) -> None:
    program = build(tmp_path, SOURCE, *options, "-rdynamic")
    inside = {name: site(program, address_of(program, name)[0] + 4) for name in ("visible", "hidden", "hidden_too")}
    before = {name: place.function for name, place in places_of(inside.values()).items()}
    assert before == {inside[name]: name for name in inside}
    subprocess.run(["strip", program], check=True, timeout=60)
    functions_of.cache_clear()
    found = places_of(inside.values())
    assert found[inside["visible"]].function == "visible"
    for name in ("hidden", "hidden_too"):
        assert found[inside[name]].text == f"program+0x{inside[name].partition('+0x')[2]}"


def test_the_end_of_a_function_is_its_own_and_what_follows_is_not(tmp_path: Path) -> None:
    """A call may be a function's last instruction: then the return address is the next function's."""
    program = build(tmp_path, SOURCE, "-O1")
    begin, size = address_of(program, "visible")
    last, beyond = site(program, begin + size), site(program, begin + size + 1)
    found = places_of([last, beyond])
    assert found[last].function == "visible"
    assert found[beyond].function != "visible"


def test_a_place_with_debugging_information_has_its_line(tmp_path: Path) -> None:
    program = build(tmp_path, SOURCE, "-O0", "-g", "-no-pie")
    inside = site(program, address_of(program, "visible")[0] + 5)
    place = places_of([inside])[inside]
    assert (place.function, place.line, place.text) == ("visible", "source.c:4", "source.c:4")


@pytest.mark.parametrize(
    ("source", "compiler", "suffix", "symbol", "name"),
    [
        (FORTRAN, "gfortran", ".f90", "__model_MOD_advance", "model::advance"),
        (CXX, "g++", ".cpp", "_ZN5model5writeEi", "model::write(int)"),
    ],
)
def test_names_are_those_of_the_language(tmp_path: Path, source: str, compiler: str, suffix: str, symbol: str, name: str) -> None:
    options = ["-O0", f"-J{tmp_path}"] if compiler == "gfortran" else ["-O0"]
    program = build(tmp_path, source, *options, compiler=compiler, suffix=suffix)
    inside = site(program, address_of(program, symbol)[0] + 4)
    assert places_of([inside])[inside].function == name


def test_files_that_are_no_programs_have_no_functions(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    (tmp_path / "damaged").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    sites = [f"{tmp_path}/{name}+0x10" for name in ("text", "damaged", "absent")] + ["", "no place", "/x+0xzz"]
    assert {name: place.function + place.line for name, place in places_of(sites).items()} == dict.fromkeys(sites, "")
