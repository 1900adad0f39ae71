"""The values that an ensemble file holds. Plain data; nothing here touches a file."""

from __future__ import annotations

from dataclasses import dataclass, field

Value = float | int | str


class EnsembleError(ValueError):
    """The user can correct this: a key of the ensemble file, a folder, a parameter. The text contains the remedy."""


class MemberError(RuntimeError):
    """A member failed. `reason` is one of REASONS."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


# Why a member failed: one list for journals, tables and pages.
REASONS = {
    "parameter": "a value cannot be written into a template",
    "scratch": "its directory could not be made, or scratch is full",
    "start": "the command could not be started",
    "exit": "the command ended with another status than 0",
    "signal": "a signal ended the command",
    "timeout": "it ran longer than its time limit",
    "memory": "its processes used more memory than their limit",
    "left running": "processes of the member ran on after the command had ended",
    "missing": "an output file is missing, empty, or an input that was not written",
    "open": "an output file is still open for writing",
    "malformed": "a result could not be read",
    "input changed": "it wrote into an input that is declared read-only",
    "keep": "an output could not be kept",
    "lost": "the process that ran it was killed",
}


@dataclass(frozen=True)
class Inputs:
    directory: str  # its files are the inputs of every member; "" for none
    read_only: tuple[str, ...] = ()  # patterns of files that members get as hard links to one copy on the node
    skip: tuple[str, ...] = ()  # patterns of files that members do not get
    reuse: bool = True  # what a good member has left as it was serves the next one


@dataclass(frozen=True)
class Template:
    source: str  # within the folder of the ensemble file
    target: str  # within a member's directory
    marks: tuple[str, str] = ("{", "}")  # around the name of a parameter


@dataclass(frozen=True)
class Range:
    name: str
    low: float
    high: float
    scale: str = "linear"  # or log


@dataclass(frozen=True)
class ParameterSource:
    """A file with a row for each member, or a sampler with ranges."""

    file: str = ""
    sampler: str = ""
    members: int = 0
    seed: int = 0
    ranges: tuple[Range, ...] = ()


FLOPY_KINDS = ("heads", "budget", "listing")  # files of MODFLOW, which FloPy reads
LAST_TIME, ALL_TIMES = -1, 1 << 62


@dataclass(frozen=True)
class Reading:
    """How a result is read. `kind` is one of regex, csv, netcdf, python, ins, or of FLOPY_KINDS; the other fields are for some of
    them."""

    name: str
    kind: str
    file: str = ""
    # regex; the column of csv; the variable of netcdf; FILE:FUNCTION of python; the instruction file of ins; the record of FloPy's
    pattern: str = ""
    which: str = "last"  # of several matches of a regex: first or last
    row: int = -1  # of csv, without the heading; negative: from the end
    reduce: str = ""  # of netcdf and FloPy's: one of REDUCTIONS
    index: tuple[int, ...] = ()  # of netcdf and FloPy's
    time: int = LAST_TIME  # of FloPy's: which output time


REDUCTIONS = ("min", "max", "mean", "sum", "last")


@dataclass(frozen=True)
class FieldReading:
    """How a whole array of a member is read. `kind` is one of netcdf, csv, npy, python, heads, budget."""

    name: str
    kind: str
    file: str = ""
    pattern: str = ""  # the variable of netcdf; the column of csv; FILE:FUNCTION of python; the record of FloPy's
    dims: tuple[str, ...] = ()  # names of its dimensions; by default those of the file
    shape: tuple[int, ...] = ()  # that every member must have; (): the shape that most members have
    time: int = LAST_TIME  # of FloPy's: which output time, or ALL_TIMES


@dataclass(frozen=True)
class Limits:
    timeout_s: float = 3600.0
    grace_s: float = 3.0  # between SIGTERM and SIGKILL
    linger_s: float = 10.0  # what a member's processes may take to end after its command
    memory_mib: int = 0  # of all processes of a member; 0: no limit
    memory_by: str = "auto"  # or cgroup, watch: who keeps that limit
    retries: int = 0
    min_free_mib: int = 64  # free space on scratch below which no member begins


@dataclass(frozen=True)
class Keep:
    files: tuple[str, ...] = ()  # patterns
    directory: str = "never"  # or failed, always


@dataclass(frozen=True)
class EngineChoice:
    name: str = "threads"
    workers: int = 0  # 0: as many as this process may use cores
    scratch: str = ""  # "": the first of SLURM_TMPDIR, TMPDIR and /tmp that is there


@dataclass(frozen=True)
class Spec:
    name: str
    home: str  # the folder of the ensemble file
    command: tuple[str, ...]
    inputs: Inputs
    templates: tuple[Template, ...] = ()
    parameters: ParameterSource = field(default_factory=ParameterSource)
    readings: tuple[Reading, ...] = ()
    fields: tuple[FieldReading, ...] = ()
    limits: Limits = field(default_factory=Limits)
    keep: Keep = field(default_factory=Keep)
    engine: EngineChoice = field(default_factory=EngineChoice)
    environment: tuple[tuple[str, str], ...] = ()
