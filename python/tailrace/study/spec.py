"""Reads a study file and checks it."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tailrace.file_name import REMEDY, problem_of_name
from tailrace.results.runs import MEASURES, NATIVE, LayoutChoice
from tailrace.study.application import as_text, find_kernel, load_kernel, parse_application
from tailrace.study.values import Application, Matrix, StudyError, StudySpec
from tailrace.toml_table import Table, TomlError, literal, read_toml

MOST_RUNS = 1_000_000  # all of them are planned before the first one
UNMEASURED = ("title", "repetitions", "timeout_s", "keep", "min_free_bytes", "compare")  # keys that change no run


def load_study(path: Path) -> StudySpec:
    try:
        values = read_toml(path)
    except TomlError as error:
        raise StudyError(str(error)) from error
    return parse_study(values, path)


def parse_study(values: Mapping[str, Any], path: Path) -> StudySpec:
    """`path`: of the study file, for messages and for what is relative to it."""
    try:
        return _study(values, path)
    except TomlError as error:
        raise StudyError(str(error)) from error


def _study(values: Mapping[str, Any], path: Path) -> StudySpec:
    table = Table(values, str(path))
    application = _application(table, path)
    matrix = Table(table.table("matrix"), f"{path} [matrix]")
    spec = StudySpec(
        name=table.name("name", default=path.stem),
        title=table.text("title", default=application.title or application.name),
        application=application,
        matrix=Matrix(
            ranks=matrix.wholes("ranks", least=1),
            layouts=_layouts(matrix),
            targets=_targets(matrix, path),
            parameters=_parameters(table, matrix, application),
        ),
        repetitions=table.whole("repetitions", least=1, default=5),
        steps=table.whole("steps", least=1, default=1),
        warm_up=table.whole("warm_up", least=0, default=1),
        timeout_s=float(table.number("timeout_s", least=0.1, default=600)),
        keep=table.flag("keep", default=False),
        min_free_bytes=table.whole("min_free_bytes", least=0, default=1 << 30),
        compare=table.one_of("compare", MEASURES, default="return"),
        launcher_options=table.texts("launcher_options", default=()),
        trace=table.flag("trace", default=False),
    )
    matrix.refuse_unknown()
    table.refuse_unknown()
    of_round = math.prod(map(len, (spec.matrix.ranks, spec.matrix.layouts, spec.matrix.targets, spec.matrix.parameters)))
    runs = of_round * (spec.repetitions + spec.warm_up)
    if runs > MOST_RUNS:
        raise TomlError(
            f"{path}: repetitions, warm_up and [matrix] make {runs} runs; at most {MOST_RUNS} are planned: lower one of them"
        )
    if len({layout.name for layout in spec.matrix.layouts}) != len(spec.matrix.layouts):
        raise matrix.fail("layouts", "two layouts have the same name; give each its own")
    if not spec.trace and not application.output_phases:
        raise TomlError(f"{path}: without `trace = true`, the application needs `output_phases`, whose sum is the time to return")
    _refuse_unknown_outputs(spec, matrix)
    return spec


def fingerprint(spec: StudySpec) -> str:
    """Changes when the runs change. A longer study (more repetitions) only has more cases, so it has the same fingerprint.

    Study records keep it: it must be the same for the same study file for ever."""
    values = asdict(spec)
    values |= values.pop("matrix")
    for key in UNMEASURED:
        del values[key]
    del values["application"]["title"], values["application"]["home"]
    values["order"] = "drawn"  # the order of the runs, by which their folders are numbered
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _application(table: Table, path: Path) -> Application:
    described = table.table("application", default=None)
    kernel = table.text("kernel", default=None)
    if (described is None) == (kernel is None):
        raise StudyError(f"{path}: give either kernel = NAME (a folder of kernels/) or a table [application]")
    if kernel is not None:
        table.name("kernel")
        return load_kernel(find_kernel(kernel, path.parent))
    return parse_application(described, home=path.parent, where=f"{path} [application]")


def _layouts(matrix: Table) -> tuple[LayoutChoice, ...]:
    entries = matrix.get("layouts")
    if not isinstance(entries, list) or not entries:
        raise matrix.fail("layouts", 'must be a list such as ["native", "fpp", { name = "hds 8", layout = "hds", steps = 8 }]')
    layouts = tuple(_layout(matrix, entry) for entry in entries)
    for layout in layouts:  # each names a file
        if problem := problem_of_name(layout.name):
            raise matrix.fail("layouts", f"the name {layout.name!r}: {problem}: {REMEDY}")
    return layouts


def _layout(matrix: Table, entry: Any) -> LayoutChoice:
    if isinstance(entry, str):
        return LayoutChoice(entry) if entry == NATIVE else LayoutChoice(entry, (("layout", literal(entry)),))
    if isinstance(entry, dict) and isinstance(entry.get("name"), str) and len(entry) > 1 and entry["name"] != NATIVE:
        return LayoutChoice(entry["name"], tuple((key, literal(value)) for key, value in entry.items() if key != "name"))
    raise matrix.fail("layouts", f'{entry!r} must be "native", a preset, or a table of layout keys with a `name` of its own')


def _targets(matrix: Table, path: Path) -> tuple[str, ...]:
    """Relative targets start at the study file's folder, so that they are the same wherever the study is started."""
    targets = tuple(
        str((path.parent / target).resolve()) if target else "" for target in matrix.texts("targets", default=("",)) or ("",)
    )
    if len(set(targets)) != len(targets):
        raise matrix.fail("targets", "names a directory twice; name each once")
    return targets


def _parameters(table: Table, matrix: Table, application: Application) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The fixed parameters, with every combination of those that the matrix gives as lists. The application's defaults are not
    among them: only parameters that the study sets distinguish its cases."""
    known = dict(application.parameters)
    fixed = Table(table.table("parameters", default={}), f"{table.where} [parameters]")
    varied = Table(matrix.table("parameters", default={}), f"{matrix.where} [matrix.parameters]")
    for part in (fixed, varied):
        part.refuse_unknown(known)
    for name, values in varied.values.items():
        if not isinstance(values, list) or not values:
            raise varied.fail(name, "must be a list of at least one value")
        if len({as_text(value) for value in values}) != len(values):
            raise varied.fail(name, "has a value twice; give each once")
        if name in fixed.values:
            raise varied.fail(name, f"is in {fixed.where} as well; remove it from one of them")
    constant = [(name, as_text(value)) for name, value in fixed.values.items()]
    points = itertools.product(*([(name, as_text(value)) for value in values] for name, values in varied.values.items()))
    return tuple((*constant, *point) for point in points)


def _refuse_unknown_outputs(spec: StudySpec, matrix: Table) -> None:
    for layout in spec.matrix.layouts:
        output = "native" if layout.is_native else "tailrace"
        if output not in spec.application.outputs:
            known = ", ".join(spec.application.outputs) or "none"
            raise matrix.fail("layouts", f"{layout.name}: {spec.application.name} has no output '{output}'; it has {known}")
