"""From a case to the command that runs it: templates, environment, configuration. Pure."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.study.values import Case, LayoutChoice, StudyError, StudySpec

OF_ONE_RUN = ("dir", "run")  # names that stand for something else in each run
CONFIG_KEY = "TAILRACE_CONFIG"
# Open MPI refuses root and more ranks than cores unless told, and warns about what containers withhold. It is told by variables, of
# which other launchers know nothing: an mpirun may be any MPI's.
LAUNCHER_ENVIRONMENT = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # 4 and before
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # 5
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
ROOT_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Places:
    """The folders and files of one run, and what its commands may name."""

    build: str
    python: str
    cache: str
    input: str
    output_directory: str
    run_record: str
    config: str
    trace: str


def fill(template: Sequence[str], values: Mapping[str, str], where: str) -> list[str]:
    words = []
    for word in template:
        try:
            words.append(word.format_map(values))
        except KeyError as error:
            raise StudyError(f"{where}: {word!r} names {error.args[0]!r}, which is none of {', '.join(sorted(values))}") from None
        except (ValueError, IndexError, AttributeError, TypeError) as error:
            raise StudyError(f"{where}: {word!r}: {error}; write {{{{ and }}}} for braces") from None
    return words


def names_of(spec: StudySpec, case: Case, places: Places) -> dict[str, str]:
    """Everything that a template may name."""
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


def run_command(spec: StudySpec, case: Case, places: Places) -> list[str]:
    words = fill(spec.application.command, names_of(spec, case, places), f"{spec.application.name}: command")
    if spec.application.launcher == "none":
        return words
    return ["mpirun", "-n", str(case.ranks), "--bind-to", "none", *spec.launcher_options, *words]


def verify_command(spec: StudySpec, case: Case, places: Places) -> list[str]:
    return fill(spec.application.verify, names_of(spec, case, places), f"{spec.application.name}: verify")


def fields_of(template: Sequence[str]) -> set[str]:
    """What it names. Nothing where it cannot be filled: fill() says what is wrong with it."""
    try:
        return {field for word in template for _, field, _, _ in string.Formatter().parse(word) if field}
    except ValueError:
        return set()


def uses_input(spec: StudySpec) -> bool:
    return bool(spec.application.prepare) and "input" in fields_of(spec.application.command)


def launcher_environment(base: Mapping[str, str], as_root: bool) -> dict[str, str]:
    """What mpirun must be told; what the caller tells it is stronger."""
    return {**LAUNCHER_ENVIRONMENT, **base, **(ROOT_ENVIRONMENT if as_root else {})}


def environment(base: Mapping[str, str], places: Places, as_root: bool) -> dict[str, str]:
    """The caller's environment without its own TAILRACE_ settings, which would silently change what is measured."""
    own = {name: value for name, value in base.items() if not name.startswith("TAILRACE_")}
    return {**launcher_environment(own, as_root), CONFIG_KEY: places.config}


def configuration(layout: LayoutChoice) -> str:
    """The tailrace.toml that selects a layout for all streams; "" for native. What runs get is what the report recommends."""
    return "" if layout.is_native else f"[stream.default]\n{layout.toml}\n"


def config_name(layout: LayoutChoice) -> str:
    """A file name for a layout's configuration, different for different layouts of a study."""
    return "".join(letter if letter.isalnum() or letter in "-_." else f"%{ord(letter):02x}" for letter in layout.name) + ".toml"


def shown_path(path: Path) -> str:
    """Relative to the working directory where that is shorter."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
