"""The engines: executors of concurrent.futures that run members.

To add one: a function here, and its name in ENGINES of spec.py.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.ensemble.packages import ENGINES
from tailrace.ensemble.scratch import close_scratch
from tailrace.ensemble.values import EngineChoice, EnsembleError
from tailrace.ensemble.workers import WorkerPool
from tailrace.extras import install_command

IN_FLIGHT_CALLS = 2  # calls in progress for each worker


@dataclass(frozen=True)
class Where:
    """`shared`: an existing folder that all nodes of the engine have. `run`: the ensemble's run, whose scratch is removed."""

    shared: Path
    run: str


def workers_of(choice: EngineChoice) -> int:
    return choice.workers or len(os.sched_getaffinity(0))


@contextlib.contextmanager
def open_engine(choice: EngineChoice, where: Where) -> Iterator[Executor]:
    """Opens the chosen engine. Raises EnsembleError if its package is not installed; the text has the command that installs it."""
    try:
        opened = OPENERS[choice.name](choice, where)
    except ImportError as error:
        remedy = install_command(ENGINES[choice.name], "ensemble")
        raise EnsembleError(f"engine '{choice.name}': {error}: {remedy}, or choose threads") from None
    with opened as executor:
        yield executor


def _threads(choice: EngineChoice, _where: Where) -> Any:
    return WorkerPool(workers_of(choice))


def _mpi(_choice: EngineChoice, _where: Where) -> Any:
    """The ranks of `mpirun -n N python -m mpi4py.futures -m tailrace ensemble run SPEC`; rank 0 is the parent."""
    from mpi4py import MPI
    from mpi4py.futures import MPIPoolExecutor

    if MPI.COMM_WORLD.Get_size() == 1:
        words = "mpirun -n 5 python -m mpi4py.futures -m tailrace ensemble run SPEC"
        raise EnsembleError(f"engine 'mpi': this process has no other ranks: start it as `{words}`")
    return MPIPoolExecutor()


def _dask(choice: EngineChoice, where: Where) -> Any:
    """The scheduler that DASK_SCHEDULER_ADDRESS names; without it, worker processes on this node."""
    from distributed import Client

    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    local = {"n_workers": workers_of(choice), "threads_per_worker": 1, "dashboard_address": None}
    client = Client(address) if address else Client(**local)
    return _executor_of_client(client, functools.partial(close_scratch, choice.scratch, where.run))


@contextlib.contextmanager
def _executor_of_client(client: Any, end_on_worker: Callable[[], None]) -> Iterator[Executor]:
    with client, client.get_executor(pure=False, retries=0) as executor:
        try:
            yield executor
        finally:
            with contextlib.suppress(Exception):  # workers that others have started may have ended
                client.run(end_on_worker)


@contextlib.contextmanager
def _parsl(choice: EngineChoice, where: Where) -> Iterator[Executor]:
    """A high-throughput executor on this node, or with one block in each of Slurm's nodes. Its workers begin with a script that
    Parsl writes in the shared folder; folders for temporary files belong to one node."""
    import parsl
    from parsl.concurrent import ParslPoolExecutor
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.launchers import SimpleLauncher, SrunLauncher
    from parsl.providers import LocalProvider

    # Parsl starts programs of its own by their names; they are beside this Python, which need not be on the PATH.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    in_job = "SLURM_JOB_ID" in os.environ
    nodes = int(os.environ.get("SLURM_JOB_NUM_NODES", "1"))
    launcher = SrunLauncher() if in_job else SimpleLauncher()
    provider = LocalProvider(init_blocks=1, max_blocks=1, nodes_per_block=nodes, launcher=launcher)
    address = None if in_job else "127.0.0.1"  # None: the executor finds one that other nodes reach
    executor = HighThroughputExecutor(max_workers_per_node=workers_of(choice), provider=provider, encrypted=False, address=address)
    folder = where.shared / f"parsl-{socket.gethostname()}-{os.getpid()}"
    config = Config(executors=[executor], run_dir=str(folder), usage_tracking=0, initialize_logging=False)
    try:
        with ParslPoolExecutor(config) as pool:
            yield pool
    finally:
        with contextlib.suppress(Exception):
            parsl.clear()
        shutil.rmtree(folder, ignore_errors=True)


OPENERS: dict[str, Callable[[EngineChoice, Where], Any]] = {"threads": _threads, "mpi": _mpi, "dask": _dask, "parsl": _parsl}
