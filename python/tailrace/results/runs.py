"""One run of a study and its result. Plain data; nothing here touches a file.

The JSON of `to_json` is the format of study records (results.jsonl). It only grows: records that were written before are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NATIVE = "native"  # the application's own way of writing, without the library
WARM_UP = 0  # the repetition number of warm-up runs; counted repetitions start at 1

OK = "ok"
FAILED = "failed"
TIMED_OUT = "timed out"
UNVERIFIED = "verification failed"

MEASURES = ("return", "durable", "readable", "wall")


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

    @property
    def configuration(self) -> str:
        """The tailrace.toml that selects this layout for all streams; "" for native. The runs had the file that a report shows."""
        return "" if self.is_native else f"[stream.default]\n{self.toml}\n"


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
        """Equal in runs that are compared with each other: everything but layout and repetition."""
        return (self.application, self.ranks, self.target, self.parameters)

    @property
    def setting(self) -> Case:
        """The case without its repetition. Runs with the same setting are repetitions of one measurement."""
        return dataclasses.replace(self, repetition=WARM_UP)

    @property
    def key(self) -> str:
        """Names the case in the journal. It is the same in every run of the study."""
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
    """A part of the run. `exec_s`: until the first rank arrives at its end. `sync_s`: from the first arrival to the last. Their sum
    is the time of the slowest rank."""

    name: str
    exec_s: float
    sync_s: float


@dataclass(frozen=True)
class Times:
    """Seconds of one run. None: could not be measured; the run's `note` says why."""

    wall_s: float
    user_s: float = 0.0
    system_s: float = 0.0
    return_s: float | None = None  # output phases, slowest rank
    fsync_s: float | None = None  # to make everything durable afterwards
    open_s: float | None = None  # from the end of the run until xarray has read a value of every variable

    @property
    def durable_s(self) -> float | None:
        return None if self.return_s is None or self.fsync_s is None else self.return_s + self.fsync_s

    @property
    def readable_s(self) -> float | None:
        return None if self.return_s is None or self.open_s is None else self.return_s + self.open_s

    def measure(self, name: str) -> float | None:
        """`name`: one of MEASURES."""
        return {"wall": self.wall_s, "return": self.return_s, "durable": self.durable_s, "readable": self.readable_s}[name]


@dataclass(frozen=True)
class Stored:
    """What a run left below its output directory: lengths of files, not blocks."""

    bytes: int = 0
    files: int = 0
    directories: int = 0


@dataclass(frozen=True)
class RunResult:
    case: Case
    status: str
    started: str  # ISO 8601, UTC
    times: Times
    phases: tuple[Phase, ...] = ()
    stored: Stored = Stored()
    exit_code: int | None = None
    command: str = ""
    stderr_tail: str = ""
    note: str = ""  # why the run failed, or why a time is missing
    trace: str = ""  # the folder of its log, within the study's folder; "" for runs that are not recorded
    settings: Mapping[str, Any] = field(default_factory=dict)  # requested and effective, as the library reported them

    @property
    def ok(self) -> bool:
        return self.status == OK

    def measure(self, name: str) -> float | None:
        return self.times.measure(name)

    def to_json(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name not in NESTED}
        nested = {**vars(self.times), **vars(self.stored), "phases": [vars(phase) for phase in self.phases]}
        return {"kind": "run", "key": self.case.key, **self.case.to_json(), **own, **nested}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> RunResult:
        """Keys that are not known here are passed over; keys that are missing have their defaults."""
        own = {name: record[name] for name in RunResult.__dataclass_fields__.keys() - NESTED if name in record}
        times = Times(**{name: record[name] for name in Times.__dataclass_fields__ if name in record})
        stored = Stored(**{name: record[name] for name in Stored.__dataclass_fields__ if name in record})
        phases = tuple(Phase(**{name: phase[name] for name in Phase.__dataclass_fields__}) for phase in record["phases"])
        return RunResult(case=Case.from_json(record), times=times, stored=stored, phases=phases, **own)


NESTED = {"case", "times", "stored", "phases"}  # fields of RunResult that are values of their own; flat in JSON, but the phases
