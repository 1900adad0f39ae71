"""Reads an ensemble file (TOML). docs/ensembles.md lists its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.ensemble.templates import BRACES
from tailrace.ensemble.values import (
    ALL_TIMES,
    FLOPY_KINDS,
    LAST_TIME,
    REDUCTIONS,
    EngineChoice,
    EnsembleError,
    FieldReading,
    Inputs,
    Keep,
    Limits,
    ParameterSource,
    Range,
    Reading,
    Spec,
    Template,
)
from tailrace.file_name import problem_of_inner_path
from tailrace.toml_table import Table, TomlError, read_toml

REDUCED_BY = {"netcdf": "last", "budget": "sum"}  # where `reduce` is not given
SAMPLERS = ("latin-hypercube", "random", "sobol")
ENGINES = ("threads", "mpi", "dask", "parsl")
# Keys that say how a result or field is read, and the kinds of reading; "": the value of the key is the kind.
FIELD_KEYS = {"variable": "netcdf", "column": "csv", "python": "python", "flopy": ""}
FIELD_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
READING_KEYS = {"regex": "regex", "column": "csv", "variable": "netcdf", "python": "python", "ins": "ins", "flopy": ""}


def load_spec(path: Path | str) -> Spec:
    """Raises EnsembleError, whose text names file, key, value and remedy."""
    path = Path(path)
    try:
        return parse_spec(read_toml(path), path.resolve().parent, str(path))
    except TomlError as error:
        raise EnsembleError(str(error)) from None


def parse_spec(values: Mapping[str, Any], home: Path, where: str) -> Spec:
    """Raises TomlError, EnsembleError."""
    table = Table(values, where)
    spec = Spec(
        name=table.name("name", default=home.name or "ensemble"),
        home=str(home),
        command=table.texts("command"),
        inputs=_inputs(_below(table, "inputs"), home),
        templates=_templates(table, home),
        parameters=_parameters(_below(table, "parameters"), home),
        readings=_readings(_below(table, "results"), home),
        fields=_fields(_below(table, "fields"), home),
        limits=_limits(_below(table, "limits")),
        keep=_keep(_below(table, "keep")),
        engine=_engine(_below(table, "engine")),
        environment=tuple((name, str(value)) for name, value in table.table("environment", default={}).items()),
    )
    table.refuse_unknown()
    if not spec.command:
        raise table.fail("command", 'must name a program, as in ["./model", "input.txt"]')
    return spec


def _below(table: Table, key: str) -> Table:
    return Table(table.table(key, default={}), f"{table.where} [{key}]")


def _inputs(table: Table, home: Path) -> Inputs:
    inputs = Inputs(
        directory=table.text("directory", default=""),
        read_only=table.texts("read_only", default=()),
        skip=table.texts("skip", default=()),
        reuse=table.typed("reuse", bool, "true or false", default=True),
    )
    if inputs.directory and not (home / inputs.directory).is_dir():
        raise table.fail("directory", f"no such directory in {home}")
    table.refuse_unknown()
    return inputs


def _templates(table: Table, home: Path) -> tuple[Template, ...]:
    """`templates = { "input.txt" = "templates/input.txt" }`: the member's file, and what it is made from. Or
    `{ "paper.tex" = { file = "paper.tpl", marks = ["<<", ">>"] } }`."""
    found = []
    values = table.table("templates", default={})
    where = f"{table.where} [templates]"
    for target, given in values.items():
        one = Table(given if isinstance(given, dict) else {"file": given}, f"{where} {target}")
        source = one.text("file") if isinstance(given, dict) else given
        if not isinstance(source, str) or not (home / source).is_file():
            raise Table(values, where).fail(target, f"must name a file in {home}")
        marks = one.texts("marks", default=BRACES)
        if len(marks) != 2 or not all(mark.strip() == mark and mark for mark in marks):
            raise one.fail("marks", 'must be the texts before and after a name, as in ["<<", ">>"]')
        if isinstance(given, dict):
            one.refuse_unknown()
        found.append(Template(source, _inside(target, where), (marks[0], marks[1])))
    return tuple(found)


def _inside(name: str, where: str) -> str:
    if problem := problem_of_inner_path(name):
        raise EnsembleError(f"{where}: {name!r}: {problem}: give a path inside the member's directory")
    return name


def _parameters(table: Table, home: Path) -> ParameterSource:
    ranges = _below(table, "ranges")
    source = ParameterSource(
        file=table.text("file", default=""),
        sampler=table.one_of("sampler", SAMPLERS, default=SAMPLERS[0]) if "sampler" in table.values else "",
        members=table.whole("members", 1, default=1),
        seed=table.whole("seed", 0, default=0),
        ranges=tuple(_range(ranges, name) for name in ranges.values),
    )
    if source.file and (source.sampler or source.ranges):
        raise table.fail("file", "a file gives the members already; remove `sampler` and `ranges`, or `file`")
    if source.file and not (home / source.file).is_file():
        raise table.fail("file", f"no such file in {home}")
    if source.sampler and not source.ranges:
        raise table.fail("sampler", "needs the table [parameters.ranges], as in `k = [0.1, 10.0]`")
    table.refuse_unknown()
    return source


def _range(table: Table, name: str) -> Range:
    value = table.get(name)
    good = isinstance(value, list) and len(value) in (2, 3) and all(isinstance(one, int | float) for one in value[:2])
    if not good or value[2:] not in ([], ["log"], ["linear"]):
        raise table.fail(name, 'must be [low, high] or [low, high, "log"]')
    scale = value[2] if len(value) == 3 else "linear"
    if not value[0] < value[1] or (scale == "log" and value[0] <= 0):
        raise table.fail(name, "low must be below high, and above 0 for log")
    return Range(name, float(value[0]), float(value[1]), scale)


def _readings(table: Table, home: Path) -> tuple[Reading, ...]:
    return tuple(_reading(Table(table.table(name), f"{table.where} {name}"), name, home) for name in table.values)


def _reading(table: Table, name: str, home: Path) -> Reading:
    kinds = [key for key in READING_KEYS if key in table.values]
    if len(kinds) != 1:
        table.refuse_unknown((*READING_KEYS, "file", "match", "row", "reduce", "index", "record", "time"))
        raise EnsembleError(f"{table.where}: needs exactly one of {', '.join(READING_KEYS)}; it has {', '.join(kinds) or 'none'}")
    key = kinds[0]
    kind = READING_KEYS[key] or table.one_of(key, FLOPY_KINDS)
    is_flopy = kind in FLOPY_KINDS
    has_array = is_flopy or kind == "netcdf"
    pattern = _record(table, kind) if is_flopy else table.text(key)
    reading = Reading(
        name=name,
        kind=kind,
        file="" if kind == "python" else _inside(table.text("file"), table.where),
        pattern=pattern,
        which=table.one_of("match", ("first", "last"), default="last") if kind == "regex" else "last",
        row=table.typed("row", int, "a whole number", default=-1) if kind == "csv" else -1,
        reduce=_reduction(table, kind) if has_array else "",
        index=tuple(table.typed("index", list, "a list of whole numbers", default=[])) if has_array else (),
        time=table.typed("time", int, "a whole number", default=LAST_TIME) if is_flopy else LAST_TIME,
    )
    if is_flopy and not all(isinstance(at, int) and not isinstance(at, bool) for at in reading.index):
        raise table.fail("index", "must be a list of whole numbers, such as [0, 9, 9]")
    if kind == "python":
        _check_function(table, key, pattern, home)
    if kind == "ins" and not (home / pattern).is_file():
        raise table.fail(key, f"no such file in {home}")
    table.refuse_unknown()
    return reading


def _reduction(table: Table, kind: str) -> str:
    return table.one_of("reduce", REDUCTIONS) if "reduce" in table.values else REDUCED_BY.get(kind, "")


def _record(table: Table, kind: str) -> str:
    """The record of a file of MODFLOW. Heads have a usual one."""
    return table.text("record", default="HEAD") if kind == "heads" else table.text("record")


def _fields(table: Table, home: Path) -> tuple[FieldReading, ...]:
    return tuple(_field(Table(table.table(name), f"{table.where} {name}"), name, home) for name in table.values)


def _field(table: Table, name: str, home: Path) -> FieldReading:
    """`h = { file = "out.nc", variable = "h" }`: a NetCDF variable, a column of a CSV file, a .npy file, arrays of MODFLOW, or a
    function's array."""
    kinds = [key for key in FIELD_KEYS if key in table.values]
    if len(kinds) > 1 or not (kinds or str(table.values.get("file", "")).endswith(".npy")):
        table.refuse_unknown((*FIELD_KEYS, "file", "dims", "shape", "record", "time"))
        raise EnsembleError(f"{table.where}: needs exactly one of {', '.join(FIELD_KEYS)}, or a `file` that ends in .npy")
    if not FIELD_NAME.fullmatch(name) or name == "member":
        raise EnsembleError(f"{table.where}: a field's name has letters, digits and _, begins with a letter, and is not `member`")
    kind = (FIELD_KEYS[kinds[0]] or table.one_of("flopy", ("heads", "budget"))) if kinds else "npy"
    is_flopy = kind in FLOPY_KINDS
    reading = FieldReading(
        name=name,
        kind=kind,
        file="" if kind == "python" else _inside(table.text("file"), table.where),
        pattern=_record(table, kind) if is_flopy else table.text(kinds[0]) if kinds else "",
        dims=table.texts("dims", default=()),
        shape=tuple(table.typed("shape", list, "a list of whole numbers", default=[])),
        time=_field_time(table, kind) if is_flopy else LAST_TIME,
    )
    if not all(isinstance(length, int) and not isinstance(length, bool) and length > 0 for length in reading.shape):
        raise table.fail("shape", "must be a list of whole numbers of at least 1, as [3, 4]")
    if reading.dims and reading.shape and len(reading.dims) != len(reading.shape):
        raise table.fail("shape", f"has {len(reading.shape)} lengths, and `dims` names {len(reading.dims)} dimensions")
    for dim in reading.dims:
        if not FIELD_NAME.fullmatch(dim) or dim == "member" or reading.dims.count(dim) > 1:
            raise table.fail("dims", f"'{dim}': names of dimensions differ, have letters, digits and _, and are not `member`")
    if kind == "python":
        _check_function(table, "python", reading.pattern, home)
    table.refuse_unknown()
    return reading


def _field_time(table: Table, kind: str) -> int:
    if kind == "heads" and table.values.get("time") == "all":
        table.text("time")
        return ALL_TIMES
    wanted = 'a whole number, or "all"' if kind == "heads" else "a whole number"
    return int(table.typed("time", int, wanted, default=LAST_TIME))


def _check_function(table: Table, key: str, pattern: str, home: Path) -> None:
    path, _, function = pattern.partition(":")
    if not (home / path).is_file():
        raise table.fail(key, f"no such file in {home}")
    if not function.isidentifier():
        raise table.fail(key, 'must be "FILE.py:FUNCTION"')


def _limits(table: Table) -> Limits:
    default = Limits()
    limits = Limits(
        timeout_s=table.number("timeout_s", 0.01, default=default.timeout_s),
        grace_s=table.number("grace_s", 0, default=default.grace_s),
        linger_s=table.number("linger_s", 0, default=default.linger_s),
        memory_mib=table.whole("memory_mib", 0, default=default.memory_mib),
        memory_by=table.one_of("memory_by", ("auto", "cgroup", "watch"), default=default.memory_by),
        retries=table.whole("retries", 0, default=default.retries),
        min_free_mib=table.whole("min_free_mib", 0, default=default.min_free_mib),
    )
    table.refuse_unknown()
    return limits


def _keep(table: Table) -> Keep:
    keep = Keep(
        files=table.texts("files", default=()),
        directory=table.one_of("directory", ("never", "failed", "always"), default="never"),
    )
    for pattern in keep.files:
        _inside(pattern, f"{table.where} files")
    table.refuse_unknown()
    return keep


def _engine(table: Table) -> EngineChoice:
    engine = EngineChoice(
        name=table.one_of("name", ENGINES, default="threads"),
        workers=table.whole("workers", 0, default=0),
        scratch=table.text("scratch", default=""),
    )
    table.refuse_unknown()
    return engine
