"""docs/reference/fortran.md, from the modules that models use, as the generator writes them."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sources import ROOT

from reference import c
from reference.text import markdown, page, table

PATH = Path("docs/reference/fortran.md")
BINDING = ROOT / "bindings" / "fortran"
PROCEDURE = re.compile(r"^  (?:pure )?(subroutine|function) (\w+)\((.*?)\)(?: result\((\w+)\))?$")


@dataclass(frozen=True)
class Argument:
    type: str
    attributes: tuple[str, ...]
    rank: int

    @property
    def optional(self) -> bool:
        return "optional" in self.attributes


@dataclass(frozen=True)
class Procedure:
    result: str  # "" of a subroutine
    arguments: dict[str, Argument]


def pages() -> Iterator[tuple[Path, str]]:
    model = lines_of(modules())
    documented, procedures, generics = documented_names(model), procedures_of(model), generics_of(model)
    names = public_names(model)
    links = {name: f"#{name}" for name in names if name.startswith("tailrace_")} | {
        name: target for name, target in c.links_to("c.md").items() if name.isupper()
    }
    intro = markdown(documented["tailrace"], links, "fortran")
    parts = [intro]
    for name in names:
        if name.isupper():
            continue
        specifics = [procedures[specific] for specific in generics.get(name, [name]) if specific in procedures]
        comment = re.sub(rf"{name}\([^)]*\): (\w?)", lambda match: match[1].upper(), documented.get(name, ""))
        parts.append(f"## {name}")
        if specifics:
            parts += described(name, specifics, links)
        text = markdown(comment, links, "fortran")
        parts.append(re.sub(r"\]\((#\w+)\) in `tailrace\.h`", r"](c.md\1) in C", text))
    parts += ["## Constants", "With the meaning that they have in [the C contract](c.md#constants-and-types)."]
    values = dict(re.findall(r"parameter(?:, public)? :: (TAILRACE_\w+) = (\S+)", "\n".join(model)))
    constants = [name for name in values if name in names or name == "TAILRACE_GLOBAL"]
    parts.append(table(("constant", "value"), [(f"`{name}`", f"`{values[name].split('_c_')[0]}`") for name in constants]))
    source = "[bindings/fortran](../../bindings/fortran/tailrace.f90.in)"
    yield PATH, page("The Fortran modules", f"the modules of {source}", *parts)


def modules() -> list[str]:
    """The sources of all modules that `use tailrace` makes visible."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(BINDING / "generate.py"), str(c.INCLUDE), folder], check=True)
        made = [(Path(folder) / f"{name}.f90").read_text() for name in ("tailrace", "tailrace_read", "tailrace_contract")]
    return [*made, (BINDING / "tailrace_message.f90").read_text()]


def lines_of(texts: list[str]) -> list[str]:
    """The lines of the source, with continued lines joined."""
    return re.sub(r" *&\n *", " ", "\n".join(texts)).splitlines()


def public_names(lines: list[str]) -> list[str]:
    """The public names of the first module, in its order."""
    end = lines.index("contains")
    lists = [line.partition("::")[2] for line in lines[:end] if line.startswith("  public ::")]
    return [name.strip() for names in lists for name in names.split(",")]


def documented_names(lines: list[str]) -> dict[str, str]:
    """The comment of each module, type, interface, procedure."""
    found: dict[str, str] = {}
    comment: list[str] = []
    for line in lines:
        if match := re.match(r" *!> ?(.*)", line):
            comment.append(match[1])
            continue
        named = re.match(r" *(?:module|type ::|interface|(?:pure )?subroutine|(?:pure )?function) (\w+)\b", line)
        if named and comment:
            found.setdefault(named[1], "\n".join(comment))
        comment = []
    return found


def generics_of(lines: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if match := re.fullmatch(r"  interface (\w+)", line):
            name = match[1]
        elif match := re.fullmatch(r"    module procedure (.*)", line):
            found.setdefault(name, []).extend(specific.strip() for specific in match[1].split(","))
    return found


def procedures_of(lines: list[str]) -> dict[str, Procedure]:
    found: dict[str, Procedure] = {}
    for at, line in enumerate(lines):
        match = PROCEDURE.match(line)
        if match:
            declared: dict[str, Argument] = {}
            for declaration in lines[at + 1 :]:
                if "::" not in declaration:
                    break
                declared |= arguments_of(declaration)
            names = [name.strip() for name in match[3].split(",") if name.strip()]
            found[match[2]] = Procedure(match[4] or "", {name: declared[name] for name in names})
    return found


def arguments_of(declaration: str) -> dict[str, Argument]:
    """`type, attribute ... :: name, name(:, :)`."""
    left, _, right = declaration.partition("::")
    kind, *attributes = pieces(left)
    found = {}
    for name in pieces(right):
        shape = re.search(r"\((.*)\)", name)
        found[name.partition("(")[0]] = Argument(kind, tuple(attributes), len(pieces(shape[1])) if shape else 0)
    return found


def pieces(text: str) -> list[str]:
    """Split at the commas that are in no parentheses."""
    return [piece.strip() for piece in re.split(r",(?![^(]*\))", text)]


def described(name: str, specifics: list[Procedure], links: dict[str, str]) -> Iterator[str]:
    """The call, and what each argument may be, over all specific procedures of a generic one."""
    names = max((list(specific.arguments) for specific in specifics), key=len)
    words, rows = "", []
    for argument in names:
        given = [specific.arguments[argument] for specific in specifics if argument in specific.arguments]
        optional = given[0].optional or len(given) < len(specifics)
        words += f" [, {argument}]" if optional else f"{', ' if words else ''}{argument}"
        types = ", ".join(dict.fromkeys(f"`{one.type}`" for one in given))
        attributes = [word for word in given[0].attributes if word not in ("optional", "target", "contiguous")]
        rows.append((f"`{argument}`", types, ranks_text({one.rank for one in given}), ", ".join(map(intent, attributes))))
    call = f"{specifics[0].result} = {name}({words})" if specifics[0].result else f"call {name}({words})"
    yield f"```fortran\n{call}\n```"
    if rows:
        yield table(("argument", "type", "rank", "intent"), rows)


def intent(attribute: str) -> str:
    return attribute.removeprefix("intent(").removesuffix(")")


def ranks_text(ranks: set[int]) -> str:
    if ranks == {0}:
        return ""
    low, high = min(ranks), max(ranks)
    return str(low) if low == high else f"{low} to {high}"
