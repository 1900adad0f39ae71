"""The values that a study is made of. Plain data; nothing here touches a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

NATIVE = "native"  # the application's own way of writing, without the library
WARM_UP = 0  # the repetition number of runs that are not counted; counted ones start at 1

# What commands may name of every case; parameters have other names.
GIVEN_NAMES = ("build", "python", "kernel", "cache", "input", "ranks", "steps", "output", "layout", "dir", "run")

OK = "ok"
FAILED = "failed"
TIMED_OUT = "timed out"
UNVERIFIED = "verification failed"

MEASURES = ("return", "durable", "readable", "wall")


class StudyError(ValueError):
    """What the user can mend: a key of the study file, a folder, a program that is not built."""


@dataclass(frozen=True)
class LayoutChoice:
    """A way of writing under its name in the study: native, a preset, or a table of layout keys."""

    name: str
    keys: tuple[tuple[str, str], ...] = ()  # layout keys and their values as TOML literals; empty for native

    @property
    def is_native(self) -> bool:
        return self.name == NATIVE

    @property
    def toml(self) -> str:
        """The lines of configuration that select this layout for a stream."""
        return "\n".join(f"{key} = {literal}" for key, literal in self.keys)


@dataclass(frozen=True)
class Application:
    """How to start a program, tell it where and how to write, and check what it wrote: the keys of kernel.toml.

    Commands are templates; `tailrace.study.command` fills them.
    """

    name: str
    title: str
    home: str  # the folder of its kernel.toml, {kernel} in commands
    command: tuple[str, ...]
    verify: tuple[str, ...]
    prepare: tuple[str, ...] = ()  # run once before the study; prints the path that becomes {input}
    launcher: str = "mpirun"  # or "none": started as it is
    outputs: tuple[str, ...] = ("native", "tailrace")  # the values of {output} it knows
    streams: tuple[str, ...] = ()  # the streams it writes through the library: {dir}/NAME.nc
    output_phases: tuple[str, ...] = ()  # the phases whose sum is the time to return
    parameters: tuple[tuple[str, str], ...] = ()  # defaults


@dataclass(frozen=True)
class StudySpec:
    name: str
    title: str
    application: Application
    ranks: tuple[int, ...]
    layouts: tuple[LayoutChoice, ...]
    repetitions: int
    steps: int = 1  # output steps of each run
    warm_up: int = 1  # rounds over the whole matrix that are not counted
    targets: tuple[str, ...] = ("",)  # directories; "" is the study's own
    parameters: tuple[tuple[tuple[str, str], ...], ...] = ((),)  # one entry for each point of the matrix
    timeout_s: float = 600.0
    keep: bool = False
    min_free_bytes: int = 1 << 30
    compare: str = "return"  # the measure that decides the winner, one of MEASURES
    launcher_options: tuple[str, ...] = ()
    trace: bool = False  # every run is recorded, and its phases are those of its log


@dataclass(frozen=True)
class Case:
    """One run to be made."""

    application: str
    ranks: int
    layout: LayoutChoice
    target: str
    parameters: tuple[tuple[str, str], ...]
    repetition: int

    @property
    def warm_up(self) -> bool:
        return self.repetition <= WARM_UP

    @property
    def group(self) -> tuple[str, int, str, tuple[tuple[str, str], ...]]:
        """What is equal in runs that are compared with each other: everything but layout and repetition."""
        return (self.application, self.ranks, self.target, self.parameters)

    @property
    def setting(self) -> Case:
        """The case without its repetition: the runs that share it are repetitions of one measurement."""
        return replace(self, repetition=WARM_UP)

    @property
    def key(self) -> str:
        """Names the case in the journal; the same case has the same key in every run of the study."""
        parameters = ",".join(f"{name}={value}" for name, value in self.parameters)
        parts = [self.application, f"{self.ranks} ranks", self.layout.name, self.target or "here", parameters or "-"]
        return " | ".join([*parts, f"repetition {self.repetition}"])

    def to_json(self) -> dict[str, Any]:
        return {
            "application": self.application,
            "ranks": self.ranks,
            "layout": self.layout.name,
            "layout_keys": dict(self.layout.keys),
            "target": self.target,
            "parameters": dict(self.parameters),
            "repetition": self.repetition,
        }

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Case:
        return Case(
            application=record["application"],
            ranks=record["ranks"],
            layout=LayoutChoice(record["layout"], tuple(record["layout_keys"].items())),
            target=record["target"],
            parameters=tuple(record["parameters"].items()),
            repetition=record["repetition"],
        )


@dataclass(frozen=True)
class Phase:
    """A stretch of the run: seconds until the first rank arrived at its end, and from the first to the last arrival. The sum is
    the time on the slowest rank."""

    name: str
    exec_s: float
    sync_s: float


@dataclass(frozen=True)
class RunResult:
    """What one run did. Times that could not be measured are None, with the reason in `note`."""

    case: Case
    status: str
    started: str  # ISO 8601, UTC
    wall_s: float
    user_s: float = 0.0
    system_s: float = 0.0
    phases: tuple[Phase, ...] = ()
    return_s: float | None = None  # output phases, slowest rank
    fsync_s: float | None = None  # to make everything durable afterwards
    open_s: float | None = None  # from the end of the run until xarray has read a value of every variable
    bytes: int = 0
    files: int = 0
    directories: int = 0
    exit_code: int | None = None
    command: str = ""
    stderr_tail: str = ""
    note: str = ""  # why a time is missing
    trace: str = ""  # the folder of its log, within the study's; "" for runs that are not recorded
    settings: Mapping[str, Any] = field(default_factory=dict)  # requested and effective, as the library reported them

    @property
    def ok(self) -> bool:
        return self.status == OK

    @property
    def durable_s(self) -> float | None:
        return None if self.return_s is None or self.fsync_s is None else self.return_s + self.fsync_s

    @property
    def readable_s(self) -> float | None:
        return None if self.return_s is None or self.open_s is None else self.return_s + self.open_s

    def measure(self, name: str) -> float | None:
        return {"wall": self.wall_s, "return": self.return_s, "durable": self.durable_s, "readable": self.readable_s}[name]

    def to_json(self) -> dict[str, Any]:
        record = {name: value for name, value in vars(self).items() if name not in ("case", "phases")}
        return {"kind": "run", "key": self.case.key, **self.case.to_json(), **record, "phases": [vars(p) for p in self.phases]}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> RunResult:
        names = set(RunResult.__dataclass_fields__) - {"case", "phases"}
        phases = tuple(Phase(**phase) for phase in record["phases"])
        return RunResult(case=Case.from_json(record), phases=phases, **{name: record[name] for name in names if name in record})
