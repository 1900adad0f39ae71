"""What all tests share: the seed, MPI programs under a time limit, needs that fail and do not skip, resuming."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import budgets, mpis, resume, sampling
from tests.clusters import new_cluster  # noqa: F401  a fixture
from tests.environment import ROOT, children_inherit_os_environ, default_seed, open_mpi_environment
from tests.kill_states import Histogram
from tests.mpirun import Mpirun
from tests.mpis import MPIS, Mpi

os.environ.update(open_mpi_environment())
os.environ.setdefault("TMPDIR", tempfile.gettempdir())  # scratch of streams
children_inherit_os_environ()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tailrace")
    group.addoption("--seed", type=int, default=None, help="seed of the random cases; by default a new one each day or CI run")
    group.addoption("--budgets", action="store_true", help="fail files that take more than twice the seconds of tests/budgets.toml")
    group.addoption("--resume", metavar="FILE", help="record what passed in FILE, and skip it while its sources are the same")


def pytest_configure(config: pytest.Config) -> None:
    # nohup, or a shell that starts a command in the background, has them ignored, and so would all that the tests start.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.seed is None:
        config.option.seed = default_seed()
    budgets.configure(config)
    config.pluginmanager.register(mpis, "tailrace-mpis")
    config.pluginmanager.register(sampling, "tailrace-sampling")
    if config.option.resume:
        shares_out = not hasattr(config, "workerinput")
        config.pluginmanager.register(resume.Resume(Path(config.option.resume), config.rootpath, shares_out), "tailrace-resume")


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.option.seed} (the same cases again: --seed={config.option.seed})"


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    return request.config.option.seed


@pytest.fixture
def rng(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of this test alone: the same whichever other tests run."""
    return random.Random(f"{seed} {request.node.nodeid}")


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """build/ of this checkout; TAILRACE_BUILD names another."""
    build = Path(os.environ.get("TAILRACE_BUILD", ROOT / "build"))
    if not (build / "build.ninja").exists():
        pytest.fail(f"{build} is not built: run `make build`")
    return build


@pytest.fixture(scope="session")
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Open MPI; tests marked `both_mpis` have MPICH too."""
    return MPIS[getattr(request, "param", "openmpi")]


@pytest.fixture(scope="session")
def mpirun(build_dir: Path, mpi: Mpi) -> Mpirun:
    return Mpirun(mpi.build(build_dir), mpi)


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory, needs: Any) -> Callable[[str], Path]:
    """preloaded("faults/inject"): tests/faults/inject.c as a library, to be preloaded into a program."""

    def built(name: str) -> Path:
        needs("gcc")
        source = ROOT / "tests" / f"{name}.c"
        library = tmp_path_factory.mktemp(source.stem) / f"{source.stem}.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library, source, "-ldl"], check=True)
        return library

    return built


@pytest.fixture(scope="session")
def injector(preloaded: Callable[[str], Path]) -> Path:
    """tests/faults/inject.c, to be preloaded into the ranks."""
    return preloaded("faults/inject")


@pytest.fixture(scope="session")
def tailrace_command(build_dir: Path) -> list[str]:
    """The command line of this checkout, to put before its arguments."""
    return [str(build_dir / "bin" / "tailrace")]


@pytest.fixture
def small_device(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB. Mounting needs root, as CI has."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mounted], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root may mount a small file system")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "-l", mounted], check=True)


@pytest.fixture(scope="session")
def needs() -> Any:
    """needs("strace", "cdo"): these programs are there, or the test fails. `make setup` installs all that the tests use, so a
    missing one is a fault of the set-up. Only on machines without apt-get and outside CI is the test skipped."""

    def check(*programs: str) -> None:
        missing = [program for program in programs if shutil.which(program) is None]
        if not missing:
            return
        text = f"not on the PATH: {', '.join(missing)}"
        if os.environ.get("CI") or shutil.which("apt-get"):
            pytest.fail(f"{text}; run `make setup`")
        pytest.skip(text)

    return check


HEAP_MIB = 250  # of this process, above which free memory goes back to the kernel


def pytest_runtest_logfinish() -> None:
    """RATIONALE: `verify` and others read HDF5 in a fork of this process. After some thousand tests its heap has 2 GB, most of them
    free, and each fork takes 60 ms to copy the page tables: a test of 2 s took 30 s."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    if trim is not None and pages * os.sysconf("SC_PAGE_SIZE") > HEAP_MIB << 20:
        trim(0)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    kills_by_state(terminalreporter)


def kills_by_state(terminalreporter: Any) -> None:
    """In which states of the commit ranks were killed, summed over the tests that recorded it."""
    histogram = Histogram(Counter())
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for name, kills in report.user_properties:
                    if name == "kills" and isinstance(kills, dict):
                        histogram.kills.update(kills)
    if histogram.kills:
        terminalreporter.section("kills by state of the commit")
        terminalreporter.write_line(histogram.text())
