"""Launchers and MPIs: one list for all, the tracer's copy of it, and how an MPI is recognised."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tailrace.launch import launchers, local, mpi

from tests.environment import ROOT

pytestmark = pytest.mark.fast


def strings_of(name: str) -> list[str]:
    """The elements of a table of texts in the tracer's source."""
    source = (ROOT / "src" / "trace" / "process.cpp").read_text()
    table = re.search(rf"\b{name}\[\] = {{(.*?)}};", source, re.DOTALL)
    assert table is not None, f"src/trace/process.cpp has no table {name}"
    return re.findall(r'"([^"]+)"', table.group(1))


def test_the_tracer_knows_the_same_launchers_and_variables() -> None:
    assert sorted(strings_of("kLaunchers")) == sorted(launchers.LAUNCHER_NAMES)
    assert tuple(strings_of("kRanks")) == launchers.RANK_VARIABLES
    assert tuple(strings_of("kSizes")) == launchers.SIZE_VARIABLES


def test_each_mpi_has_programs_and_each_launcher_a_known_mpi() -> None:
    assert {launcher.mpi for launcher in launchers.LAUNCHERS} == {"", *mpi.MPIS}
    for one in mpi.MPIS.values():
        assert one.program in one.programs


def test_the_makefile_sets_the_launchers_variables() -> None:
    """`make` runs programs under mpirun without Python: it has the variables of version 4 itself."""
    exported = dict(re.findall(r"^export (OMPI_\w+) [:?]= (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {**mpi.MPIS["openmpi"].environment, **mpi.MPIS["openmpi"].root_environment}
    assert {name: known[name] for name in exported if name in known} == {name: exported[name] for name in exported if name in known}
    assert {name for name in known if name.startswith("OMPI_")} <= exported.keys()


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("mpirun", "mpirun (Open MPI) 4.1.4", "openmpi"),
        ("mpiexec", "prterun (PRRTE) 3.0", "openmpi"),
        ("mpirun", "HYDRA build details:", "mpich"),
        ("mpirun", "Intel(R) MPI Library", None),
        ("mpirun.mpich", "", "mpich"),
        ("orterun", "", "openmpi"),
        ("orted", "mpirun (Open MPI) 4.1.4", None),
        ("srun", "", None),
        ("python3", "mpirun (Open MPI) 4.1.4", None),
    ],
)
def test_an_mpi_is_recognised_by_name_or_by_version(tmp_path: Path, name: str, text: str, expected: str | None) -> None:
    found = mpi.mpi_of(script(tmp_path, name, text))
    assert (found.name if found else None) == expected


def test_only_open_mpi_needs_words_to_pass_variables(tmp_path: Path) -> None:
    first = script(tmp_path, "mpirun.openmpi", "")
    assert mpi.pass_to_ranks([first, "-n", "2", "a"], ["X", "Y"]) == [first, "-x", "X", "-x", "Y", "-n", "2", "a"]
    second = script(tmp_path, "mpirun.mpich", "")
    assert mpi.pass_to_ranks([second, "-n", "2", "a"], ["X"]) == [second, "-n", "2", "a"]


def test_what_the_caller_sets_is_stronger_than_what_a_launcher_needs() -> None:
    name = "OMPI_MCA_btl_vader_single_copy_mechanism"
    assert local.launcher_environment({}, as_root=False)[name] == "none"
    assert local.launcher_environment({name: "cma"}, as_root=False)[name] == "cma"
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in local.launcher_environment({}, as_root=False)
    assert local.launcher_environment({}, as_root=True)["OMPI_ALLOW_RUN_AS_ROOT"] == "1"


@pytest.mark.parametrize(
    ("environment", "rank"), [({"PMI_RANK": "3"}, 3), ({"OMPI_COMM_WORLD_RANK": "1", "SLURM_PROCID": "0"}, 1), ({}, None)]
)
def test_the_rank_of_a_process_by_its_environment(environment: dict[str, str], rank: int | None) -> None:
    assert launchers.rank_in(environment) == rank


def test_programs_of_a_test_are_no_ranks_of_mpi_that_it_uses() -> None:
    program = (
        "import subprocess\nfrom tests.environment import children_inherit_os_environ\nchildren_inherit_os_environ()\n"
        "from mpi4py import MPI\nassert MPI.Is_initialized()\n"
        "print(subprocess.run(['env'], capture_output=True, text=True, check=True).stdout)\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "PATH=" in shown
    assert "PMIX_RANK=" not in shown
