"""From a case to the command that runs it: templates, environment, configuration. Pure."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.launch import local
from tailrace.results.runs import Case, LayoutChoice
from tailrace.study.values import StudyError, StudySpec

NAMES_OF_ONE_RUN = ("dir", "run")  # their values differ between runs
CONFIG_KEY = "TAILRACE_CONFIG"


@dataclass(frozen=True)
class RunPaths:
    """The folders and files of one run, for its commands."""

    build: str
    python: str
    cache: str
    input: str
    output_directory: str
    run_record: str
    config: str
    trace: str


def fill(template: Sequence[str], values: Mapping[str, str], where: str) -> list[str]:
    """The words with their {names} replaced. `where` names the template in messages."""
    words = []
    for word in template:
        try:
            words.append(word.format_map(_Strict(values)))
        except _UnknownNameError as error:
            raise StudyError(f"{where}: {word!r} names {error.name!r}, which is none of {', '.join(sorted(values))}") from None
        except (ValueError, IndexError, AttributeError, TypeError) as error:
            raise StudyError(f"{where}: {word!r}: {error}; write {{{{ and }}}} for braces") from None
    return words


class _UnknownNameError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _Strict(dict[str, str]):
    def __missing__(self, name: str) -> str:
        raise _UnknownNameError(name)


def names_of(spec: StudySpec, case: Case, places: RunPaths) -> dict[str, str]:
    """All names that a template may use, with their values."""
    preset = dict(case.layout.keys).get("layout", "").strip('"')
    return {
        **dict(spec.application.parameters),
        **dict(case.parameters),
        "build": places.build,
        "python": places.python,
        "kernel": spec.application.home,
        "cache": places.cache,
        "input": places.input,
        "ranks": str(case.ranks),
        "steps": str(spec.steps),
        "output": "native" if case.layout.is_native else "tailrace",
        "layout": preset,  # "" leaves the choice to the configuration file, which is stronger anyway
        "dir": places.output_directory,
        "run": places.run_record,
    }


def run_command(spec: StudySpec, case: Case, places: RunPaths) -> list[str]:
    words = fill(spec.application.command, names_of(spec, case, places), f"{spec.application.name}: command")
    if spec.application.launcher == local.NONE:
        return words
    return local.mpirun_command(case.ranks, words, spec.launcher_options)


def verify_command(spec: StudySpec, case: Case, places: RunPaths) -> list[str]:
    return fill(spec.application.verify, names_of(spec, case, places), f"{spec.application.name}: verify")


def fields_of(template: Sequence[str]) -> set[str]:
    """The names that a template uses; empty if it is malformed, which `fill` reports."""
    try:
        return {field for word in template for _, field, _, _ in string.Formatter().parse(word) if field}
    except ValueError:
        return set()


def uses_input(spec: StudySpec) -> bool:
    return bool(spec.application.prepare) and "input" in fields_of(spec.application.command)


def environment(base: Mapping[str, str], places: RunPaths, as_root: bool) -> dict[str, str]:
    """The caller's environment without its TAILRACE_ variables, which would silently change the measurement."""
    own = {name: value for name, value in base.items() if not name.startswith("TAILRACE_")}
    return {**local.launcher_environment(own, as_root), CONFIG_KEY: places.config}


def config_name(layout: LayoutChoice) -> str:
    """A file name for a layout's configuration, different for different layouts of a study."""
    return "".join(letter if letter.isalnum() or letter in "-_." else f"%{ord(letter):02x}" for letter in layout.name) + ".toml"


def shown_path(path: Path) -> str:
    """A path as text: relative to the working directory if it is below it, else as given."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
