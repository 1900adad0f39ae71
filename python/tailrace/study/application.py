"""Reads an application from kernel.toml, or from the table [application] of a study file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.launch.local import CHOICES, MPIRUN
from tailrace.study.values import GIVEN_NAMES, Application, StudyError
from tailrace.toml_table import Table, read_toml


def find_kernel(name: str, beside: Path) -> Path:
    """Finds kernels/NAME/kernel.toml in the source tree of the study file, of the working directory or of this package."""
    starts = [beside.resolve(), Path.cwd(), Path(__file__).resolve()]
    for start in starts:
        for folder in (start, *start.parents):
            candidate = folder / "kernels" / name / "kernel.toml"
            if candidate.is_file():
                return candidate
    raise StudyError(
        f"no kernels/{name}/kernel.toml above {beside} or {Path.cwd()}: check `kernel`, or describe the program under [application]"
    )


def load_kernel(path: Path) -> Application:
    return parse_application(read_toml(path), home=path.parent, where=str(path))


def parse_application(values: Mapping[str, Any], home: Path, where: str) -> Application:
    table = Table(values, where)
    application = Application(
        name=table.text("name"),
        title=table.text("title", default=""),
        home=str(home.resolve()),
        command=table.texts("command"),
        verify=table.texts("verify"),
        prepare=table.texts("prepare", default=()),
        launcher=table.one_of("launcher", CHOICES, default=MPIRUN),
        outputs=table.texts("outputs", default=("native", "tailrace")),
        streams=table.names("streams", default=()),
        output_phases=table.texts("output_phases", default=()),
        parameters=tuple((key, as_text(value)) for key, value in table.table("parameters", default={}).items()),
    )
    for key in ("command", "verify"):
        if not table.values[key]:
            raise table.fail(key, "must name a program")
    for key, _ in application.parameters:
        if key in GIVEN_NAMES:
            raise StudyError(f"{where} [parameters]: {key!r}: {{{key}}} has a meaning in every study; rename it")
    table.ignore("phases", "compute_phases")  # for people who read kernel.toml; a run's record names its own phases
    table.refuse_unknown()
    return application


def as_text(value: Any) -> str:
    """A parameter's value for a command; booleans as TOML writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)
