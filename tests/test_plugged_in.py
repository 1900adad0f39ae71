"""One contract for what plugs in. Whoever adds a fault, file system, load, rule, reading or engine gets these tests with its entry;
trace sinks have more of their own in test_trace_sinks.py, drain sinks in test_drain.py."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from tailrace.cluster.faults import FAULTS
from tailrace.cluster.filesystems import FILE_SYSTEMS
from tailrace.cluster.loads import LOADS
from tailrace.ensemble.engines import OPENERS
from tailrace.ensemble.readings import READERS
from tailrace.ensemble.spec import ENGINES
from tailrace.findings.rules import RULES
from tailrace.trace.sinks import SINKS

from tests.environment import ROOT

PACKAGE = ROOT / "python" / "tailrace"
NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Kind:
    """A place where something plugs in: the names that are registered, the folder of its files if each has one, its page."""

    what: str
    names: tuple[str, ...]
    page: str
    folder: str = ""
    helpers: tuple[str, ...] = ()  # files of the folder that are no entry

    def files(self) -> set[str]:
        found = {path.stem for path in (PACKAGE / self.folder).glob("*.py") if not path.stem.startswith("_")}
        return found - set(self.helpers)


KINDS = (
    Kind("fault", tuple(FAULTS), "cluster.md", "cluster/faults"),
    Kind("file system", tuple(FILE_SYSTEMS), "cluster.md", "cluster/filesystems"),
    Kind("load", tuple(LOADS), "cluster.md", "cluster/loads", ("level",)),
    Kind("rule", tuple(rule.NAME for rule in RULES), "findings.md", "findings/rules"),
    Kind("trace sink", tuple(SINKS), "trace-tables.md", "trace/sinks", ("timeline", "otf2_handles")),
    Kind("reading", tuple(READERS), "ensembles.md"),
    Kind("engine", tuple(OPENERS), "ensembles.md"),
)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.what for kind in KINDS])


def spelled(names: Iterable[str]) -> set[str]:
    return {name.replace("-", "_") for name in names}


@each_kind
def test_each_has_a_name_of_its_own_that_can_be_typed(kind: Kind) -> None:
    assert len(set(kind.names)) == len(kind.names) > 0
    assert [name for name in kind.names if not NAME.fullmatch(name)] == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.folder], ids=lambda kind: kind.what)
def test_each_file_is_registered_under_its_name(kind: Kind) -> None:
    assert kind.files() == spelled(kind.names)


@each_kind
def test_its_page_has_it(kind: Kind) -> None:
    page = (ROOT / "docs" / kind.page).read_text().lower()
    assert [name for name in kind.names if name not in page] == [], f"docs/{kind.page} says nothing of them"


@pytest.mark.parametrize("registry", [FAULTS, FILE_SYSTEMS, LOADS], ids=["fault", "file system", "load"])
def test_the_key_is_the_name(registry: dict[str, object]) -> None:
    assert {key: getattr(entry, "name", None) for key, entry in registry.items()} == {key: key for key in registry}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_says_in_one_line_what_it_does(fault: object) -> None:
    what = getattr(fault, "what", "")
    assert what
    assert "\n" not in what
    assert not what.endswith("."), "a phrase for help texts, which put it into a list"


def test_programs_come_from_packages_that_are_installed_by_setup() -> None:
    packages = {line.split("#")[0].split("=")[0].strip() for line in (ROOT / "apt.txt").read_text().splitlines()}
    needed = {load.package for load in LOADS.values()}
    needed |= {package for made in FILE_SYSTEMS.values() for package in made.programs.values()}
    assert needed <= packages


def test_the_spec_of_ensembles_knows_the_engines() -> None:
    assert tuple(OPENERS) == ENGINES


def test_a_rule_has_a_program_that_shows_it() -> None:
    programs = {path.stem for path in (ROOT / "tests" / "findings").glob("*.c")}
    assert spelled(rule.NAME for rule in RULES) <= programs
