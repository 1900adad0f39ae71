"""Every public header compiles alone, without warnings: *.h as C11 and as C++20, *.hpp as C++20."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sources import ROOT, sources


def mpi_includes() -> list[str]:
    folders = subprocess.run(["mpicc", "--showme:incdirs"], capture_output=True, text=True, check=True).stdout.split()
    return [f"-isystem{folder}" for folder in folders]


def problem_of(header: Path, language: str, folder: Path) -> str:
    """Compiles a file that includes only this header. Returns the compiler's messages if it fails, else ""."""
    compiler, standard, suffix = {"C": ("gcc", "c11", "c"), "C++": ("g++", "c++20", "cpp")}[language]
    source = folder / f"alone.{suffix}"
    # Includes the header twice, so that a missing include guard is an error.
    include = f"#include <{header.relative_to('include')}>\n"
    source.write_text(include + include + "int alone;\n")
    flags = [f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DOMPI_SKIP_MPICXX"]
    command = [compiler, *flags, "-Iinclude", *mpi_includes(), str(source)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"{header} does not compile alone as {language}:\n{done.stderr}" if done.returncode else ""


def main() -> int:
    headers = sources("include/tailrace/*.h", "include/tailrace/*.hpp")
    if not headers:
        print("include/tailrace/: no headers found")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        wanted = [
            (header, language) for header in headers for language in ("C", "C++") if language == "C++" or header.suffix == ".h"
        ]
        problems = [text for header, language in wanted if (text := problem_of(header, language, Path(folder)))]
    print(*problems, sep="\n", end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
