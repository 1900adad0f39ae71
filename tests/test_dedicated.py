"""Ranks that only write: the same files as without, overlapped or not, within a node and between nodes; errors; refusals."""

from __future__ import annotations

import itertools
from pathlib import Path

import netCDF4
import pytest
import tailrace

from tests import formula
from tests.environment import ROOT
from tests.error_run import committed_steps
from tests.matrix import DECOMPOSITIONS, SMALL, STEPS_PER_FILE, Case
from tests.mpirun import Mpirun
from tests.written import STREAM, check_values, verify, write

pytestmark = pytest.mark.both_mpis(4, 10)

STEPS = 4
FILES = ("one", "2", "per-node")
EXTRAS = ("", "overlap = 2", "overlap = 3\ncompression = 'deflate'\nchunk = '32 KiB'", "durability = 'step'")
LARGE = formula.Sizes(lev=3, lat=50, lon=90)


def options_of(files: str, dedicated: int, extra: str = "") -> str:
    return f"files = '{files}'\nwriters = 'dedicated:{dedicated}'\n{extra}"


def case_of(files: str, steps: str, dedicated: int, ranks: int, decomposition: str, memory: str, extra: str) -> Case:
    return Case("single", steps, 0, ranks, decomposition, memory, "climate", options_of(files, dedicated, extra))


def whole_matrix() -> list[tuple[Case, int, int]]:
    """With the number of ranks that are set aside, and ranks a node (0: all are on one)."""
    kinds = itertools.cycle(itertools.product(((2, 1), (3, 1), (4, 2), (5, 2), (4, 1)), (0, 1, 2), ("dense", "halo"), EXTRAS))
    cases = []
    for files, steps, decomposition in itertools.product(FILES, STEPS_PER_FILE, DECOMPOSITIONS):
        (ranks, dedicated), per_node, memory, extra = next(kinds)
        cases.append((case_of(files, steps, dedicated, ranks, decomposition, memory, extra), dedicated, per_node))
    return cases


def written_cases() -> list[object]:
    cases = [drawn for drawn in whole_matrix() if not is_refused(drawn[0])]
    return [pytest.param(drawn, id=f"{drawn[0].label}-{number}") for number, drawn in enumerate(cases)]


def is_refused(case: Case) -> bool:
    """Several steps in each of several files, compressed, by several writers."""
    return "compression" in case.extra and "'one'" not in case.extra and case.steps_per_file != "1"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("drawn", written_cases())
def test_every_value(mpirun: Mpirun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: tuple[Case, int, int]) -> None:
    """Two runs; the second goes on. TAILRACE_RANKS_PER_NODE makes nodes of ranks, between which steps travel as messages."""
    case, dedicated, per_node = drawn
    if per_node > 0:
        monkeypatch.setenv("TAILRACE_RANKS_PER_NODE", str(per_node))
    write(mpirun, tmp_path, case, LARGE, STEPS, f"dedicated={dedicated}")
    write(mpirun, tmp_path, case, LARGE, 2, f"dedicated={dedicated}")
    monkeypatch.delenv("TAILRACE_RANKS_PER_NODE", raising=False)
    verify(tmp_path)
    check_values(tmp_path, "climate", LARGE, STEPS + 2)
    assert f"{STEPS + 2} steps, " in mpirun("read_case", 2, [tmp_path, STREAM, "set=climate", LARGE.argument]).output


def test_goes_on_with_what_others_wrote(mpirun: Mpirun, tmp_path: Path) -> None:
    """Steps by the ranks themselves, by ranks that only write, and again by themselves."""
    plain = Case("shared", "'all'", 0, 3, "rows", "dense", "climate")
    write(mpirun, tmp_path, plain, SMALL, 2)
    write(mpirun, tmp_path, case_of("one", "'all'", 1, 3, "columns", "dense", "overlap = 1"), SMALL, 2, "dedicated=1")
    write(mpirun, tmp_path, plain, SMALL, 1)
    verify(tmp_path)
    check_values(tmp_path, "climate", SMALL, 5)


def failed(mpirun: Mpirun, folder: Path, ranks: int, options: str, *choices: str) -> str:
    finished = mpirun("write_case", ranks, [folder, STREAM, options, SMALL.argument, *choices], check=False)
    assert finished.returncode != 0
    return finished.output


def test_what_makes_no_sense_is_refused(mpirun: Mpirun, tmp_path: Path) -> None:
    output = failed(mpirun, tmp_path, 2, options_of("one", 1))
    assert "writers = dedicated:1 needs ranks that are set aside; call tailrace_set_aside when the program starts" in output
    output = failed(mpirun, tmp_path, 4, options_of("one", 1), "dedicated=2")
    assert "writers = dedicated:1, but 2 ranks are set aside; say writers = dedicated:2" in output
    output = failed(mpirun, tmp_path, 3, options_of("one", 2), "dedicated=2")
    assert "of 3 ranks 2 cannot be set aside to write: at least 1, and at most half" in output
    output = failed(mpirun, tmp_path, 2, options_of("one", 1, "overlap = 1\noverlap_policy = 'drop'"), "dedicated=1")
    assert "are not for writers = dedicated:N" in output
    assert not (tmp_path / "history.nc").exists()


@pytest.mark.parametrize("overlap", [0, 2])
def test_an_error_there_is_told_on_all_ranks(mpirun: Mpirun, tmp_path: Path, small_device: Path, overlap: int) -> None:
    """A full device; the steps before are there, and a run with room goes on."""
    options = options_of("one", 1, f"steps = 1\noverlap = {overlap}")
    words = [small_device, STREAM, options, LARGE.argument, "steps=200", "dedicated=1"]
    finished = mpirun("write_case", 3, words, check=False)
    assert finished.returncode != 0
    assert "on the ranks that write: " in finished.output
    assert "No space left on device" in finished.output
    assert finished.output.count("NO_SPACE") >= 1
    report = tailrace.verify(small_device, STREAM, deep=True)
    assert all("half-written line" in p["problem"] or "index" in p["problem"] for p in report["problems"]), report
    assert 0 < len(committed_steps(small_device)) < 200


def test_python_sets_aside(build_dir: Path, tmp_path: Path) -> None:
    output = Mpirun(build_dir)(ROOT / "tests" / "python_dedicated.py", 4, [tmp_path]).stdout
    assert output.count("computed") == 3
    assert output.count("wrote") == 1
    verify(tmp_path)
    assert len(committed_steps(tmp_path)) == 3


def test_ragged_elements_are_in_the_order_of_the_ranks(build_dir: Path, tmp_path: Path) -> None:
    output = Mpirun(build_dir)(ROOT / "tests" / "python_dedicated.py", 4, [tmp_path, "ragged"]).stdout
    assert output.count("refused: ") == 3
    assert len(committed_steps(tmp_path)) == 3
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        ids, masses = file["id"][:], file["mass"][:]
        assert file["particle_row_size"][:].tolist() == [6, 9, 12]
    expected = [(10 * step + rank, k + 0.5) for step in range(3) for rank in range(3) for k in range(rank + 1 + step)]
    assert list(zip(ids.tolist(), masses.tolist(), strict=True)) == expected


def test_a_stream_that_was_left_open_is_told_and_shown(build_dir: Path, tmp_path: Path) -> None:
    output = Mpirun(build_dir)(ROOT / "tests" / "python_dedicated.py", 3, [tmp_path, "late"]).stdout
    assert output.count("1 streams that other ranks write were open; what they have committed stays") == 2
    assert output.count("the ranks that were set aside are released") == 2
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        assert file["v"][:].tolist() == [[7.0, 7.0]]


@pytest.mark.parametrize("end", ["close", "nothing"])
@pytest.mark.parametrize("overlap", [0, 2])
def test_a_program_that_ends_without_release_ends(mpirun: Mpirun, tmp_path: Path, end: str, overlap: int) -> None:
    """Whatever it has forgotten: MPI_Finalize releases the ranks that write, and they show what is committed."""
    options = options_of("one", 1, f"steps = 1\noverlap = {overlap}")
    mpirun("write_case", 3, [tmp_path, STREAM, options, SMALL.argument, "steps=3", "dedicated=1", f"end={end}"])
    verify(tmp_path)
    check_values(tmp_path, "climate", SMALL, 3)


def test_python_releases_after_an_exception(build_dir: Path, tmp_path: Path) -> None:
    finished = Mpirun(build_dir)(ROOT / "tests" / "python_dedicated.py", 3, [tmp_path, "fail"], check=False)
    assert finished.returncode != 0, finished.output
    assert {path.read_text() for path in tmp_path.glob("exception.*")} == {"RuntimeError: the model failed"}, finished.output
