"""Makes the Fortran modules from the lists of the C contract and the templates beside this file.

usage: generate.py INCLUDE_DIRECTORY OUTPUT_DIRECTORY   (the standard library only: it runs in every build)
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
MAX_RANK = 7
MAX_COLUMNS = 132


@dataclass(frozen=True)
class Constant:
    """An integer constant of the contract, named as in C."""

    name: str
    number: int


@dataclass(frozen=True)
class ElementType:
    """One line of types.def."""

    name: str
    number: int
    bytes: int
    declaration: str  # "none" where Fortran has no such kind

    @property
    def kind(self) -> str:
        return self.name.lower()

    @property
    def is_text(self) -> bool:
        """character(len=n) arrays have one dimension more in the file, the fastest: the characters."""
        return self.declaration.startswith("character")


def read_statuses(text: str) -> list[Constant]:
    return [
        Constant(f"TAILRACE_{name}", int(number)) for name, number in re.findall(r"^TAILRACE_STATUS\((\w+), (\d+),", text, re.M)
    ]


def read_types(text: str) -> list[ElementType]:
    lines = re.findall(r'^TAILRACE_TYPE\((\w+), (\d+), (\d+), \w+, "\w+", (\w+(?:\([\w*]+\))?)\)', text, re.M)
    return [ElementType(name, int(number), int(size), declaration) for name, number, size, declaration in lines]


def read_flags_and_limits(header: str) -> list[Constant]:
    flags = re.search(r"enum tailrace_var_flags \{(.*?)\}", header, re.S)
    limit = re.search(r"#define TAILRACE_MAX_DIMS (\d+)", header)
    if not flags or not limit:
        raise SystemExit("tailrace.h: enum tailrace_var_flags or TAILRACE_MAX_DIMS not found; follow their new form in generate.py")
    found = [Constant(name, int(number)) for name, number in re.findall(r"(TAILRACE_\w+) = (\d+),", flags[1])]
    return [*found, Constant("TAILRACE_MAX_DIMS", int(limit[1]))]


def checked(found: list, text: str, macro: str, file: Path) -> list:
    """Refuses a list with a line that was not understood: otherwise its constant would be missing without a message."""
    expected = len(re.findall(rf"^{macro}\(", text, re.M))
    if len(found) != expected:
        raise SystemExit(
            f"{file}: {expected} lines of {macro}, {len(found)} understood; write them as the others or mend generate.py"
        )
    return found


def expand(template: str, **values: str) -> str:
    """Replaces each @name@ by its value; raises an error for a name without a value."""
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], template)


def strides(rank: int, inner: int) -> str:
    """Byte strides from the addresses of neighbouring elements: right for any section, its steps negative ones too.

    `inner`: dimensions of the view before those of the array.
    """
    lines = []
    for dim in range(1, rank + 1):
        neighbour = ", ".join("2" if i == dim else "1" for i in range(1, rank + 1))
        stride = f"view%stride_bytes({dim + inner}) = address_bytes(c_loc(array({neighbour}))) - first_bytes"
        lines.append(f"    if (size(array, {dim}, kind=c_int64_t) > 1) {stride}")
    return "\n".join(lines)


def of_type_and_rank(template: str, element: ElementType, rank: int) -> str:
    return expand(
        template,
        kind=element.kind,
        rank=str(rank),
        type=element.name,
        declaration=element.declaration,
        bytes=str(element.bytes),
        colons=", ".join(":" * rank),
        ones=", ".join("1" * rank),
        shape=f"({', '.join(':' * rank)})" if rank else "",
        first=f"array({', '.join('1' * rank)})" if rank else "array",
        contiguous=", contiguous" if rank else "",
        size="size(value, kind=c_int64_t)" if rank else "1",
        strides=strides(rank, int(element.is_text)),
        ndims=str(rank + element.is_text),
    )


def type_functions(types: list[ElementType]) -> str:
    """Fortran has no unsigned integers: the signed kind of the same width carries their bits."""
    lines = [
        "  pure function same_width_signed(element_type) result(signed)",
        "    integer(c_int), intent(in) :: element_type",
        "    integer(c_int) :: signed",
        "",
        "    select case (element_type)",
    ]
    for element in types:
        if element.declaration == "none":
            signed = next(other for other in types if other.name == "I" + element.name[1:])
            lines += [f"    case (TAILRACE_{element.name})", f"      signed = TAILRACE_{signed.name}"]
    lines += ["    case default", "      signed = element_type", "    end select", "  end function", ""]
    lines += [
        "  pure function type_name(element_type) result(name)",
        "    integer(c_int), intent(in) :: element_type",
        "    character(:), allocatable :: name",
        "",
        "    select case (element_type)",
    ]
    for element in types:
        lines += [f"    case (TAILRACE_{element.name})", f"      name = '{element.name}'"]
    lines += ["    case default", "      name = 'an unknown type'", "    end select", "  end function"]
    return "\n".join(lines)


@dataclass(frozen=True)
class Family:
    """The procedures of one template: one for each kind and rank, each with a specific name for each ending."""

    template: str
    generic: str
    ranks: range
    endings: tuple[str, ...] = ("",)
    of_text: bool = False  # for the element type whose declaration is character; else for all other types

    def kinds(self, types: list[ElementType]) -> list[ElementType]:
        return [element for element in types if element.declaration != "none" and element.is_text == self.of_text]

    def procedures(self, types: list[ElementType]) -> str:
        body = (HERE / f"{self.template}.f90.in").read_text()
        return "\n".join(of_type_and_rank(body, element, rank) for element in self.kinds(types) for rank in self.ranks)

    def names(self, types: list[ElementType]) -> list[str]:
        return [
            f"    module procedure {self.generic}_{element.kind}_{rank}{ending}"
            for element in self.kinds(types)
            for rank in self.ranks
            for ending in self.endings
        ]


INDICES = ("", "_int32")
STARTS = ("", "_int32", "_whole")
ARRAYS = range(1, MAX_RANK + 1)
ALL_RANKS = range(MAX_RANK + 1)
FAMILIES = {
    "tailrace_view": (Family("view", "view", ARRAYS), Family("view_text", "view", ALL_RANKS, of_text=True)),
    "tailrace_read": (
        Family("get_scalar", "get", range(1)),
        Family("get", "get", ARRAYS, STARTS),
        Family("get", "get_indices", ARRAYS, INDICES),
        Family("get_shared", "get_shared", ALL_RANKS),
        Family("get_text_scalar", "get", range(1), of_text=True),
        Family("get", "get", ARRAYS, STARTS, of_text=True),
        Family("get", "get_indices", ARRAYS, INDICES, of_text=True),
        Family("get_shared_text", "get_shared", ALL_RANKS, of_text=True),
    ),
    "tailrace": (
        Family("put", "put", ARRAYS, STARTS),
        Family("put", "put_indices", ARRAYS, INDICES),
        Family("put_replicated", "put_replicated", ALL_RANKS),
        Family("put_attr", "put_attr", range(2)),
        Family("put_text", "put", ARRAYS, STARTS, of_text=True),
        Family("put_text", "put_indices", ARRAYS, INDICES, of_text=True),
        Family("put_replicated_text", "put_replicated", ALL_RANKS, of_text=True),
    ),
}


def make_contract(types: list[ElementType], constants: list[Constant]) -> str:
    lines = "\n".join(f"  integer(c_int), parameter :: {constant.name} = {constant.number}" for constant in constants)
    return expand((HERE / "contract.f90.in").read_text(), constants=lines, type_functions=type_functions(types))


def make_module(module: str, types: list[ElementType], constants: list[Constant]) -> str:
    names: dict[str, list[str]] = {}
    for family in FAMILIES[module]:
        names.setdefault(f"{family.generic}_names", []).extend(family.names(types))
    return expand(
        (HERE / f"{module}.f90.in").read_text(),
        public_constants="\n".join(f"  public :: {constant.name}" for constant in constants),
        procedures="\n".join(dict.fromkeys(family.procedures(types) for family in FAMILIES[module])),
        **{generic: "\n".join(lines) for generic, lines in names.items()},
    )


def write(path: Path, text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            raise SystemExit(f"{path}:{number}: {len(line)} columns, Fortran allows {MAX_COLUMNS}; break the line in its template")
    path.write_text(text)


def main(include: Path, output: Path) -> None:
    status_text = (include / "status.def").read_text()
    type_text = (include / "types.def").read_text()
    statuses = checked(read_statuses(status_text), status_text, "TAILRACE_STATUS", include / "status.def")
    types = checked(read_types(type_text), type_text, "TAILRACE_TYPE", include / "types.def")
    constants = [
        *statuses,
        *(Constant(f"TAILRACE_{element.name}", element.number) for element in types),
        *read_flags_and_limits((include / "tailrace.h").read_text()),
    ]
    output.mkdir(parents=True, exist_ok=True)
    write(output / "tailrace_contract.f90", make_contract(types, constants))
    for module in FAMILIES:
        write(output / f"{module}.f90", make_module(module, types, constants))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
