"""How others run many members: threads with subprocess, GNU parallel, Dask, Parsl. Each with links and with copies of the inputs.

None of them keeps a journal, has limits, or waits for all processes of a member. Dask and Parsl have started before they are timed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tailrace.ensemble.engines import Where, open_engine
from tailrace.ensemble.values import EngineChoice

from bench import harness

SCRIPT = "for n in 0 1 2 3 4 5 6 7 8 9; do read line < in$n.txt; echo $line > out$n.txt; done"
LINE_LENGTH = 40
TRUE, COPIES, LINKS = "/bin/true", "ten files, copies", "ten files, links"
CASES = (TRUE, COPIES, LINKS)
Run = Callable[[int], None]  # so many members


def command_of(case: str) -> list[str]:
    return ["/bin/true"] if case == TRUE else ["/bin/sh", "-c", SCRIPT]


def one_member(case: str, folder: str, member: int) -> int:
    """A member, as people write it. Returns what it has read: the length of a line. Workers of Dask and Parsl import it."""
    if case == TRUE:
        subprocess.run(command_of(case), stdin=subprocess.DEVNULL, check=True)
        return LINE_LENGTH
    directory = Path(folder, f"member{member}")
    shutil.copytree(Path(folder, "inputs"), directory, copy_function=os.link if case == LINKS else shutil.copy2)
    subprocess.run(command_of(case), cwd=directory, stdin=subprocess.DEVNULL, check=True)
    line = (directory / "out9.txt").read_text()
    shutil.rmtree(directory)
    return len(line)


def with_executor(executor: Executor, case: str, folder: Path, members: int) -> None:
    read = list(executor.map(partial(one_member, case, str(folder)), range(members)))
    assert read == [LINE_LENGTH] * members


def with_threads(workers: int, case: str, folder: Path, members: int) -> None:
    with ThreadPoolExecutor(workers) as pool:
        with_executor(pool, case, folder, members)


def gnu_parallel(workers: int, case: str, folder: Path, members: int) -> None:
    copy = "cp -rl" if case == LINKS else "cp -r"
    staged = f"{copy} {folder}/inputs {folder}/p{{}} && cd {folder}/p{{}} && ({SCRIPT}) && cat out9.txt && rm -r {folder}/p{{}}"
    words = ["parallel", "--will-cite", f"-j{workers}", "/bin/true" if case == TRUE else staged, ":::", *map(str, range(members))]
    done = subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert case == TRUE or len(done.stdout) == LINE_LENGTH * members


@contextlib.contextmanager
def opened(workers: int, folder: Path) -> Iterator[dict[str, Callable[[str], Run]]]:
    """The peers that are installed: each gives for a case what runs so many members. Their processes end with the block."""
    found: dict[str, Callable[[str], Run]] = {"threads": lambda case: partial(with_threads, workers, case, folder)}
    if is_there("parallel"):
        found["GNU parallel"] = lambda case: partial(gnu_parallel, workers, case, folder)
    path = [str(harness.ROOT), str(harness.ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))  # their workers import this module
    with contextlib.ExitStack() as stack:
        for name, engine, package in (("Dask", "dask", "distributed"), ("Parsl", "parsl", "parsl")):
            if is_there(package):
                executor = stack.enter_context(open_engine(EngineChoice(engine, workers), Where(folder, "bench")))
                found[name] = partial(_of_executor, executor, folder)
        yield found


def _of_executor(executor: Executor, folder: Path, case: str) -> Run:
    return partial(with_executor, executor, case, folder)


NEEDED = {"GNU parallel": "parallel", "Dask": "distributed", "Parsl": "parsl"}
PROGRAMS = ("parallel",)  # the others are packages


def not_installed() -> list[str]:
    """What would be measured, with what it lacks."""
    return [f"{name}: not installed ({needed})" for name, needed in NEEDED.items() if not is_there(needed)]


def is_there(name: str) -> bool:
    return bool(shutil.which(name)) if name in PROGRAMS else importlib.util.find_spec(name) is not None
