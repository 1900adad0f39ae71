"""The Spack recipes, which nothing here can build, name what the build names: versions, dependencies, options."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.environment import ROOT

pytestmark = pytest.mark.fast

RECIPES = ROOT / "packaging" / "spack" / "spack_repo" / "tailrace" / "packages"


class Recipe:
    """What Spack's classes and directives are given, remembered."""

    def __init__(self) -> None:
        self.versions: list[str] = []
        self.needs: list[str] = []
        self.scope: dict[str, Any] = {}

    @property
    def names(self) -> set[str]:
        return {re.split(r"[@+~ ]", need)[0] for need in self.needs}


class Package:
    def define(self, name: str, value: object) -> str:
        return f"-D{name}={value}"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    def load_recipe(folder: str) -> Recipe:
        recipe = Recipe()
        directives: dict[str, Any] = {
            "license": lambda _name: None,
            "version": recipe.versions.append,
            "depends_on": lambda need, type=None: recipe.needs.append(need),
        }
        fakes: dict[str, dict[str, Any]] = {
            "spack.package": directives,
            "spack_repo.builtin.build_systems.cmake": {"CMakePackage": Package},
            "spack_repo.builtin.build_systems.python": {"PythonPackage": Package},
            "spack_repo.tailrace.packages.tailrace.package": load_recipe("tailrace").scope if folder != "tailrace" else {},
        }
        for name, content in fakes.items():
            module = ModuleType(name)
            module.__dict__.update(content)
            monkeypatch.setitem(sys.modules, name, module)
        path = RECIPES / folder / "package.py"
        exec(compile(path.read_text(), str(path), "exec"), recipe.scope)
        return recipe

    return load_recipe


def header_version() -> str:
    found = re.search(r'TAILRACE_VERSION "(.*?)"', (ROOT / "include" / "tailrace" / "tailrace.h").read_text())
    assert found
    return found[1]


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("lib")


@pytest.mark.parametrize("folder", ["tailrace", "py_tailrace"])
def test_libraries_and_version(load: Any, folder: str) -> None:
    recipe = load(folder)
    text = (ROOT / "cmake" / "TailraceDependencies.cmake").read_text()
    found = set(re.findall(r"(?:find_package|pkg_check_modules|find_path)\((\w+?)(?:_INCLUDE_DIR)?\s", text))
    elsewhere = {"Threads", "GTest", "Python", "nanobind"}  # of the system, of the tests, of the Python package alone
    assert len(found - elsewhere) > 6
    assert {plain(name) for name in found - elsewhere} <= {plain(name) for name in recipe.names}
    assert recipe.versions == [header_version()]


def test_python_packages(load: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {*project["project"]["dependencies"], *project["build-system"]["requires"]}
    assert {f"py-{re.split('[<>=]', name)[0].lower()}" for name in wanted} == {
        name for name in load("py_tailrace").names if name.startswith("py-")
    }


def test_options_of_the_build(load: Any) -> None:
    known = "".join(path.read_text() for path in (ROOT / "cmake").glob("*.cmake"))
    library, python = load("tailrace").scope["Tailrace"](), load("py_tailrace").scope["PyTailrace"]()
    library.spec = {"mpi": SimpleNamespace(mpicc="mpicc", mpifc="mpif90")}
    given = [option.removeprefix("-D").partition("=")[0] for option in library.cmake_args()]
    given += [name.removeprefix("cmake.define.") for name in python.config_settings(None, Path())]
    assert len(given) > 6
    for name in given:
        assert name.startswith("MPI_") or re.search(rf"(?:option|set)\({name} ", known), name
