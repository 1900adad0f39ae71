"""Checks the direction of dependency between folders: the table of docs/architecture.md against the sources and CMakeLists.txt.

The table's first column names folders. Its third says what they may include: layers of src/, "nothing of `src/`", "the C contract
only", or nothing (then anything). A folder whose second column says "Pure" may not include MPI, HDF5 or the system's I/O either.

For `python/tailrace/NAME/` the third column names the packages of python/tailrace/ that it may import. The flat modules beside the
packages may be imported by all, and import no package. No modules may import each other in a circle."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from python_imports import Import, Module, circles, imports_of, modules_in
from sources import ROOT, sources

TABLE = Path("docs/architecture.md")
PYTHON = Path("python/tailrace")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
IMPORT = re.compile(r"^\s*(?:from|import)\s+([A-Za-z_][\w.]*)", re.MULTILINE)
LAYER_IN_CMAKE = re.compile(r"tailrace_(?:layer|library|preloaded|program)\(\s*(\w+)([^)]*)\)")
IMPURE = re.compile(r"^(mpi|hdf5|hdf5_hl|unistd|fcntl|fstream|iostream|filesystem|sys/\w+|tailrace/tailrace)(\.h)?$")


@dataclass(frozen=True)
class Rule:
    folder: str  # "src/part", without a slash at the end
    layers: frozenset[str] | None  # layers of src/ that it may include; None: any
    packages: frozenset[str]  # of python/tailrace/ that it may import
    pure: bool


def rules_of(page: str) -> list[Rule]:
    """The rows of the table whose head begins with `folder`."""
    rules: list[Rule] = []
    inside = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "folder":
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not set(line) <= set("|- "):
            folders, concept, allowed = (*cells, "", "")[:3]
            words = frozenset(re.findall(r"\w+", allowed))
            layers = None if not allowed else words & all_layers()
            packages = words & all_packages()
            rules += [Rule(folder.rstrip("/"), layers, packages, "Pure" in concept) for folder in re.findall(r"`([^`]+)`", folders)]
    return rules


def all_layers() -> frozenset[str]:
    return frozenset(path.name for path in (ROOT / "src").iterdir() if path.is_dir())


def all_packages() -> frozenset[str]:
    return frozenset(path.parent.name for path in (ROOT / PYTHON).glob("*/__init__.py"))


def rule_for(path: Path, rules: list[Rule]) -> Rule | None:
    fitting = [rule for rule in rules if path.is_relative_to(rule.folder)]
    return max(fitting, key=lambda rule: len(rule.folder), default=None)


def layer_named(include: str, quote: str, path: Path) -> str | None:
    """The layer of src/ that an include names, if it does."""
    first = Path(include).parts[0]
    beside = (ROOT / path.parent / include).exists()
    if quote == "<" or beside or len(Path(include).parts) < 2:
        return None
    return first if first in all_layers() else None


def problems_of_file(path: Path, rule: Rule) -> Iterator[str]:
    text = (ROOT / path).read_text(errors="replace")
    own = Path(rule.folder).name
    for match in INCLUDE.finditer(text):
        quote, include = match.groups()
        line = text.count("\n", 0, match.start(2)) + 1
        layer = layer_named(include, quote, path)
        if layer and rule.layers is not None and layer not in rule.layers | {own}:
            yield f"{path}:{line}: {rule.folder}/ may not include {layer}/ ({TABLE})"
        if rule.pure and IMPURE.match(include):
            yield f"{path}:{line}: {rule.folder}/ is pure (no MPI, no I/O) and may not include <{include}> ({TABLE})"


def problems_of_module(path: Path) -> Iterator[str]:
    """The package may not know the programs that use it."""
    text = (ROOT / path).read_text()
    for match in IMPORT.finditer(text):
        if match.group(1).split(".")[0] in {"tests", "bench", "kernels", "scripts"}:
            line = text.count("\n", 0, match.start(1)) + 1
            yield f"{path}:{line}: python/tailrace/ may not import {match.group(1)} ({TABLE})"


def problems_of_packages(rules: list[Rule]) -> Iterator[str]:
    """Arrows between the packages of python/tailrace/, and circles: of the table's packages, of modules."""
    allowed = {Path(rule.folder).name: rule.packages for rule in rules if Path(rule.folder).parent == PYTHON}
    yield from (f"{PYTHON}/{name}/ has no row in {TABLE}" for name in sorted(all_packages() - allowed.keys()))
    for circle in circles({name: set(packages - {name}) for name, packages in allowed.items()}):
        yield f"{TABLE}: packages may import each other in a circle: {' -> '.join([*circle, circle[0]])}"
    modules = modules_in(ROOT)
    imports = {name: imports_of(module, (ROOT / module.path).read_text(), modules) for name, module in modules.items()}
    for name, found in imports.items():
        yield from problems_of_imports(modules[name], found, modules, allowed)
    for circle in circles({name: {one.module for one in found} for name, found in imports.items()}):
        yield f"{modules[circle[0]].path}: modules import each other in a circle: {' -> '.join([*circle, circle[0]])}"


def problems_of_imports(
    module: Module, found: list[Import], modules: dict[str, Module], allowed: dict[str, frozenset[str]]
) -> Iterator[str]:
    if module.path.name == "__main__.py":  # it is the command line
        return
    for one in found:
        layer = modules[one.module].layer
        if layer and layer not in allowed.get(module.layer, frozenset()) | {module.layer}:
            folder = f"{PYTHON}/{module.layer}/" if module.layer else f"a flat module of {PYTHON}/"
            yield f"{module.path}:{one.line}: {folder} may not import {one.module} ({TABLE})"


def problems_of_build(rules: list[Rule]) -> Iterator[str]:
    """CMakeLists.txt gives each layer exactly what the table allows it."""
    allowed = {Path(rule.folder).name: rule.layers for rule in rules if rule.folder.startswith("src/")}
    seen = set()
    for name, rest in LAYER_IN_CMAKE.findall((ROOT / "CMakeLists.txt").read_text()):
        depends = re.search(r"DEPENDS([a-z\s]*)", rest)
        has = frozenset(depends.group(1).split()) if depends else frozenset()
        seen.add(name)
        if name not in allowed:
            yield f"CMakeLists.txt: layer {name} has no row in {TABLE}"
        elif has != allowed[name]:
            yield f"CMakeLists.txt: layer {name} depends on {sorted(has)}, {TABLE} allows {sorted(allowed[name] or ())}"
    for name in sorted((all_layers() | allowed.keys()) - seen):
        yield f"CMakeLists.txt: layer {name} is missing"


def main() -> int:
    rules = rules_of((ROOT / TABLE).read_text())
    if not any(rule.folder.startswith("src/") for rule in rules):
        print(f"{TABLE}: no table of folders found")
        return 1
    problems = list(problems_of_build(rules))
    for path in sources("*.c", "*.cpp", "*.h", "*.hpp", "*.def"):
        rule = rule_for(path, rules)
        if rule is not None:
            problems += problems_of_file(path, rule)
        elif path.is_relative_to("src"):
            problems.append(f"{path}: its folder has no row in {TABLE}")
    for path in sources("python/tailrace/*.py"):
        problems += problems_of_module(path)
    problems += problems_of_packages(rules)
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
