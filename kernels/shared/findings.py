"""What a check of a kernel's output found, and the program that prints it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

MOST_PROBLEMS = 20


@dataclass
class Findings:
    """The result of the checks so far."""

    bytes_checked: int = 0
    mismatches: int = 0
    problems: list[str] = field(default_factory=list)

    def problem(self, text: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    def compare(self, where: str, expected: np.ndarray, found: np.ndarray) -> None:
        """Compares byte by byte; shapes and types must be equal."""
        if expected.shape != found.shape or expected.dtype != found.dtype:
            self.mismatches += expected.nbytes
            self.problem(f"{where}: {found.dtype} {found.shape} found, {expected.dtype} {expected.shape} expected")
            return
        one = np.ascontiguousarray(expected).reshape(-1).view(np.uint8)
        other = np.ascontiguousarray(found).reshape(-1).view(np.uint8)
        self.bytes_checked += one.size
        wrong = np.flatnonzero(one != other)
        if wrong.size:
            self.mismatches += int(wrong.size)
            self.problem(f"{where}: {wrong.size} bytes are wrong, the first at byte {wrong[0]} of {one.size}")


def answer(directory: Path, findings: Findings) -> dict[str, Any]:
    """The result of a check, as a study reads it."""
    files = [path for path in directory.rglob("*") if path.is_file()] if directory.exists() else []
    return {
        "ok": findings.mismatches == 0,
        "bytes_checked": findings.bytes_checked,
        "mismatches": findings.mismatches,
        "files": len(files),
        "bytes": sum(path.stat().st_size for path in files),
        "problems": findings.problems,
    }


def main(description: str, verify: Callable[[Path, Path], dict[str, Any]]) -> int:
    """The program verify.py of a kernel: prints JSON. Exit status 1: a byte is wrong, or a file is missing or unexpected."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--run", type=Path, required=True, help="the run's record, as named by run= of the kernel")
    arguments = parser.parse_args()
    try:
        result = verify(arguments.directory, arguments.run)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:  # RuntimeError: netCDF4's, for damaged data
        result = {"ok": False, "bytes_checked": 0, "mismatches": 0, "files": 0, "bytes": 0, "problems": [f"verify.py: {error!r}"]}
    print(json.dumps(result))
    return 0 if result["ok"] else 1
