"""The MPIs that the tests run under: how each starts a program, and which tests meet the second one.

Tests marked `both_mpis(N, M)` run under Open MPI and under MPICH: of a file's tests in `make test` the seed chooses N for MPICH,
and M others for the `full` tier (all others without M). The long matrices of that tier are run under Open MPI alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tailrace.launch import mpi

from tests.sampling import leave_for_full


@dataclass(frozen=True)
class Mpi:
    name: str  # in tailrace.launch.mpi.MPIS
    launcher: tuple[str, ...]
    folder: str  # of its build, within build/
    suffix: str  # of its compilers' names

    def build(self, build_dir: Path) -> Path:
        return build_dir / self.folder

    def settings(self, variables: Mapping[str, object]) -> list[str]:
        """Words by which the launcher sets variables for the ranks and not for itself."""
        return mpi.MPIS[self.name].setting(variables)


MPIS = {
    one.name: one
    for one in (
        Mpi("openmpi", ("mpirun", "--oversubscribe", *mpi.MPIS["openmpi"].unbound), "", ""),
        Mpi("mpich", (mpi.MPIS["mpich"].program, *mpi.MPIS["mpich"].unbound), "mpich", ".mpich"),
    )
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "mpi" in metafunc.fixturenames and metafunc.definition.get_closest_marker("both_mpis"):
        params = [pytest.param("openmpi", id=pytest.HIDDEN_PARAM), pytest.param("mpich", marks=pytest.mark.mpich)]
        metafunc.parametrize("mpi", params, indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before -m looks at the marks."""
    twice: list[pytest.Item] = []
    of_file: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        under_mpich, full = (item.get_closest_marker(name) is not None for name in ("mpich", "full"))
        if under_mpich and full:
            twice.append(item)
        elif under_mpich:
            of_file[item.path].append(item)
    for path, found in of_file.items():
        always, in_full = (*next(found[0].iter_markers("both_mpis")).args, len(found))[:2]
        leave_for_full(found, always, f"{config.option.seed} mpich {path.name}")
        twice += found[always + in_full :]
    config.hook.pytest_deselected(items=twice)
    left_out = set(twice)
    items[:] = [item for item in items if item not in left_out]
