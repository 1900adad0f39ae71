"""The values that a study file holds. Plain data; nothing here touches a file."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.results.runs import LayoutChoice

# The names that commands may use in every case; parameters need other names.
GIVEN_NAMES = ("build", "python", "kernel", "cache", "input", "ranks", "steps", "output", "layout", "dir", "run")


class StudyError(ValueError):
    """The user can correct this: a key of the study file, a folder, a program that is not built. The text contains the remedy."""


@dataclass(frozen=True)
class Application:
    """How to start a program, how to verify its output: the keys of kernel.toml.

    Commands are templates; `tailrace.study.command` fills them.
    """

    name: str
    title: str
    home: str  # the folder of its kernel.toml, {kernel} in commands
    command: tuple[str, ...]
    verify: tuple[str, ...]
    prepare: tuple[str, ...] = ()  # run once before the study; prints the path that becomes {input}
    launcher: str = "mpirun"  # one of tailrace.launch.local.CHOICES
    outputs: tuple[str, ...] = ("native", "tailrace")  # the values of {output} that it knows
    streams: tuple[str, ...] = ()  # the streams that it writes through the library: {dir}/NAME.nc
    output_phases: tuple[str, ...] = ()  # the phases whose sum is the time to return
    parameters: tuple[tuple[str, str], ...] = ()  # names and defaults


@dataclass(frozen=True)
class Matrix:
    """Every combination of these is a point of the matrix."""

    ranks: tuple[int, ...]
    layouts: tuple[LayoutChoice, ...]
    targets: tuple[str, ...] = ("",)  # directories; "" is the study's own
    parameters: tuple[tuple[tuple[str, str], ...], ...] = ((),)  # one entry for each combination of parameters


@dataclass(frozen=True)
class StudySpec:
    name: str
    title: str
    application: Application
    matrix: Matrix
    repetitions: int
    steps: int = 1  # output steps of each run
    warm_up: int = 1  # rounds over the whole matrix that are not counted
    timeout_s: float = 600.0
    keep: bool = False
    min_free_bytes: int = 1 << 30
    compare: str = "return"  # the measure that decides the winner, one of MEASURES
    launcher_options: tuple[str, ...] = ()
    trace: bool = False  # every run is recorded, and its phases come from its log
